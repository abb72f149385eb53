"""Signs of failure in one trace."""

import dataclasses
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rsi.discover.facts import CallFact, ScoreFact, SpanFact, TraceFacts, TurnFact
from rsi.discover.localise import localise
from rsi.discover.signals import FAMILIES, Kind, Sign, signals, words
from rsi.discover.signs import Found, blame_of_error
from rsi.discover.tickets import Desk
from rsi.discover.titles import title
from rsi.discover.window import Window, observe
from rsi.records import Blame
from tests.discover.facts_made import call, facts, routed, run, score

RENEW = Window(deciding=frozenset({"renew"}))


def found(one: TraceFacts, window: Window = RENEW) -> set[str]:
    return {sign.signature for sign in signals(one, window).signs}


def sign_of(one: TraceFacts, kind: Kind, window: Window = RENEW) -> Sign:
    """The one sign of a kind."""
    (sign,) = [sign for sign in signals(one, window).signs if sign.kind is kind]
    return sign


@pytest.mark.parametrize(
    ("one", "signatures"),
    [
        (routed("t", "L2", "L0"), {"route:L2->L0"}),
        (routed("t", "L2", None), {"route:L2->none"}),
        (routed("t", "L2", "L2"), set()),
        (
            facts("t", route="L1", outcome="fail", decided_by="route", scores=(score("route", 0.0),)),
            {"outcome:route"},
        ),
        (
            facts("t", outcome="fail", decided_by="feedback", scores=(score("feedback", 0.0),)),
            {"outcome:feedback"},
        ),
        (
            facts(
                "t", outcome="fail", decided_by="reward", scores=(score("reward", 0.0, basis="r_outputs"),)
            ),
            {"outcome:reward:r_outputs"},
        ),
        (
            facts("t", outcome="fail", decided_by="feedback", scores=(score("feedback", 0.0, "so"),)),
            {"correction:feedback"},
        ),
        (facts("t", outcome="pass", decided_by="feedback", scores=(score("feedback", 1.0),)), set()),
        (facts("t", error="Engine: out of memory (7 GB)", outcome="fail"), {"error:engine out of memory"}),
        (
            facts("t", error="connection to 10.0.0.1 refused", outcome="fail"),
            {"error:connection to # refused"},
        ),
        (
            facts("t", calls=(call("f", error="Error: no seat"), call("f", error="Error: no seat"))),
            {"tool_error:f:no seat", "retry:f"},
        ),
        (facts("t", calls=(call("f"),)), set()),
    ],
)
def test_one_trace(one: TraceFacts, signatures: set[str]) -> None:
    """Each kind of sign, and none where nothing failed; several of one kind count once."""
    assert found(one) == signatures


def test_people_are_believed_before_labels_and_the_latest_of_equals() -> None:
    """Where corrections disagree."""
    said = (
        score("route", None, "L1", "label", 9),
        score("route", None, "L2", "human", 1),
        score("route", None, "L3", "human", 2),
        score("route", None, "L0", "llm", 99),
    )
    assert found(facts("t", route="L0", outcome="fail", scores=said)) == {"route:L3->L0"}


def test_expected_actions() -> None:
    """Missing, done otherwise, done without need; on runs that did not pass, and for tools that decide."""
    run = {
        "expected": [("look", {"b": 1}), ("renew", {"b": 1, "w": 3}), ("renew", {"b": 2, "w": 3})],
        "calls": (call("renew", b=1, w=9), call("other")),
    }
    failed = facts("t", outcome="fail", decided_by="reward", **run)  # type: ignore[arg-type]
    assert found(failed) == {"wrong_arguments:renew:w", "missing_action:renew"}
    assert found(facts("t", outcome="pass", **run)) == set()  # type: ignore[arg-type]
    more = {**run, "calls": (call("renew", b=1, w=3), call("renew", b=2, w=3), call("renew", b=3, w=3))}
    assert found(facts("t", outcome="fail", **more)) == {"unexpected_action:renew"}  # type: ignore[arg-type]


