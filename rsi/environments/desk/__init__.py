"""A service desk over DuckDB: tickets, customers, orders, refunds and credits under a few rules."""
