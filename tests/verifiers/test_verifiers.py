from collections.abc import Mapping

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rsi.errors import ContractError
from rsi.ports import Preference
from rsi.records import OutcomeKind
from rsi.verifiers import VERIFIERS, Verifier, gold, verify, with_judge


def js(**content: object) -> str:
    """An expectation as JSON."""
    return orjson.dumps(content).decode()


class ByLength:
    """A judge that prefers the longer answer, in either place."""

    name = "by length"

    def prefer(self, rubric: str, question: str, first: str, second: str) -> Preference | None:
        """The longer one."""
        if len(first) == len(second):
            return Preference.SAME
        return Preference.FIRST if len(first) > len(second) else Preference.SECOND


TABLE: Mapping[str, Verifier] = with_judge(ByLength())
WEATHER = {
    "name": "weather.now",
    "parameters": {
        "type": "dict",
        "required": ["city"],
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer"},
            "wind": {"type": "float"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "where": {"type": "dict"},
            "brief": {"type": "boolean"},
        },
    },
}
ONE = js(
    tools=[WEATHER, {"name": "other", "parameters": {"type": "dict", "properties": {}}}],
    calls=[{"weather.now": {"city": ["New York, NY", "NYC"], "days": [3, ""], "wind": ["", 2.0], "brief": ["", True],
                            "tags": [["a", "b"], ""], "where": [{"lat": [1, 2], "note": ["", "x"]}, ""]}}],
)  # fmt: skip
TWO = js(
    tools=[WEATHER], calls=[{"weather.now": {"city": ["Oslo"]}}, {"weather.now": {"city": ["Oslo", "Bern"]}}]
)
NONE = js(tools=[WEATHER], calls=[])
PATTERN = js(pattern="[A-Z]{2}-\\d+", example="AB-1")
EVIL = js(pattern="(a+)+b", example="aab")
SCHEMA = js(
    schema={
        "type": "object", "required": ["n"], "additionalProperties": False,
        "properties": {"n": {"type": "integer", "minimum": 1}, "next": {"$ref": "#"}},
    },
    example={"n": 1},
)  # fmt: skip
WORLD = js(
    state={
        "orders": [{"id": 1, "total": 2, "at": "x"}, {"id": 2, "total": 3.5, "at": "y"}],
        "user": {"name": "Ada"},
    },
    ignore=["at"],
)
DOUBLE = js(
    tests="assert double(2) == 4\nassert double('a') == 'aa'", gold="def double(x):\n    return x * 2\n"
)
RUBRIC = js(question="Why?", rubric="Gives a reason.", reference="Because it rains.")

