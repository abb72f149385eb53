"""Redaction: what is replaced, by what, and what stays."""

import json
import random
from collections import Counter
from itertools import product

import orjson
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from rsi.intake import Kind
from rsi.traces.decode import decode
from rsi.traces.redact import Redactor
from rsi.traces.rows import Json, JsonObject
from tests.traces.inputs import SAMPLES, SHARED
from tests.traces.shapes.examples import FOUND

KEY = b"secret of the deployment"
CARD = "4111111111111111"
TRAPS = [
    "ada.lovelace@example.com", "Müller@exämple.de", "a@b.co", "x\\u0040example.com", "o'brien@mail.example.org",
    CARD, "4111 1111 1111 1111", "3782-822463-10005", "5555555555554444 12/27", "6011000990139424",
    "+1 415 555 0100", "+49 (0)30 1234567", "(415) 555-0100", "415-555-0100", "030 1234567", "01 23 45 67 89",
    "0049 30 1234567", "%2B14155550100", "phone: 5551234567", "tel 555-1234",
    "+33\u00a06\u00a012\u00a034\u00a056\u00a078",
    "sk-abcdefghijklmnopqrstuvwx", "sk-ant-api03-abcdef0123456789", "ghp_0123456789abcdefghij0123",
    "AKIAIOSFODNN7EXAMPLE",
    "xoxb-123456789012-abcdef", "AIzaSyA0123456789abcdefghijklmnopqrstu", "hf_abcdefghijklmnopqrstuvwxyz",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl", "Bearer abcdef0123456789", "Basic dXNlcjpwYXNz",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----", "password=hunter2", '"api_key": "abcd"',
    "secret: s3cr3t!", 'Authorization: token abc123', "https://user:pa55@host/x", "postgres://:pa55@db", "PWD='x y'",
    '{"password": "hun\\"ter", "card": 4111111111111111}', '[4111111111111111, "a"]', '{\\"phone\\": 5551234567}',
]  # fmt: skip
NOISE = [
    " ", "\n", "\t", "\\n", "\\", '"', "é", "\u00a0", "😀", "a", "1", "-", "/", ":", "<", ">", "@", "+", "0",
    "x@", "=", "key", "<email:0123456789>", "2024-05-15T12:00:00", "1700000000000000000", "\\u00e9", "{", "]",
    ",",
]  # fmt: skip
NAMES = ["text", "a", "b", "password", "phone", "id", "spanId", "card", "key", "name", "value", "Z"]
TEXTS = st.lists(st.sampled_from(TRAPS + NOISE), max_size=5).map("".join)


def nested(text: Json, levels: int, ascii_only: bool) -> Json:
    """JSON in a string in JSON."""
    for _ in range(levels):
        text = json.dumps({"inner": text}, ensure_ascii=ascii_only)
    return text


STRINGS = st.builds(nested, TEXTS, st.sampled_from([0, 0, 1, 2]), st.booleans())
VALUES = st.recursive(
    STRINGS | st.integers(0, 9) | st.sampled_from([int(CARD), 5551234567, None, True, 0.5]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
        | st.fixed_dictionaries(
            {"key": st.sampled_from(NAMES), "value": st.fixed_dictionaries({"stringValue": inner})}
        )
    ),
    max_leaves=5,
)
RECORDS = st.dictionaries(st.sampled_from(NAMES), VALUES, min_size=1, max_size=3)


def written(value: Json, dice: random.Random, share: float) -> str:
    """JSON with some characters written as escapes, as JSON allows for any."""
    if isinstance(value, str):
        return '"' + "".join(escaped(one, dice, share) for one in value) + '"'
    if isinstance(value, dict):
        inside = [f"{written(key, dice, share)}:{written(one, dice, share)}" for key, one in value.items()]
        return "{" + ", ".join(inside) + "}"
    if isinstance(value, list):
        return "[" + ",".join(written(one, dice, share) for one in value) + "]"
    return json.dumps(value)