def test_an_action_that_was_refused_was_not_done() -> None:
    """It is missing, and the refusal is a sign of its own."""
    run = facts(
        "t",
        outcome="fail",
        expected=[("renew", {"b": 1})],
        calls=(call("renew", error="Error: too late", b=1),),
    )
    assert found(run) == {"missing_action:renew", "tool_error:renew:too late"}


def test_chances() -> None:
    """What a trace could have failed at, whether it did or not."""
    run = facts(
        "t", route="L2", outcome="pass", scores=(score("route", None, "L2"), score("reward", 1.0)),
        expected=[("renew", {"b": 1})], calls=(call("renew", b=1), call("look")),
    )  # fmt: skip
    assert {(chance.what, chance.subject) for chance in signals(run, RENEW).chances} == {
        ("expected role", "L2"),
        ("called", "renew"),
        ("called", "look"),
        ("expecting", "renew"),
        ("called against expectations", "renew"),
        ("called against expectations", "look"),
        ("trace", ""),
        ("scored", "route"),
        ("scored", "reward"),
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Error: payment amount does not add up, total price is 4875", "payment amount does not add up"),
        ("server: too busy. Try later", "server too busy"),
        ("Error: flight HAT030 not available on date 2024-05-13", "flight # not available on date"),
        ("ERROR - No Such User!", "no such user"),
        ("", "no message"),
        ("Error:", "no message"),
    ],
)
def test_words_of_an_error(text: str, said: str) -> None:
    """What stays the same from case to case."""
    assert words(text) == said


SCHEMA = (
    '[{"type": "function", "function": {"name": "book", "parameters": {"type": "object", "required": ["seat"],'
    ' "additionalProperties": false, "properties": {"seat": {"type": "integer"}, "cabin": {"enum": ["a", "b"]},'
    ' "note": {"type": ["string", "null"]}}}}}]'
)


@pytest.mark.parametrize(
    ("arguments", "faults"),
    [
        ({"seat": 3}, set()),
        ({"seat": 3.0, "cabin": "a", "note": None}, set()),
        ({}, {"missing seat"}),
        ({"seat": "3"}, {"type of seat"}),
        ({"seat": True}, {"type of seat"}),
        ({"seat": 3, "cabin": "c", "note": 1}, {"value of cabin", "type of note"}),
        ({"seat": 3, "row": 1, "wing": 2}, {"unknown argument"}),
    ],
)
def test_arguments_against_the_schema(arguments: dict[str, object], faults: set[str]) -> None:
    """Where the trace carries the tool's definition."""
    one = facts("t", calls=(call("book", **arguments),), offered=SCHEMA)
    assert found(one) == {f"invalid_arguments:book:{fault}" for fault in faults}


def test_arguments_that_are_no_object_and_tools_that_are_not_there() -> None:
    """All tools that are not on offer are one failure; what they answered is not counted beside it."""
    torn = CallFact("book", None, "no_result", None, "c", state="invalid")
    assert found(facts("t", calls=(torn,))) == {"invalid_arguments:book:unparsable"}
    strange = (call("fly"), call("swim", error="no such tool"))
    assert found(facts("t", calls=strange, offered='["book"]')) == {"unknown_tool"}
    assert found(facts("t", calls=strange[:1])) == set(), "nobody says what is on offer"
    assert found(facts("t", calls=strange[:1], offered="[broken")) == set()


def test_retries() -> None:
    """The same call right behind its own error, unless the error was of reaching something."""
    again = (call("f", error="Error: no seat", b=1), call("f", error="Error: no seat", b=1))
    assert "retry:f" in found(facts("t", calls=again))
    other = (again[0], call("f", error="Error: no seat", b=2))
    assert "retry:f" not in found(facts("t", calls=other))
    lost = (call("f", error="connection reset", b=1), call("f", error="connection reset", b=1))
    assert "retry:f" not in found(facts("t", calls=lost))