GOLD: dict[str, list[tuple[str, str]]] = {
    "choice": [("L2", "L2"), (" code\n", "code"), ("generated-ui", "generated-ui")],
    "exact": [
        ("Paris", '["Paris"]'),
        ("The capital of France is Paris.", '["Paris"]'),
        ("\n\n  **PARIS**!  \nor maybe Rome", '["Paris"]'),
        ("It has 8 legs", '["8", "eight"]'),
        ("Eight.", '["8", "eight"]'),
        ("1,000 metres", '["1000"]'),
        ("New  york-city", '["New York City"]'),
        ("\uff30aris", '["Paris"]'),
        ("It is -5 degrees", '["-5"]'),
        ("That is \u22125.", '["-5"]'),
        ("pi is 3.14", '["3.14"]'),
        ("Shakespeare's", '["Shakespeare"]'),
        ("STRASSE", '["Straße"]'),
    ],
    "number": [
        ("9.81 m/s^2", "9.81 m/s^2"), ("981 cm/s²", "9.81 m/s^2"), ("It is 1,234.5.", "1234.5"), ("50%", "0.5"),
        ("0.5", "50%"), ("37 °C", "310.15 K"), ("72 km/h", "20 m/s"), ("2 + 1 = 3", "3"), ("$1,200", "1200 USD"),
        ("5 apples", "5"), ("6.02e23", "6.02 x 10^23"), ("−5", "-5"), ("1.234,5", "1234.5"), ("2 hours", "7200 s"),
        ("98.6 degrees Fahrenheit", "37 °C"), ("**5 km**", '{"value": 5000, "unit": "m"}'),
        ("3.1", '{"value": 3.14159, "relative": 0.02}'), ("10.4", '{"value": 10, "absolute": 0.5}'),
        ("1 MiB", "1048576 B"), ("3 kWh", "10.8 MJ"), ("1 234 567", "1234567"), ("2 square metres", "2 m²"),
    ],
    "regex": [("AB-12", PATTERN), (" AB-1\n", PATTERN), ("a" * 5000 + "b", EVIL)],
    "json_schema": [
        ('{"n": 1}', SCHEMA), ('```json\n{"n": 2, "next": {"n": 3}}\n```', SCHEMA), (' {"n":9} ', SCHEMA),
        ("null", js(schema={"type": "null"}, example=None)),
    ],
    "tool_call": [
        ('{"name": "weather.now", "arguments": {"city": "NYC", "tags": ["A", "b."], "where": {"lat": 2}}}', ONE),
        ('[{"type": "function", "function": {"name": "weather_now", "arguments": "{\\"city\\": \\"nyc\\"}"}}]', ONE),
        ('{"tool_calls": [{"function": {"name": "weather.now", "arguments": {"city": "new york ny"}}}]}', ONE),
        ('I look.\n<tool_call>\n{"name": "weather.now", "arguments": {"city": "NYC", "wind": 2}}\n</tool_call>', ONE),
        ("[weather.now(city='NYC', brief=True, where={'lat': 1, 'note': 'X'})]", ONE),
        ("```python\nweather.now(city='NYC')\n```", ONE),
        ("weather.now(city='Bern')\nweather.now(city='Oslo')", TWO),
        ("[weather.now(city='Oslo'), weather.now(city='Bern')]", TWO),
        ("I have no tool for that.", NONE), ("[]", NONE),
    ],
    "final_state": [
        ('{"user": {"name": "Ada"}, "orders": [{"id": 2, "total": 3.5}, {"id": 1, "total": 2.0, "at": "z"}]}', WORLD),
    ],
    "code": [
        ("def double(x):\n    return x + x", DOUBLE),
        ("Here it is:\n```python\nimport math\ndouble = lambda x: 2 * x\n```\nDone.", DOUBLE),
    ],
    "math": [
        ("$\\frac{1}{2}$", "0.5"), ("So \\boxed{x+1}", "1+x"), ("4", "2^2"), ("$\\sqrt{8}$", "$2\\sqrt{2}$"),
    ],
    "judge": [("Because it rains, and it always did.", RUBRIC), ("Because it rains.", RUBRIC), ("x" * 17, RUBRIC)],
}  # fmt: skip
WRONG: dict[str, list[tuple[str, str]]] = {
    "choice": [
        ("L1", "L2"), ("l2", "L2"), ("L2.", "L2"), ("L2 L2", "L2"), ("the answer is L2", "L2"), ("L", "L2"),
        ("L22", "L2"), ("`L2`", "L2"), ('"L2"', "L2"), ("L2\nL1", "L2"), ("chat agent code ui", "code"),
        ("", "L2"),        (" \n ", "L2"), ("\u200bL2", "L2"), ("Code", "code"), ("?", "L2"),
    ],
    "exact": [
        ("", '["Paris"]'), (" \n\t", '["Paris"]'), ("chat", '["Paris"]'), ("code", '["8", "eight"]'),
        ("Parisian", '["Paris"]'), ("I do not know.", '["Paris"]'), ("Rome\nParis", '["Paris"]'),
        ("18", '["8", "eight"]'), ("8.5", '["8"]'), ("80", '["8"]'), ("5", '["-5"]'), ("-5", '["5"]'),
        ("City of New York", '["New York City"]'), ("10000", '["1000"]'), ("2nd", '["2"]'),
        ("eighty", '["eight"]'), ("?!", '["Paris"]'), ("3", '["3.14"]'), ("x" * 2100 + " Paris", '["Paris"]'),
    ],
    "number": [
        ("", "5"), ("five", "5"), ("3 or 4", "3"), ("4", "3"), ("5", "5 m"), ("5 s", "5 m"), ("5 m", "5 km"),
        ("50", "50%"), ("-5", "5"), ("1.234", "1234"), ("3.2", '{"value": 3.14, "relative": 0.01}'),
        ("1, 2, 3, 4, 5", "5"), ("5 €", "5 $"), ("37 K", "37 °C"), ("5\n6", "6"), ("9.81 m/s", "9.81 m/s^2"),
        ("1e999", "1"), ("0x5", "5"), ("NaN", "5"), ("∞", "5"), ("9.8", "9.81"),
    ],
    "regex": [
        ("", PATTERN), ("ab-1", PATTERN), ("AB-", PATTERN), ("xAB-1", PATTERN), ("AB-1\nAB-2", PATTERN),
        ("AB-1 ", EVIL), ("a" * 19_000, EVIL), ("a" * 30_000, EVIL),
    ],
    "json_schema": [
        ("", SCHEMA), ("{", SCHEMA), ('{"n": 0}', SCHEMA), ('{"n": "1"}', SCHEMA), ("[]", SCHEMA),
        ('{"n": 1.5}', SCHEMA),
        ('{"n": 1, "m": 2}', SCHEMA), ('{"n": 1} and so on', SCHEMA), ("NaN", SCHEMA), ("{'n': 1}", SCHEMA),
        ("[" * 500 + "]" * 500, SCHEMA), ('{"n": 1, "next": {"n": 0}}', SCHEMA), ('{"n": true}', SCHEMA),
        ("[" + "1," * 30_000 + "1]", SCHEMA),
    ],
    "tool_call": [
        ("", ONE), ("I would call weather.now(city='NYC')", ONE), ("weather.now(city='Rome')", ONE),
        ("other(city='NYC')", ONE), ("weather(city='NYC')", ONE), ("weather.now()", ONE), ("weather.now('NYC')", ONE),
        ("weather.now(city='NYC', days='3')", ONE), ("weather.now(city='NYC', days=3.0)", ONE),
        ("weather.now(city='NYC', days=True)", ONE), ("weather.now(city='NYC', brief=1)", ONE),
        ("weather.now(city='NYC', tags=['b', 'a'])", ONE), ("weather.now(city='NYC', tags='a')", ONE),
        ("weather.now(city='NYC', where={})", ONE), ("weather.now(city='NYC', where={'lat': 1, 'x': 1})", ONE),
        ("weather.now(city='NYC', where={'lat': True})", ONE), ("weather.now(city='NYC', unit='C')", ONE),
        ("[weather.now(city='NYC'), weather.now(city='NYC')]", ONE), ("weather.now(city='NYC'", ONE),
        ('{"name": "weather.now", "arguments": "city"}', ONE), ('{"name": "weather.now"', ONE), ("[]", ONE),
        ("weather.now(city=__import__('os').getcwd())", ONE), ("weather.now(**{'city': 'NYC'})", ONE),
        ("<tool_call>{}</tool_call>", ONE), ("<tool_call>", ONE), ("f(" * 3000, ONE), ("[" * 9000, ONE),
        ("weather.now(city='Oslo')", TWO), ("[weather.now(city='Bern'), weather.now(city='Bern')]", TWO),
        ("weather.now(city='Oslo')", NONE), ('{"name": "weather.now", "arguments": {}}', NONE), ("", NONE),
        ("weather.now(city='NYC'); weather.now(city='NYC')", ONE), ("x = weather.now(city='NYC')", ONE),
    ],
    "final_state": [
        ("", WORLD), ("{}", WORLD), ("[]", WORLD), ("done", WORLD),
        ('{"user": {"name": "Ada"}, "orders": [{"id": 1, "total": 2}]}', WORLD),
        ('{"user": {"name": "Ada"}, "orders": [{"id":1,"total":2}, {"id":2,"total":3.5}, {"id":2,"total":3.5}]}',
         WORLD),
        ('{"user": {"name": "Bob"}, "orders": [{"id": 1, "total": 2}, {"id": 2, "total": 3.5}]}', WORLD),
        ('{"user": {"name": "Ada"}, "orders": [{"id": true, "total": 2}, {"id": 2, "total": 3.5}]}', WORLD),
        ('{"user": {"name": "Ada"}, "orders": [{"id": 1, "total": 2}, {"id": 2, "total": 3.5}], "more": []}', WORLD),
        ('{"user": [{"name": "Ada"}], "orders": [{"id": 1, "total": 2}, {"id": 2, "total": 3.5}]}', WORLD),
    ],
    "code": [
        ("", DOUBLE), ("def double(x):\n    return x", DOUBLE), ("def double(x):", DOUBLE), ("passed", DOUBLE),
        ("def triple(x):\n    return 2 * x", DOUBLE), ("def double(x):\n    raise ValueError", DOUBLE),
        ("```python\n1\n```\n```python\n2\n```", DOUBLE), ("\0", DOUBLE), ("\ud800", DOUBLE),
    ],
    "math": [
        ("", "3"), ("no idea", "3"), ("4", "3"), ("$x$", "$y$"), ("\\boxed{2}", "3"), ("$$", "3"), ("{" * 3000, "3"),
    ],
    "judge": [("", RUBRIC), ("No.", RUBRIC), ("x" * 16, RUBRIC), ("x" * 30_000, RUBRIC)],
}  # fmt: skip
JSON_WRONG = ["", "Paris", "[]", "{}", "null", "3"]
UNUSABLE = {
    "choice": ["", " ", "two words", "a.b"],
    "exact": ["", "Paris", "[]", "{}", '["?"]', '["Paris", ""]', "[8]", '"Paris"', "null"],
    "number": [
        "", "five", "[]", "{}", "5 blorps", "true", '{"value": "5"}', '{"value": 5, "relative": -1}', "3 or 4",
        '{"value": 5, "unit": "zz"}', '{"value": 5, "more": 1}',
    ],
    "regex": [
        *JSON_WRONG, js(pattern="(", example="("), js(pattern="a", example="b"), js(pattern="(?=a)a", example="a"),
        js(pattern=r"(a)\1", example="aa"), js(pattern="a" * 2000, example="a"), js(pattern="a"),
    ],
    "json_schema": [
        *JSON_WRONG, js(schema={"type": "strin"}, example="a"), js(schema={"type": "string"}, example=1),
        js(schema={"$ref": "https://example.com/schema.json"}, example=1), js(schema={"$ref": "#"}, example=1),
        js(schema={"$ref": "file:///etc/hostname"}, example=1), js(schema={"pattern": "(a+)+$"}, example="a"),
    ],
    "tool_call": [
        *JSON_WRONG, js(tools=[], calls=[{"f": {}}]), js(tools=[WEATHER], calls=[{}]),
        js(tools=[WEATHER], calls=[{"weather.now": {}}]), js(tools=[WEATHER], calls=[{"weather.now": {"city": []}}]),
        js(tools=[WEATHER], calls=[{"weather.now": {"city": [7]}, "other": {}}]),
        js(tools=[WEATHER], calls=[{"weather.now": {"city": ["x"], "no": ["y"]}}]),
    ],
    "final_state": [*JSON_WRONG, js(state=[]), js(state={}, ignore="at"), js(state={}, more=1)],
    "code": [*JSON_WRONG, js(tests=""), js(tests=1), js(tests="assert 1", more="")],
    "math": ["", " ", "$" + "1" * 30_000],
    "judge": [*JSON_WRONG, js(question="a", rubric="b", reference=""), js(question="a", rubric="b")],
}  # fmt: skip


