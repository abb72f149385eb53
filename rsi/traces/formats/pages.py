"""Pages: records inside what an API, an index, a log collector or an export puts around them.

`inside` opens a record that no reader takes. What stands inside finds its own reader, so that pages of any format
need nothing of their own. Only lists and objects under known names are opened: a record that merely mentions
messages is no page of them.
"""

from rsi.traces.decode import decode_text
from rsi.traces.rows import Json, JsonObject

LISTS = (
    "data", "runs", "traces", "results", "items", "records", "rows", "logs", "entries", "hits", "documents", "docs",
    "sessions", "observations", "spans", "samples", "completions", "responses", "conversations", "logEvents", "Records",
)  # fmt: skip
"""Names of lists: OpenAI, Langfuse, Phoenix, Portkey (`data`), LangSmith (`runs`), MLflow (`traces`), search indexes
(`hits`), CouchDB and dataset viewers (`rows`), CloudWatch (`logEvents`), and what people call their own."""
HOLDERS = ("hits", "_source", "jsonPayload", "trace", "row", "doc", "document", "record", "log", "message")
"""Names of single records: a hit of Elasticsearch, an entry of Cloud Logging, a row, a line of a container's log."""
MAX_DEPTH = 4
"""Pages inside of pages."""
_ITEMS = ("message", "reasoning")
"""Items of a conversation: without it, and newest first, they are nothing that was said."""


def inside(record: JsonObject) -> list[Json]:
    """What stands in the record's lists and holders, in order; none where it has neither."""
    found: list[Json] = []
    for key in LISTS:
        listed = record.get(key)
        if isinstance(listed, list) and not _is_items(listed):
            found.extend(listed)
    for key in HOLDERS:
        held = record.get(key)
        if isinstance(held, str) and held.lstrip()[:1] == "{":
            held = decode_text(held)
        elif isinstance(held, dict) and key == "message":
            # A message is a part of what was said, and no record of it.
            held = None
        if isinstance(held, dict):
            found.append(held)
    return found


def _is_items(listed: list[Json]) -> bool:
    first = listed[0] if listed else None
    if not isinstance(first, dict):
        return False
    kind = first.get("type")
    is_item = isinstance(kind, str) and (kind in _ITEMS or kind.endswith(("_call", "_call_output")))
    return is_item and not {"payload", "sessionId", "model", "traceId"} & first.keys()