def test_loops() -> None:
    """Up to four calls three times in a row; answers that change, as of one who waits, are none."""
    assert found(facts("t", calls=(call("f", b=1),) * 3)) == {"loop:f"}
    assert found(facts("t", calls=(call("f", b=1), call("g"), call("f", b=1), call("g")))) == set()
    assert found(
        facts("t", calls=(call("a"), call("f", b=1), call("g")) + (call("f", b=1), call("g")) * 2)
    ) == {"loop:f+g"}
    waiting = tuple(dataclasses.replace(call("f", b=1), answer=n) for n in range(9))
    assert found(facts("t", calls=waiting)) == set()
    apart = tuple(one for n in range(4) for one in (call("f", b=1), call("g", n=n)))
    assert found(facts("t", calls=apart)) == {"loop:f"}


def test_giving_up() -> None:
    """By a tool that hands over though the task does not expect it, or a refusal as a failed run's last word."""
    over = call("transfer_to_human_agents", summary="so")
    assert found(facts("t", calls=(over,))) == {"give_up:transfer_to_human_agents"}
    assert found(facts("t", calls=(over,), outcome="pass")) == set()
    assert found(facts("t", calls=(over,), expected=[("transfer_to_human_agents", {})])) == set()
    for other in ("transfer_money_to_person_fund", "transfer_to_agent", "transfer_to_billing_agent"):
        assert found(facts("t", calls=(call(other),))) == set()
    for other in ("escalate_to_human", "transferToHumanAgent", "connect_to_live_agent", "human_handoff"):
        assert found(facts("t", calls=(call(other),))) == {f"give_up:{other}"}
    refused = run("t", ("user", "Cancel it"), ("assistant", "I'm sorry, but I can't do that."))
    assert "give_up:refusal" in found(refused)
    told = run("t", ("user", "Cancel it"), ("assistant", "Done. I cannot tell you how glad I am."))
    assert "give_up:refusal" not in found(told)


def test_rules_people_forms_and_the_world() -> None:
    """Bad scores beside the one that decides, by who gave them and on what."""
    said = (
        score("reward", 0.0, source="env", basis="r_actions"),
        score("policy", 0.0, source="code", basis="no_refunds"),
        score("tone", 0.2, source="llm", basis="The agent should be kind to this one user."),
        score("format_check", 0.0, source="code"),
        score("feedback", 0.0, source="end_user"),
        score("helpful", 0.9, source="llm"),
        score("length", None, source="code"),
    )
    one = facts("t", outcome="fail", decided_by="reward", scores=said)
    assert found(one) == {
        "state:reward:r_actions",
        "rule:policy:no_refunds",
        "rule:tone",
        "format:format_check",
        "feedback:feedback",
    }
    assert sign_of(one, Kind.STATE).evidence[0].says == "reward is 0 of 1 (r_actions)"


def test_guardrails_markup_and_answers_cut_off() -> None:
    """Each with the place where it shows."""
    one = facts("t", stopped=(SpanFact("no_pii", "s1", error="an address"),), leaked="m1", cut="s2")
    assert found(one) == {"rule:no_pii", "format:tool call in text", "cut:answer"}
    assert sign_of(one, Kind.RULE).evidence[0].span_uid == "s1"
    assert sign_of(one, Kind.FORMAT).evidence[0].message_uid == "m1"
    assert sign_of(one, Kind.CUT).blame is Blame.HARNESS


