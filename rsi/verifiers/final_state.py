"""The state of a world after a run, against the one that it should be in.

`expected` is ``{"state": {"<table>": …}, "ignore": ["created_at", "orders.note"]}``; the answer is a state as JSON. A
list of objects is a table: its rows have no order, and equal ones count. Other lists keep theirs. An ignored key is
left out wherever it stands, or below one table only (``table.key``). Numbers are equal by value; true is not 1.
"""

from collections import Counter

import orjson

from rsi.ids import canonical
from rsi.records import Outcome
from rsi.verifiers.json_schema import Json, document_of
from rsi.verifiers.outcomes import empty, invalid, scored, wrong_format

SHOWN = 5
"""Most differences named in a detail."""
_EXACT = 2.0**53


def check(answer: str, expected: str) -> Outcome:
    """Right when the states are equal; the detail names what differs: ``-`` is missing, ``+`` is too much."""
    wanted = _parse(expected)
    if wanted is None:
        return invalid("expected is not an object with a state of tables")
    if not answer.strip():
        return empty()
    found = document_of(answer)
    if found is None or not isinstance(found[0], dict):
        return wrong_format("the answer is not a state as JSON")
    state, ignore = wanted
    differences = [
        line
        for table in sorted(state.keys() | found[0].keys())
        if table not in ignore
        for line in _differences(table, state, found[0], ignore)
    ]
    return scored(not differences, "; ".join(differences[:SHOWN]))


def gold(expected: str) -> str | None:
    """The expected state."""
    wanted = _parse(expected)
    return orjson.dumps(wanted[0]).decode() if wanted else None


def _parse(expected: str) -> tuple[dict[str, Json], frozenset[str]] | None:
    found = document_of(expected)
    if found is None or not isinstance(found[0], dict) or not found[0].keys() <= {"state", "ignore"}:
        return None
    state, ignore = found[0].get("state"), found[0].get("ignore", [])
    if not isinstance(state, dict) or not isinstance(ignore, list):
        return None
    return state, frozenset(one for one in ignore if isinstance(one, str))


def _differences(
    table: str, wanted: dict[str, Json], found: dict[str, Json], ignore: frozenset[str]
) -> list[str]:
    if (table in wanted) != (table in found):
        return [f"{'-' if table in wanted else '+'} {table}"]
    skipped = ignore | {one.removeprefix(f"{table}.") for one in ignore if one.startswith(f"{table}.")}
    ours, theirs = _rows(wanted[table], skipped), _rows(found[table], skipped)
    lost, extra = ours - theirs, theirs - ours
    return [f"- {table}: {row[:80]}" for row in sorted(lost.elements())] + [
        f"+ {table}: {row[:80]}" for row in sorted(extra.elements())
    ]


def _rows(value: Json, ignore: frozenset[str]) -> Counter[str]:
    """A table's rows as canonical text with their counts; anything else is one row."""
    rows = value if isinstance(value, list) and all(isinstance(one, dict) for one in value) else [value]
    kind = "" if rows is value else "value "
    return Counter(kind + canonical(_plain(row, ignore)).decode() for row in rows)


def _plain(value: Json, ignore: frozenset[str]) -> Json:
    """Without ignored keys, whole floats as integers, tables inside sorted."""
    if isinstance(value, dict):
        return {key: _plain(one, ignore) for key, one in value.items() if key not in ignore}
    if isinstance(value, list):
        kept = [_plain(one, ignore) for one in value]
        return sorted(kept, key=canonical) if all(isinstance(one, dict) for one in kept) else kept
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT else value