def escaped(one: str, dice: random.Random, share: float) -> str:
    if dice.random() < share and ord(one) < 0x10000:
        return dice.choice(
            [f"\\u{ord(one):04x}", f"\\u{ord(one):04X}", "\\/" if one == "/" else f"\\u{ord(one):04x}"]
        )
    return json.dumps(one, ensure_ascii=dice.random() < 0.5)[1:-1]


def shape(value: Json) -> object:
    """A value without its leaves; what is JSON in a string is looked into."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return ("json", shape(json.loads(value)))
        except ValueError:
            return "leaf"
    if isinstance(value, dict):
        return {key: shape(one) for key, one in value.items()}
    if isinstance(value, list):
        return [shape(one) for one in value]
    return "leaf"


@pytest.fixture(scope="module")
def redactor() -> Redactor:
    return Redactor(KEY)


def suspects(redactor: Redactor, *bodies: bytes) -> list[int]:
    return redactor.suspects(pa.array(bodies, pa.large_binary()))


@given(
    record=RECORDS,
    kind=st.sampled_from(Kind) | st.none(),
    seed=st.integers(0, 999),
    share=st.sampled_from([0.0, 0.0, 0.02, 0.5]),
)
@example(record={"id": {"key": 4111111111111111, "value": 4111111111111111}}, kind=None, seed=0, share=0.0)
@example(record={"text": '{"inner": "030 1234567\\u00a0415-555-0100"}'}, kind=None, seed=0, share=0.0)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_whatever_a_record_holds_its_raw_text_is_suspected(
    record: JsonObject, kind: Kind | None, seed: int, share: float
) -> None:
    """However it is written; and nothing is found twice, no key is touched, JSON in strings stays JSON."""
    redactor = Redactor(KEY, kinds=frozenset(Kind if kind is None else {kind}))
    body = written(record, random.Random(seed), share).encode()
    value = decode(body)
    assert isinstance(value, dict)
    new, counts = redactor.record(value)

    if new is value:
        assert not counts
    else:
        assert counts.total() > 0
        assert suspects(redactor, body) == [0]
    assert shape(new) == shape(value)
    again, more = redactor.record(new)
    assert again is new, more
    orjson.dumps(new)


@given(
    text=st.lists(st.sampled_from(TRAPS + NOISE), max_size=6).map("".join),
    kind=st.sampled_from(Kind),
    cut=st.integers(0, 9),
)
def test_text_that_is_no_json_is_suspected_as_well(text: str, kind: Kind, cut: int) -> None:
    """As it is kept where a record cannot be read: cut off, or damaged."""
    redactor = Redactor(KEY, kinds=frozenset({kind}))
    body = ('{"a": ' + json.dumps(text)).encode()[cut:]
    if redactor.text(body.decode(errors="replace"))[1]:
        assert suspects(redactor, body) == [0]


@pytest.mark.parametrize("kind", list(Kind))
def test_every_example_is_found_and_suspected_in_every_spelling(kind: Kind) -> None:
    """On every level of JSON in JSON, with and without escapes for what is no ASCII, after a line end and a word."""
    redactor = Redactor(KEY, kinds=frozenset({kind}))
    for text, _ in FOUND[kind]:
        for before, levels, ascii_only in product(["", "so:\n", "é "], range(4), [True, False]):
            value: JsonObject = {"text": nested(before + text, levels, ascii_only)}
            assert redactor.record(value)[0] is not value, (value, levels)
            body = json.dumps(value, ensure_ascii=ascii_only).encode()
            assert suspects(redactor, body) == [0], body
            assert suspects(redactor, body.replace(b"/", b"\\/")) == [0], body


@given(text=st.lists(st.sampled_from(TRAPS + NOISE), max_size=8).map("".join), levels=st.integers(0, 3))
def test_a_text_that_is_json_stays_json_on_every_level(text: str, levels: int) -> None:
    """And redacting again changes nothing."""
    redactor = Redactor(KEY)
    whole = str(nested(text, levels, ascii_only=True))
    new, _ = redactor.text(whole)
    for _ in range(levels):
        new = json.loads(new)["inner"]
    assert redactor.text(str(new))[0] == new


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.*json*")), ids=lambda path: path.name)
def test_samples_are_suspected_where_they_change(redactor: Redactor, path: object) -> None:
    """The small files of this repository, line by line or whole."""
    from rsi.traces.pieces import pieces
    from rsi.traces.values import Piece

    bodies = [one.body for one in pieces(path) if isinstance(one, Piece)]  # type: ignore[arg-type]
    found = set(suspects(redactor, *bodies))
    for number, body in enumerate(bodies):
        value = decode(body)
        if isinstance(value, dict) and redactor.record(value)[0] is not value:
            assert number in found


@pytest.mark.skipif(not SHARED.exists(), reason="the shared trace files are not here")
def test_real_traces_lose_addresses_and_little_else(redactor: Redactor) -> None:
    """A simulated user's address goes; reservation and payment ids, dates, prices and flights stay."""
    body = (SHARED / "tau_bench" / "gpt-4o-airline.trials01.json").read_bytes()
    counts: Counter[str] = Counter()
    for record in orjson.loads(body):
        counts += redactor.record(record)[1]
    assert set(counts) == {"email"}


