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

-- The trace tables hold what records say, in parts: rows of `rsi.traces.rows`, each with the digest of what it
-- says, so that what was said before is not stored again. The views of the same names without `_parts` join them.
create table trace_parts (
    part_uid varchar not null,
    trace_uid varchar not null,
    namespace varchar not null,
    format varchar not null,
    native_id varchar not null,
    conversation varchar,
    user_ref varchar,
    task_id varchar,
    trial bigint,
    agent varchar,
    model varchar,
    version varchar,
    route varchar,
    release varchar,
    environment varchar,
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

create table span_parts (
    part_uid varchar not null,
    span_uid varchar not null,
    trace_uid varchar not null,
    native_id varchar not null,
    native_parent_id varchar,
    kind varchar not null,
    name varchar not null,
    instrumentation varchar,
    start_ns bigint,
    end_ns bigint,
    time_state varchar not null,
    status varchar not null,
    error varchar,
    provider varchar,
    model varchar,
    response_id varchar,
    finish_reason varchar,
    input_tokens bigint,
    output_tokens bigint,
    cache_read_tokens bigint,
    cache_write_tokens bigint,
    reasoning_tokens bigint,
    cost_usd double,
    input_messages varchar[],
    output_messages varchar[],
    attributes varchar,
    ordinal bigint not null,
    file_id varchar not null,
    line bigint not null,
    byte_offset bigint not null
);

-- A second part of a message is kept only where it says more, or stood earlier.
create table message_parts (
    part_uid varchar not null,
    message_uid varchar not null,
    trace_uid varchar not null,
    at_ns bigint not null,
    seq bigint not null,
    role varchar not null,
    author varchar,
    content varchar,
    content_state varchar not null,
    reasoning varchar,
    tool_call_id varchar,
    size bigint not null,
    ordinal bigint not null,
    file_id varchar not null,
    line bigint not null,
    byte_offset bigint not null
);

-- A call may be told twice, by the model that asked and by the tool that answered.
create table tool_call_parts (
    part_uid varchar not null,
    call_uid varchar not null,
    trace_uid varchar not null,
    at_ns bigint not null,
    seq bigint not null,
    native_id varchar,
    name varchar not null,
    requestor varchar not null,
    arguments varchar,
    arguments_state varchar not null,
    arguments_raw varchar,
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
    said varchar,
    correction varchar,
    source varchar not null,
    annotator varchar,
    basis varchar,
    target varchar,
    comment varchar,
    ts_ns bigint,
    ordinal bigint not null,
    file_id varchar not null,
    line bigint not null,
    byte_offset bigint not null
);

-- Scores that were set aside before their trace came: where it turns out to stay, they join the others.
create table waiting_scores (
    score_uid varchar not null,
    trace_uid varchar not null,
    name varchar not null,
    value double,
    said varchar,
    correction varchar,
    source varchar not null,
    annotator varchar,
    basis varchar,
    target varchar,
    comment varchar,
    ts_ns bigint,
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
    heldout bigint not null,
    redacted bigint not null
);

create table quarantine (
    quarantine_uid varchar not null,
    file_id varchar not null,
    uri varchar not null,
    namespace varchar not null,
    origin varchar,
    line bigint not null,
    byte_offset bigint not null,
    reason varchar not null,
    detail varchar not null,
    excerpt varchar,
    ordinal bigint not null
);

-- Refusals that a later reader could take: `rsi quarantine retry`.
create table quarantine_settled (
    quarantine_uid varchar not null,
    settled_at timestamp not null,
    fate varchar not null,
    ordinal bigint not null
);

-- Traces that a person asked to forget: their ids only, so that they do not come back with the next ingest.
create table deleted_traces (
    trace_uid varchar not null,
    deleted_at timestamp not null
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
    source varchar not null,
    tools varchar not null,
    generator varchar not null,
    prompt varchar not null,
    screens varchar[] not null,
    licence varchar not null,
    facets varchar not null,
    passed bigint not null,
    samples bigint not null
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

-- Copies of what the home keeps under its digests: manifests of banks, verdicts, versions.
create table banks (
    bank varchar not null,
    night varchar not null,
    tasks bigint not null,
    by_mode varchar not null,
    by_expected varchar not null,
    rejected varchar not null,
    held_out varchar not null,
    by_source varchar not null,
    phases varchar not null,
    asked varchar not null,
    empty varchar not null,
    research varchar not null,
    replayed bigint not null,
    synthetic bigint not null,
    measured bigint not null
);

create table verdicts (
    verdict varchar not null,
    night varchar not null,
    champion varchar not null,
    candidate varchar not null,
    role varchar,
    contract varchar not null,
    judgement varchar not null,
    suites varchar not null,
    clauses varchar not null
);

create table versions (
    version varchar not null,
    parent varchar,
    base varchar not null,
    harness varchar not null,
    adapters varchar not null
);