def test_outliers_are_those_of_their_group() -> None:
    """A run far above the others of its agent; groups that are small, or as wide, have none."""
    usual = [facts(f"t{n}", agent="a", seconds=10 + n % 5, cost_usd=0.1) for n in range(30)]
    slow = facts("slow", agent="a", seconds=300.0, cost_usd=0.1)
    window = observe([*usual, slow])
    assert found(slow, window) == {"slow:a"}
    assert not any(found(one, window) for one in usual)
    assert found(facts("b", agent="b", seconds=9999.0), observe([*usual[:10], slow])) == set()
    wide = [facts(f"t{n}", agent="a", seconds=2.0**n) for n in range(30)]
    assert not any(found(one, observe(wide)) for one in wide)
    tools = [facts(f"t{n}", spans=(SpanFact("f", f"s{n}", 1.0),)) for n in range(30)]
    stuck = facts("stuck", spans=(SpanFact("f", "s", 60.0),))
    sign = sign_of(stuck, Kind.SLOW, observe([*tools, stuck]))
    assert (sign.signature, sign.blame, sign.evidence[0].span_uid) == ("slow:f:tool", Blame.ENVIRONMENT, "s")


def test_trials_that_disagree() -> None:
    """The failed one shows it; both had the chance; runs of another task say nothing."""
    good, bad = run("g", ("assistant", "a"), passed=True), run("b", ("assistant", "b"))
    window = observe([good, bad, run("c", ("assistant", "c"), task="else")])
    assert "disagreement:reward" in found(bad, window)
    assert found(good, window) == set()
    assert {chance.what for chance in signals(good, window).chances} >= {"repeated"}
    assert "disagreement:reward" not in found(run("c", ("assistant", "c"), task="else"), window)


def test_words_to_be_said() -> None:
    """Missing from a failed run's answers."""
    one = run("t", ("assistant", "It is 12."), expected=[], outputs=["13"])
    assert found(one) == {"missing_output:words"}


def test_weak_signs_explain_nothing() -> None:
    """A failed outcome with nothing but them is said to be unexplained."""
    good, bad = run("g", ("assistant", "a"), passed=True), run("b", ("assistant", "b"), ("assistant", "c"))
    assert found(bad, observe([good, bad])) == {"disagreement:reward", "outcome:reward"}


@pytest.mark.parametrize(
    ("text", "blame"),
    [
        ("Error: connection timed out", Blame.ENVIRONMENT),
        ("Error: 503 Service Unavailable", Blame.ENVIRONMENT),
        ("Unknown tool: fly", Blame.HARNESS),
        ("This model's maximum context length is 4096 tokens", Blame.HARNESS),
        ("Error: payment amount does not add up", Blame.MODEL),
        ("AssertionError: expected 5", Blame.MODEL),
        ("", Blame.MODEL),
    ],
)
def test_whose_an_error_is(text: str, blame: Blame) -> None:
    """By closed lists of words."""
    assert blame_of_error(text) is blame


def test_equal_signs_are_one_with_all_their_evidence() -> None:
    """In order; blame and evidence are no part of what a sign is."""
    one = facts(
        "t", calls=tuple(dataclasses.replace(call("f", error="no", n=n), call_uid=f"c{n}") for n in range(9))
    )
    sign = sign_of(one, Kind.TOOL_ERROR)
    assert [seen.call_uid for seen in sign.evidence] == [f"c{n}" for n in range(5)]
    assert sign == dataclasses.replace(sign, blame=Blame.TASK, evidence=())


def test_every_sign_has_evidence_and_a_title() -> None:
    """Of each family that found something here."""
    many = [
        run("b", ("user", "Cancel"), ("assistant", call("f", error="no")), ("assistant", "I cannot."),
            expected=[("renew", {"b": 1})], cut="s", leaked="m", error="timed out"),
        routed("r", "L2", "L0"),
        facts("t", calls=(call("f", b=1),) * 4, outcome="fail", decided_by="x", scores=(score("x", 0.0, "so"),)),
    ]  # fmt: skip
    signs = [sign for one in many for sign in signals(one, observe(many)).signs]
    assert len({sign.kind for sign in signs}) >= 8
    for sign in signs:
        assert sign.evidence
        assert all(seen.says for seen in sign.evidence)
        assert title(sign)