def test_pseudonyms_are_keyed_stable_and_blind_to_spelling(redactor: Redactor) -> None:
    """Addresses by lower case, phones and cards by digits; another deployment gives other names."""
    assert redactor.pseudonym(Kind.EMAIL, "Ada@Example.com") == redactor.pseudonym(
        Kind.EMAIL, "ada@example.com"
    )
    assert redactor.pseudonym(Kind.CARD, "4111 1111-1111 1111") == redactor.pseudonym(Kind.CARD, CARD)
    assert redactor.pseudonym(Kind.PHONE, "+1 (415) 555-0100") == redactor.pseudonym(
        Kind.PHONE, "14155550100"
    )
    assert redactor.pseudonym(Kind.KEY, "a") != redactor.pseudonym(Kind.PASSWORD, "a")
    assert redactor.pseudonym(Kind.EMAIL, "a@b.co") != Redactor(b"other").pseudonym(Kind.EMAIL, "a@b.co")
    name = redactor.pseudonym("user", "u-1")
    assert (name[:6], len(name), name[-1]) == ("<user:", 17, ">")


def test_an_argument_still_matches_its_expectation(redactor: Redactor) -> None:
    """Whether it stands in an object, in its JSON text, or in a sentence."""
    record: JsonObject = {
        "expected": {
            "email": "Ada@Example.com",
            "password": 'a"b\\c',
            "card": int(CARD),
            "phone": "5551234567",
        },
        "arguments": '{"email": "ada@example.com", "password": "a\\"b\\\\c", "card": 4111111111111111, '
        '"phone": 5551234567}',
        "said": "It is ada@example.com, card 4111 1111 1111 1111",
    }
    new, counts = redactor.record(record)

    assert json.loads(str(new["arguments"])) == new["expected"]
    assert isinstance(new["expected"], dict)
    assert new["said"] == f"It is {new['expected']['email']}, card {new['expected']['card']}"
    assert counts == {"email": 3, "password": 2, "card": 3, "phone": 2}


def test_nothing_found_gives_the_same_object(redactor: Redactor) -> None:
    """And shared parts of a changed record stay shared."""
    clean: JsonObject = {
        "traceId": "4" * 32,
        "at": 1_700_000_000_000_000_000,
        "a": ["b", {"c": None, "d": 1.5}],
    }
    assert redactor.record(clean)[0] is clean
    mixed: JsonObject = {"clean": clean, "mail": ["a@b.co", "x"]}
    new, _ = redactor.record(mixed)
    assert new["clean"] is clean
    assert mixed["mail"] == ["a@b.co", "x"]