@pytest.mark.parametrize("name", VERIFIERS)
def test_47_every_verifier_accepts_its_gold(name: str) -> None:
    """What is right gets 1, in every spelling that counts."""
    for answer, expected in GOLD[name]:
        if name == "math":
            pytest.importorskip("math_verify", reason="the extra math is not installed")
        outcome = verify(name, answer, expected, TABLE)
        assert (outcome.kind, outcome.score) == (OutcomeKind.SCORED, 1.0), (answer, expected)


@pytest.mark.parametrize("name", VERIFIERS)
def test_47_every_verifier_refuses_a_bank_of_wrong_answers(name: str) -> None:
    """Nothing wrong gets a point, and only *scored* has a number."""
    for answer, expected in WRONG[name]:
        outcome = verify(name, answer, expected, TABLE)
        assert outcome.score == (0.0 if outcome.kind is OutcomeKind.SCORED else None), (answer, expected)
        assert outcome.kind is not OutcomeKind.INVALID, (answer, expected)


@pytest.mark.parametrize("name", VERIFIERS)
def test_every_verifier_makes_its_own_gold(name: str) -> None:
    """What `gold` gives for an expectation is right for it, and nothing is given for a broken one."""
    if name == "math":
        pytest.importorskip("math_verify", reason="the extra math is not installed")
    for expected in {expected for _, expected in GOLD[name]}:
        answer = gold(name, expected, TABLE)
        assert answer is not None
        assert verify(name, answer, expected, TABLE).score == 1.0, (answer, expected)
    for expected in UNUSABLE[name]:
        assert verify(name, gold(name, expected, TABLE) or "", expected, TABLE).kind is OutcomeKind.INVALID