# --- what must hold for any facts -----------------------------------------------------------------------------

TEXTS = st.one_of(
    st.none(),
    st.sampled_from(["", "{", "[]", "{}", '{"a": 1}', "null", "I cannot.", "\ud800?"]),
    st.text(max_size=20),
)
NUMBERS = st.one_of(st.none(), st.floats(), st.sampled_from([0.0, 1.0]))
PLACES = st.tuples(st.integers(0, 3), st.integers(0, 9))
NAMES = st.sampled_from(["f", "renew", "transfer_to_human", "", "reward"])
CALLS = st.builds(
    CallFact, NAMES, TEXTS, st.sampled_from(["ok", "error", "no_result", "?"]), TEXTS, st.text(max_size=3), PLACES,
    st.sampled_from(["object", "invalid", "missing"]), st.one_of(st.none(), st.integers(0, 3)), st.booleans(),
)  # fmt: skip
SCORES = st.builds(
    ScoreFact,
    NAMES,
    NUMBERS,
    TEXTS,
    st.sampled_from(["human", "env", ""]),
    TEXTS,
    st.one_of(st.none(), st.integers()),
)
TURNS = st.builds(
    TurnFact, st.sampled_from(["system", "user", "assistant", "tool", ""]), PLACES, TEXTS, st.text(max_size=3)
)
SPANS = st.builds(SpanFact, NAMES, st.text(max_size=3), NUMBERS, TEXTS)
WANTED = st.sampled_from(
    [None, "{", "[]", '{"actions": 3}',
     '{"actions": [{"name": 1}, null, {"name": "renew", "arguments": [1]}], "outputs": {}}',
     '{"actions": [{"name": "renew", "arguments": {"b": 1}}], "outputs": ["12", null, 3]}']
)  # fmt: skip
HOSTILE = st.builds(
    TraceFacts,
    trace_uid=st.text(min_size=1, max_size=3),
    version=st.just("v"),
    route=TEXTS,
    start_ns=st.one_of(st.none(), st.integers()),
    error=TEXTS,
    expected=WANTED,
    outcome=st.sampled_from(["pass", "fail", "unknown"]),
    decided_by=st.one_of(st.none(), NAMES),
    scores=st.lists(SCORES, max_size=4).map(tuple),
    calls=st.lists(CALLS, max_size=8).map(tuple),
    task=st.sampled_from([None, "a", "b"]),
    agent=TEXTS,
    seconds=NUMBERS,
    cost_usd=NUMBERS,
    leaked=TEXTS,
    cut=TEXTS,
    spans=st.lists(SPANS, max_size=3).map(tuple),
    stopped=st.lists(SPANS, max_size=2).map(tuple),
    offered=st.sampled_from([None, "[", "{}", '["f"]', "[1, null, {}]", SCHEMA]),
    instruction=TEXTS,
    turns=st.lists(TURNS, max_size=8).map(tuple),
)
"""Facts as no reader should make them."""


@settings(max_examples=150, deadline=None)
@given(st.lists(HOSTILE, max_size=6, unique_by=lambda one: one.trace_uid), st.randoms(use_true_random=False))
def test_any_order_of_any_traces_gives_the_same_signs_and_never_raises(
    many: list[TraceFacts], random: object
) -> None:
    """Nulls, broken JSON and torn conversations; signs with their blame and evidence, and tickets."""
    shuffled = list(many)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    told = []
    for order in (many, shuffled):
        window, desk = observe(order), Desk()
        by_trace = {}
        for one in order:
            got = signals(one, window)
            desk.take(one.trace_uid, got)
            by_trace[one.trace_uid] = (
                {sign: (sign.blame, sign.evidence) for sign in got.signs}, got.chances, got.localised
            )  # fmt: skip
            assert {sign.chance for sign in got.signs} <= got.chances
        told.append((by_trace, desk.tickets()))
    assert told[0] == told[1]


