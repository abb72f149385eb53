"""Files of the home without the records of deleted traces: raw text, held-out text and the inbox.

Of a record about several traces the other parts stay. A segment that is still being written is left alone, and
named.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from rsi.ids import digest_file
from rsi.ports import Progress
from rsi.settings import Home
from rsi.store.files import whole
from rsi.traces.batch import Input, Rules
from rsi.traces.pieces import LINES, OPEN, taken
from rsi.traces.raw import folders
from rsi.traces.texts import Kind, Source, lines, records, rewrite, told


class Scrubbed(NamedTuple):
    """What was removed."""

    records: dict[Kind, int]
    places: list[tuple[str, int]]
    """File id and byte offset of raw text that went."""
    growing: tuple[Path, ...]
    """Segments that hold such records and are still being written."""


Known = Callable[[str, Path, int], None]
"""Told before a file of the inbox gets its new content: digest of the old one, the draft, its records."""


def sources(home: Home, uris: dict[str, tuple[str, str]], namespace: str) -> list[Source]:
    """Every file with text of traces; `uris` has uri and namespace by file id, where it was ingested."""
    raw, *heldout = folders(home)
    found = [(path, Kind.RAW, path.stem) for path in sorted(raw.glob("*.parquet"))]
    for folder in heldout:
        found += [(path, Kind.HELDOUT, path.stem) for path in sorted(folder.glob("*.ndjson"))]
    inbox = sorted(path for path in home.inbox.rglob("*") if path.is_file() and taken(path))
    found += [(path, Kind.INBOX, "") for path in inbox]
    made = []
    for number, (path, kind, file_id) in enumerate(one for one in found if one[0].name[0] != "."):
        uri, named = uris.get(file_id, (str(path), namespace))
        made.append(Source(path, kind, Input(number, uri, file_id, named, None)))
    return made


def scrub(
    found: Sequence[Source], rules: Rules, gone: Collection[str], known: Known, progress: Progress
) -> Scrubbed:
    """Rewrite the files that tell of traces in `gone` without them. Again, it changes nothing."""
    hits = told(found, rules, gone, progress)
    counts = dict.fromkeys(Kind, 0)
    places, growing = [], []
    for one in found:
        mine = hits.get(one.input.number)
        if not mine:
            continue
        left = {body: hit.without(gone) for body, hit in mine.items()}
        if one.kind is not Kind.INBOX:
            rewrite(one.path, one.kind, left)
        elif one.path.name.endswith(OPEN):
            growing.append(one.path)
            continue
        else:
            _inbox(one, left, known)
        offsets = [offset for hit in mine.values() for offset in hit.offsets]
        counts[one.kind] += len(offsets)
        if one.kind is Kind.RAW:
            places += [(one.input.file_id, offset) for offset in offsets]
    return Scrubbed(counts, places, tuple(growing))


def _inbox(one: Source, replaced: Mapping[bytes, Sequence[bytes]], known: Known) -> None:
    """What stays, one record a line; a document or a compressed file becomes a file of lines beside it."""
    plain = one.path.suffix.lower() in LINES
    target = one.path if plain else one.path.with_name(f"{one.path.name}.ndjson")
    before = str(digest_file(one.path))
    with whole(target) as file:
        left = lines(file, records(one), replaced)
        file.flush()
        if left:
            known(before, Path(str(file.name)), left)
    if not left:
        target.unlink()
    if not plain:
        one.path.unlink()
