"""Redaction: secrets and personal values become stable keyed pseudonyms before anything is stored.

``ada@example.com`` becomes ``<email:3f9a2c41d0>``: HMAC-SHA256 of kind and value under the deployment's secret, so
that equal values stay equal (an argument still matches its expectation) and nobody without the secret can try
values. What is looked for stands in `rsi.traces.shapes`. `suspects` finds by one pass of RE2 over raw records the few
that need a closer look, and never misses one.
"""

import fnmatch
import hmac
import json
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rsi.intake import Kind
from rsi.traces.leaves import Leaf, Leaves
from rsi.traces.rows import Json, JsonObject
from rsi.traces.shapes import SHAPES, Shape, cards
from rsi.traces.shapes.edges import Found, is_id

if TYPE_CHECKING:
    import pyarrow as pa

DIGITS = 10
"""Hex digits of a pseudonym."""

_PSEUDONYM = re.compile(rf"<[a-z]{{2,12}}:[0-9a-f]{{{DIGITS}}}>")
_ESCAPED = r"\\u00(?:2[0-57-9a-fA-F]|3[0-9abdfABDF]|[4-7][0-9a-fA-F])"
"""RE2: an ASCII character written as an escape may be a part of anything. Left out are ``&'<>``: web servers write
these four so, and no value needs them."""
_HIDDEN = re.compile(
    r"@|\\u(?:00(?:2[0-57-9a-fA-F]|3[0-9abdfABDF]|[4-7][0-9a-fA-F])|(?:00[aA]0|2011|2013|202[fF])\\*\d"
    r"|[0-9A-Fa-f]{4} ?[\d(+])"
)
_NUMBER = re.compile(r"\d+", re.ASCII)
_KEY_BEFORE = re.compile(r'(\\*)"[ \t\n\r]{0,8}:[ \t\n\r]{0,8}$')
_JSON = ("{", "[", '"')
_NUMBERS = (Kind.CARD, Kind.PHONE)
_BLOCK = "PRIVATE KEY"
_LEAST_CARD = 10**12
_ROUNDS = 8
_MAX_NAMES = 10_000