@pytest.mark.slow
def test_ten_thousand_calls() -> None:
    """A run that never stops is looked at like any other."""
    wanted: list[tuple[str, dict[str, object]]] = [("renew", {"b": n, "w": 1}) for n in range(400)]
    said = [("assistant", call("renew" if n % 2 else "look", b=n, w=2)) for n in range(10_000)]
    got = signals(run("t", *said, expected=wanted), Window(deciding=frozenset({"renew"})))
    assert "wrong_arguments:renew:w" in {sign.signature for sign in got.signs}
    assert got.localised is not None


ASKED = ("user", "Cancel it")
BAD: dict[str, tuple[TraceFacts, Window, Kind]] = {
    "route": (routed("t", "L2", "L0"), RENEW, Kind.ROUTE),
    "corrections": (facts("t", scores=(score("answer", 0.0, "so"),)), RENEW, Kind.CORRECTION),
    "judged": (facts("t", scores=(score("policy", 0.0),)), RENEW, Kind.RULE),
    "guardrails": (facts("t", stopped=(SpanFact("no_pii", "s", error="an address"),)), RENEW, Kind.RULE),
    "errors": (facts("t", calls=(call("f", error="no"),)), RENEW, Kind.TOOL_ERROR),
    "arguments": (facts("t", calls=(call("book"),), offered=SCHEMA), RENEW, Kind.INVALID_ARGUMENTS),
    "broke": (facts("t", error="out of memory"), RENEW, Kind.ERROR),
    "slow_tools": (facts("t", spans=(SpanFact("f", "s", 9.0),)), Window(slow_tools={"f": 2.0}), Kind.SLOW),
    "actions": (run("t", ASKED, ("assistant", "No."), expected=[("renew", {})]), RENEW, Kind.MISSING_ACTION),
    "outputs": (run("t", ("assistant", "12"), expected=[], outputs=["13"]), RENEW, Kind.MISSING_OUTPUT),
    "retries": (facts("t", calls=(call("f", error="no"),) * 2), RENEW, Kind.RETRY),
    "loops": (facts("t", calls=(call("f"),) * 3), RENEW, Kind.LOOP),
    "give_ups": (run("t", ASKED, ("assistant", "I cannot.")), RENEW, Kind.GIVE_UP),
    "forms": (facts("t", cut="s"), RENEW, Kind.CUT),
    "outliers": (facts("t", agent="a", cost_usd=9.0), Window(costly={"a": 2.0}), Kind.COSTLY),
    "trials": (
        run("t", ("assistant", "b")),
        observe([run("t", ("assistant", "b")), run("g", ("assistant", "a"), passed=True)]),
        Kind.DISAGREEMENT,
    ),
}
"""Family -> a trace that it finds something in, beside what, and which kind."""
GOOD = run(
    "good", ASKED, ("assistant", call("renew", b=1)), ("assistant", "Done."), passed=True, agent="a", seconds=1.0,
    cost_usd=0.1, expected=[("renew", {"b": 1})], outputs=["done"], route="L1", offered='["renew"]',
    spans=(SpanFact("renew", "s", 0.1),),
)  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_each_family(family: Callable[..., Found]) -> None:
    """Finds its kind where it is, in a trace that had the chance to show it, and nothing in a good run."""
    one, window, kind = BAD[family.__name__]
    signs, _ = family(one, window, localise(one, window))
    assert kind in {sign.kind for sign in signs}
    assert {sign.chance for sign in signs} <= signals(one, window).chances
    busy = Window(RENEW.deciding, slow={"a": 5.0}, costly={"a": 5.0}, slow_tools={"renew": 2.0})
    assert family(GOOD, busy, localise(GOOD, busy))[0] == []


def test_every_family_is_in_the_table_once() -> None:
    """With an example each."""
    assert sorted(family.__name__ for family in FAMILIES) == sorted(BAD)