@pytest.mark.parametrize("name", VERIFIERS)
def test_no_answer_is_empty_and_not_wrong(name: str) -> None:
    """Silence is counted apart."""
    expected = GOLD[name][0][1]

    assert {verify(name, answer, expected, TABLE).kind for answer in ("", "  ", "\n\n")} == {
        OutcomeKind.EMPTY
    }


@pytest.mark.parametrize("name", VERIFIERS)
def test_an_expectation_nobody_could_meet_is_invalid(name: str) -> None:
    """A broken item blames the suite, whatever was answered."""
    for expected in UNUSABLE[name]:
        for answer in ("Paris", "", expected):
            assert verify(name, answer, expected, TABLE).kind is OutcomeKind.INVALID, (answer, expected)


@pytest.mark.parametrize("name", VERIFIERS)
@settings(deadline=None)
@given(answer=st.text(), expected=st.text())
def test_no_text_breaks_a_verifier(name: str, answer: str, expected: str) -> None:
    """Whatever comes in, an outcome comes out, and the same one each time."""
    outcome = verify(name, answer, expected, TABLE)

    assert outcome == verify(name, answer, expected, TABLE)
    assert (outcome.score is not None) == (outcome.kind is OutcomeKind.SCORED)


def test_choice_calls_more_than_a_word_wrong_format() -> None:
    """A sentence around the label is not a label; another label is simply wrong."""
    assert verify("choice", "It is L2", "L2").kind is OutcomeKind.WRONG_FORMAT
    assert verify("choice", "L1", "L2").score == 0.0


