-- The tables of the store. Rows are appended, never changed: what a night may read is `ordinal <= n`.
-- ordinal: number of the ingest batch that brought the row; file_id, line, byte_offset: where its raw text lies.
-- Times are nanoseconds UTC; the TIMESTAMP beside them is computed and has microseconds.

create table meta (
    key varchar not null,
    value varchar not null
);

create table batches (
    ordinal bigint not null,
    loaded_at timestamp not null,
    records bigint not null
);

-- What one record says about one trace. A trace may come in several parts (OTLP batches); view `traces` joins them.
create table trace_parts (
    part_uid varchar not null,
    trace_uid varchar not null,
    namespace varchar not null,
    format varchar not null,
    native_id varchar not null,
    conversation varchar,
    task_id varchar,
    trial bigint,
    agent varchar,
    model varchar,
    version varchar,
    route varchar,
    origin varchar not null,
    start_ns bigint,
    end_ns bigint,
    time_state varchar not null,
    input_text varchar,
    output_text varchar,
    error varchar,
    expected varchar,
    metadata varchar,
    split varchar not null,
    ordinal bigint not null,
    file_id varchar not null,
    line bigint not null,
    byte_offset bigint not null
);

create table spans (
    span_uid varchar not null,
    trace_uid varchar not null,
    native_id varchar not null,
    native_parent_id varchar,
    seq bigint not null,
    kind varchar not null,
    name varchar not null,
    start_ns bigint,
    end_ns bigint,
    start_ts timestamp generated always as (make_timestamp(start_ns // 1000)),
    end_ts timestamp generated always as (make_timestamp(end_ns // 1000)),
    status varchar not null,
    error varchar,
    model varchar,
    input_tokens bigint,
    output_tokens bigint,
    attributes varchar,
    ordinal bigint not null,
    file_id varchar not null,
    line bigint not null,
    byte_offset bigint not null
);

create table messages (
    message_uid varchar not null,
    trace_uid varchar not null,
    seq bigint not null,
    role varchar not null,
    content varchar,
    content_state varchar not null,
    tool_call_id varchar,
    ordinal bigint not null,
    file_id varchar not null,
    line bigint not null,
    byte_offset bigint not null
);

-- A call may be told twice, by the model that asked and by the tool that answered; view `tool_calls` joins them.
create table tool_call_parts (
    part_uid varchar not null,
    call_uid varchar not null,
    trace_uid varchar not null,
    seq bigint not null,
    native_id varchar,
    name varchar not null,
    arguments varchar,
    arguments_state varchar not null,
    result varchar,
    status varchar not null,
    ordinal bigint not null,
    file_id varchar not null,
    line bigint not null,
    byte_offset bigint not null
);

create table scores (
    score_uid varchar not null,
    trace_uid varchar not null,
    name varchar not null,
    value double,
    correction varchar,
    source varchar not null,
    basis varchar,
    comment varchar,
    ts_ns bigint,
    ts timestamp generated always as (make_timestamp(ts_ns // 1000)),
    ordinal bigint not null,
    file_id varchar not null,
    line bigint not null,
    byte_offset bigint not null
);

create table ingest_files (
    file_id varchar not null,
    uri varchar not null,
    sha256 varchar not null,
    namespace varchar not null,
    bytes bigint not null,
    ingested_at timestamp not null,
    read bigint not null,
    loaded bigint not null,
    duplicates bigint not null,
    quarantined bigint not null,
    heldout bigint not null
);

create table quarantine (
    quarantine_uid varchar not null,
    file_id varchar not null,
    uri varchar not null,
    line bigint not null,
    byte_offset bigint not null,
    reason varchar not null,
    detail varchar not null,
    excerpt varchar,
    ordinal bigint not null
);

-- Traces that were set aside: their ids only, so that later parts and feedback follow them.
create table heldout_traces (
    trace_uid varchar not null,
    split varchar not null
);

create table failure_modes (
    night varchar not null,
    mode_id varchar not null,
    signature varchar not null,
    kind varchar not null,
    title varchar not null,
    count bigint not null,
    opportunities bigint not null,
    rate double not null,
    low double not null,
    high double not null,
    rank bigint not null,
    priority double not null,
    examples varchar[] not null,
    first_seen varchar not null,
    status varchar not null,
    by_version varchar not null
);

create table tasks (
    night varchar not null,
    task_id varchar not null,
    hop varchar not null,
    messages varchar not null,
    verifier varchar not null,
    expected varchar not null,
    mode_id varchar,
    traces varchar[] not null,
    source varchar not null
);

-- A copy of the ledger file, which is the truth.
create table ledger (
    seq bigint not null,
    recorded_at timestamp not null,
    kind varchar not null,
    night varchar,
    stage varchar,
    input varchar,
    output varchar,
    body varchar not null,
    prev varchar not null
);