class Redactor:
    """Replaces what is sensitive; made once for a deployment, used by one thread at a time."""

    def __init__(
        self, key: bytes, allow: Sequence[str] = (), kinds: frozenset[Kind] = frozenset(Kind)
    ) -> None:
        """`key` is the deployment's secret; `allow` names values that stay, exactly or as ``*@example.com``."""
        self._key = key
        self._shapes: tuple[Shape, ...] = tuple(one for one in SHAPES if one.KIND in kinds)
        self._cards = Kind.CARD in kinds
        self._exact = frozenset(one.lower() for one in allow)
        globs = [fnmatch.translate(one.lower()) for one in allow if any(mark in one for mark in "*?[")]
        self._globs = re.compile("|".join(globs)) if globs else None
        self._raw = "|".join(f"(?:{one.RAW})" for one in self._shapes) + f"|{_ESCAPED}"
        self._named: dict[str, tuple[Shape, ...]] = {}

    def pseudonym(self, kind: str, value: str) -> str:
        """The name that stands for a value; for equal spellings of it the same."""
        shape = next((one for one in SHAPES if kind == one.KIND), None)
        normal = shape.normal(value) if shape else value
        text = f"{kind}\0{normal}".encode("utf-8", "surrogatepass")
        return f"<{kind}:{hmac.digest(self._key, text, 'sha256').hex()[:DIGITS]}>"

    def suspects(self, bodies: "pa.Array") -> list[int]:
        """Indexes of the raw JSON records (binary) in which `record` may find something."""
        import pyarrow.compute as pc

        if not self._shapes:
            return []
        found: list[int] = pc.indices_nonzero(pc.match_substring_regex(bodies, self._raw)).to_pylist()
        return found

    def record(self, value: JsonObject) -> tuple[JsonObject, Counter[str]]:
        """The record with pseudonyms in all its values, keys as they were, and how many of which kind.

        Where nothing was found, the same object. Whole numbers that are card numbers become pseudonyms too.
        """
        counts: Counter[str] = Counter()
        new = self._value(value, counts)
        assert isinstance(new, dict)
        return new, counts

    def text(self, text: str) -> tuple[str, Counter[str]]:
        """A text with pseudonyms, and how many of which kind. JSON with escapes in it stays the same JSON."""
        counts: Counter[str] = Counter()
        return self._text(text, "", self._shapes, counts), counts

    def _value(self, value: JsonObject | list[Json], counts: Counter[str]) -> JsonObject | list[Json]:
        leaves = Leaves(value)
        new: dict[Leaf, Json] = {}
        for number, shapes in self._found(leaves.strings).items():
            leaf = leaves.strings[number]
            text = self._text(str(leaf.value), leaf.name, shapes, counts)
            if text != leaf.value:
                new[leaf] = text
        for leaf in leaves.strings:
            if self._by_name(leaf.name) and leaf not in new:
                self._whole(leaf, counts, new)
        for leaf in leaves.numbers:
            if int(leaf.value) >= _LEAST_CARD or self._by_name(leaf.name):
                self._number(leaf, counts, new)
        return leaves.replaced(new) if new else value

    def _found(self, strings: list[Leaf]) -> dict[int, list[Shape]]:
        """Which strings hold something of which kinds.

        They are looked through as one text, which is faster: no value but a private key crosses the end of a line.
        """
        starts, at = list[int](), 0
        for leaf in strings:
            starts.append(at)
            at += len(str(leaf.value)) + 1
        joined = "\n".join(str(leaf.value) for leaf in strings)
        if _BLOCK in joined:
            return {number: list(self._shapes) for number in range(len(strings))}
        found: dict[int, list[Shape]] = {}
        for shape in self._shapes:
            for number in {bisect_right(starts, one.start) - 1 for one in shape.find(joined)}:
                found.setdefault(number, []).append(shape)
        if "\\u" in joined:
            hiding = [number for number, leaf in enumerate(strings) if _hides(str(leaf.value))]
            found |= {number: list(self._shapes) for number in hiding}
        return found

    def _text(self, text: str, name: str, shapes: Sequence[Shape], counts: Counter[str]) -> str:
        known = self._shapes
        if text.isdigit() and is_id(name):
            shapes, known = (tuple(x for x in some if x.KIND not in _NUMBERS) for some in (shapes, known))
        found: Counter[str] = Counter()
        first = self._inside(text, found) if _is_marked(text) and self._needs_parsing(text, shapes) else text
        new = first
        for _ in range(_ROUNDS):
            before = new
            for shape in shapes:
                new = self._replaced(new, shape, found)
            if new == before:
                break
            # What was replaced may have uncovered something of another kind, or behind an escape.
            shapes = known
            if _hides(new):
                new = self._inside(new, found)
        if new != first and _is_marked(text) and _is_json(text)[0] and not _is_json(new)[0]:
            new = first
        counts.update(found)
        return new

    def _needs_parsing(self, text: str, shapes: Sequence[Shape]) -> bool:
        """Whether JSON in a text hides characters of values behind escapes, or has numbers that become strings."""
        found = (one.value for shape in shapes for one in shape.find(text))
        return _hides(text) or any(_NUMBER.fullmatch(one) for one in found)

    def _inside(self, text: str, counts: Counter[str]) -> str:
        """A text that is JSON with its values redacted one by one; any other text as it is."""
        is_json, value = _is_json(text)
        inside: Counter[str] = Counter()
        new = self._value([value], inside) if is_json else None
        if not inside or not isinstance(new, list):
            return text
        try:
            written = _written(new[0], text.isascii())
        except RecursionError:
            return text
        counts.update(inside)
        return written

    def _replaced(self, text: str, shape: Shape, counts: Counter[str]) -> str:
        """One kind replaced, outside of pseudonyms."""
        found = [one for one in shape.find(text) if not self._allowed(one.value)]
        if not found:
            return text
        taken = [one.span() for one in _PSEUDONYM.finditer(text)]
        parts, at = list[str](), 0
        for one in found:
            if not _overlaps(one, taken):
                parts += [text[at : one.start], self._in_place(text, one, shape)]
                at = one.end
                counts[shape.KIND.value] += 1
        return "".join([*parts, text[at:]])

    def _in_place(self, text: str, found: Found, shape: Shape) -> str:
        """The pseudonym, in quotes where a number of JSON stood."""
        name = self.pseudonym(shape.KIND, found.value)
        before = _KEY_BEFORE.search(text[max(found.start - 80, 0) : found.start])
        if before and _NUMBER.fullmatch(text, found.start, found.end):
            quote = before.group(1) + '"'
            return f"{quote}{name}{quote}"
        return name

    def _number(self, leaf: Leaf, counts: Counter[str], new: dict[Leaf, Json]) -> None:
        digits = str(leaf.value)
        if (
            cards in self._shapes
            and cards.whole(digits)
            and not is_id(leaf.name)
            and not self._allowed(digits)
        ):
            counts[Kind.CARD.value] += 1
            new[leaf] = self.pseudonym(Kind.CARD, digits)
        else:
            self._whole(leaf, counts, new)

    def _whole(self, leaf: Leaf, counts: Counter[str], new: dict[Leaf, Json]) -> None:
        """A pseudonym for what only the name of its field tells."""
        value = str(leaf.value)
        for shape in self._by_name(leaf.name):
            if shape.named(value) and not self._allowed(value):
                counts[shape.KIND.value] += 1
                new[leaf] = self.pseudonym(shape.KIND, value)
                return

    def _by_name(self, name: str) -> tuple[Shape, ...]:
        known = self._named.get(name)
        if known is None:
            known = tuple(one for one in self._shapes if one.NAMES is not None and one.NAMES.search(name))
            if len(self._named) < _MAX_NAMES:
                self._named[name] = known
        return known

    def _allowed(self, value: str) -> bool:
        low = value.lower()
        return low in self._exact or (self._globs is not None and self._globs.match(low) is not None)


def _overlaps(one: Found, taken: list[tuple[int, int]]) -> bool:
    at = bisect_left(taken, (one.end,)) - 1
    return at >= 0 and taken[at][1] > one.start


def _is_json(text: str) -> tuple[bool, Json]:
    try:
        return True, json.loads(text)
    except (ValueError, RecursionError):
        return False, None


def _hides(text: str) -> bool:
    """Whether a text may be JSON in which characters of a value are written as escapes."""
    return "\\u" in text and _is_marked(text) and _HIDDEN.search(text) is not None


def _is_marked(text: str) -> bool:
    """Whether a text begins as JSON of more than a number does."""
    return text.lstrip().startswith(_JSON)


def _written(value: Json, ascii_only: bool) -> str:
    """JSON that can be stored."""
    text = json.dumps(value, ensure_ascii=ascii_only)
    try:
        text.encode()
    except UnicodeEncodeError:
        text = json.dumps(value)
    return text