def test_names_of_fields_tell_what_values_alone_do_not(redactor: Redactor) -> None:
    """As a key, and as OTLP, Jaeger and HTTP logs name attributes; a type or a placeholder is no password."""
    record: JsonObject = {
        "password": "correct horse", "pwd": "/home/ada", "secret": "string", "apiKey": "${KEY}", "passwordHint": "cat",
        "a": [{"key": "user.phone", "value": {"stringValue": "5551234567"}}, {"name": "Authorization", "value": "zzz"}],
        "mobile": 5551234567, "phone_id": "5551234567", "access_token": {"type": "string"}, "token": "Hel",
    }  # fmt: skip
    new, counts = redactor.record(record)

    changed = {key for key, value in new.items() if value != record[key]}
    assert changed == {"password", "a", "mobile"}
    assert counts == {"password": 2, "phone": 2}
    assert str(new["a"]).count("<") == 2


def test_ids_and_times_made_of_digits_stay(redactor: Redactor) -> None:
    """A span id that passes Luhn's check is a span id; a card number elsewhere is one."""
    record: JsonObject = {
        "spanId": CARD, "parentSpanId": CARD, "id": int(CARD), "order_id": int(CARD), "startTimeUnixNano": CARD,
        "nested": f'{{"id": {CARD}}}', "value": 0.4111111111111111, "text": "0.4111111111111111 and 4111111111111111.5",
    }  # fmt: skip
    assert redactor.record(record)[0] is record
    assert redactor.record({"number": int(CARD)})[1] == {"card": 1}


def test_allowed_values_stay(redactor: Redactor) -> None:
    """Exactly named, or by a pattern; case does not matter."""
    allowing = Redactor(KEY, allow=["*@example.com", "sales@firm.test", "[x@y.test"])
    text = "Ada@Example.com, sales@firm.test, other@firm.test"
    new, counts = allowing.text(text)
    assert new == text.replace("other@firm.test", redactor.pseudonym("email", "other@firm.test"))
    assert counts == {"email": 1}
    assert allowing.record({"x": "ada@example.com"})[0] == {"x": "ada@example.com"}


def test_only_chosen_kinds_are_looked_for() -> None:
    """In records, texts and suspects."""
    phones = Redactor(KEY, kinds=frozenset({Kind.PHONE}))
    assert phones.text("a@b.co +1 415 555 0100")[1] == {"phone": 1}
    assert suspects(phones, b'{"a":"a@b.co"}', b'{"a":"+1 415 555 0100"}') == [1]
    assert phones.record({"n": int(CARD), "password": "hunter2"})[1] == {}
    assert suspects(Redactor(KEY, kinds=frozenset()), b'{"a":"a@b.co"}') == []


def test_pseudonyms_are_left_alone(redactor: Redactor) -> None:
    """Also where what surrounds them would be replaced."""
    for text in ("password=<password:0123456789>", "<phone:5551234567>", '"secret": "x <key:0123456789> y"'):
        assert redactor.text(text) == (text, Counter())


def test_suspects_are_few_among_ordinary_spans(redactor: Redactor) -> None:
    """Times of 19 digits, ids in hex, UUIDs, dates and prices are no reason to look closer."""
    dice = random.Random(3)

    def span(n: int) -> bytes:
        ids = [dice.randbytes(8).hex() for _ in range(6)]
        text = "on 2024-05-15 at 12:30 for $1,234.50, flight HAT170, v1.27.0, 10.0.0.12, ratio 0.4837263847263847"
        uuid = f"{ids[3]}-{ids[4][:4]}-{ids[4][4:8]}-{ids[4][8:12]}-{ids[5][:12]}"
        attributes = [
            {
                "key": "gen_ai.input.messages",
                "value": {"stringValue": json.dumps([{"role": "user", "text": text}])},
            },
            {"key": "gen_ai.conversation.id", "value": {"stringValue": uuid}},
            {"key": "gen_ai.usage.input_tokens", "value": {"intValue": str(n)}},
        ]
        record = {"traceId": ids[0] + ids[1], "spanId": ids[2], "startTimeUnixNano": 1_700_000_000_000_000_000 + n,
                  "endTimeUnixNano": str(1_700_000_000_000_000_000 + n), "attributes": attributes}  # fmt: skip
        return orjson.dumps(record)

    assert len(suspects(redactor, *[span(n) for n in range(2000)])) < 60
