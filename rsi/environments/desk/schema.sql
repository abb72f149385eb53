-- The desk's world. Each episode fills it in a transaction of its own that is never committed, so that no table has a
-- key: two episodes may hold the same ids.
create table customers (id integer, name varchar, tier varchar, credit integer);
create table orders (
    id integer, customer_id integer, item varchar, price integer, status varchar, refunded integer
);
create table tickets (id integer, order_id integer, status varchar, team varchar);
create table notes (ticket_id integer, text varchar);