def test_what_exact_does_not_see() -> None:
    """The documented weakness stays documented: a list of everything holds the fact."""
    assert verify("exact", "Rome, Oslo, Paris, Bern", '["Paris"]').score == 1.0


def test_an_unknown_verifier_is_named_with_the_known_ones() -> None:
    """A typo in a suite ends in one clear line."""
    with pytest.raises(ContractError, match=r"'chioce'.*choice, code, exact"):
        verify("chioce", "a", "a")


def test_every_verifier_has_gold_and_wrong_answers() -> None:
    """A new line in the table needs its rows here."""
    assert set(VERIFIERS) == set(GOLD) == set(WRONG) == set(UNUSABLE)


def test_a_regex_takes_linear_time_and_a_pattern_that_could_not_is_refused() -> None:
    """What stalls a backtracking engine for years is answered."""
    assert verify("regex", "a" * 19_999, EVIL).score == 0.0


def test_a_final_state_names_what_differs() -> None:
    """The detail says which row is missing and which is too much."""
    found = verify(
        "final_state",
        '{"user": {"name": "Ada"}, "orders": [{"id": 1, "total": 2}, {"id": 3, "total": 1}]}',
        WORLD,
    )

    assert found.detail == '- orders: {"id":2,"total":3.5}; + orders: {"id":3,"total":1}'
