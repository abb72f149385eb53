"""What a contract may ask beside its bars: power before the run, a noise floor, Holm over guards."""

from collections import Counter
from pathlib import Path

import pytest
from pydantic import ValidationError

from rsi.gate.contest import Contest, Means
from rsi.gate.contract import Contract, read
from rsi.gate.evaluate import evaluate
from rsi.gate.gate import gate
from rsi.gate.noise import floor, measure
from rsi.gate.ready import ready
from rsi.gate.scorecard import Assume
from rsi.gate.suites import load
from rsi.gate.terms import Noise
from rsi.gate.verdict import judge
from rsi.questions import Certificate
from rsi.records import Clause, Judgement, Verdict
from rsi.settings import PROJECT, Home
from rsi.statistics.noninferiority import noninferior
from tests.gate.made import (
    CANDIDATE,
    CHAMPION,
    OLD_ANSWERS,
    OLD_ROUTES,
    ScriptedEngine,
    Unrecorded,
    World,
    answers_right,
    engine,
    harness_of,
    number,
    routes_right,
    world,
)

PASS, DOUBT = Judgement.PASS, Judgement.CANNOT_TELL


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> World:
    return world(tmp_path_factory.mktemp("world"))


def saying(made: World, **tables: object) -> Contract:
    """The contract with some tables more."""
    return Contract.model_validate({**made.contract.model_dump(by_alias=True), **tables})


def named(clauses: tuple[Clause, ...], name: str) -> Clause:
    return next(one for one in clauses if one.name == name)


def test_a_suite_that_can_find_the_wanted_gain_is_ready(made: World) -> None:
    """200 requests find 10 points where 20% differ; 150 questions clear an equal candidate of 8 points."""
    found = ready(saying(made, power={"effect": 0.1, "guard_discordance": 0.1}), made.suites, 0.05)

    assert [(one.name, one.judgement) for one in found] == [
        ("target_power", PASS),
        ("guard_easy_power", PASS),
    ]
    assert 0.05 < named(found, "target_power").numbers["mde"] < 0.1
    assert ready(made.contract, made.suites, 0.05) == ()


def test_the_contract_for_many_nights_is_ready_on_its_suites() -> None:
    """What its budget leaves to each question suffices for the gain that it wants to see."""
    root = PROJECT / "contracts"
    contract = read("nightly/v1", root)
    suites = {name: load(name, pin, root, lambda ref: "text") for name, pin in contract.pins.items()}
    assert contract.budget is not None
    found = ready(contract, suites, contract.budget.level(1))

    assert [(one.name, one.judgement) for one in found] == [
        ("target_power", PASS),
        ("guard_easy_power", PASS),
    ]


def test_one_too_small_says_so_with_the_items_it_would_need(made: World) -> None:
    """Four points want some 760 items; a smaller alpha wants more; Holm over two tests makes guards stricter."""
    power = {"effect": 0.04}
    first = named(ready(saying(made, power=power), made.suites, 0.05), "target_power")
    later = named(ready(saying(made, power=power), made.suites, 0.001), "target_power")
    each, shared = (
        named(
            ready(saying(made, power=power, correction=how, anchor="genesis"), made.suites, 0.05),
            "guard_easy_power",
        )
        for how in ("none", "holm")
    )

    assert first.judgement is DOUBT and first.numbers["needed"] == pytest.approx(760, rel=0.03)
    assert "items needed; nothing was asked" in first.text
    assert later.numbers["needed"] > 1.8 * first.numbers["needed"]
    assert shared.numbers["power"] < each.numbers["power"]


def test_nothing_is_asked_of_a_suite_that_cannot_tell(made: World, tmp_path: Path) -> None:
    """Fewer items than the contract wants: the verdict has that clause alone, and no engine heard a question."""
    small = world(tmp_path / "contracts", per_label=3, easy=200, min_label_items=4)
    scripted = engine(routes_right(1), answers_right(3))
    home = Home(tmp_path / "home")
    verdict = gate(
        home,
        "made/v1",
        Contest(CHAMPION, CANDIDATE),
        Means(scripted, harness_of),
        Unrecorded(),
        night="2026-10-01",
        contracts=small.root,
    )
    certificate = Certificate.parse((home.verdicts / verdict.digest / "certificate.json").read_bytes())

    assert scripted.asked == []
    assert {one.name: one.judgement for one in verdict.clauses} == {
        "target_size": DOUBT,
        "target_labels": DOUBT,
    }
    assert "routing/v1 has 12 items, at least 200 needed" in verdict.clauses[0].text
    assert verdict.judgement is DOUBT
    assert (certificate.n, certificate.p, certificate.spent, certificate.verdict) == (
        0,
        None,
        0.0,
        verdict.digest,
    )
    assert "Target: enough items" in (home.verdicts / verdict.digest / "card.md").read_text()


def moody(text: str, heard: Counter[str]) -> str:
    """A router that is wrong where it was right when it hears a request again."""
    heard[text] += 1
    return OLD_ROUTES(text) if heard[text] == 1 else "chat" if not text.endswith("L0") else "ui"


@pytest.mark.parametrize(
    ("wanted", "steady", "expected"),
    [
        ({"items": 200}, True, PASS),
        ({"items": 200, "max_flips": 0.05}, False, DOUBT),
        ({"items": 60}, False, DOUBT),
    ],
)
def test_a_gain_must_rise_above_the_champions_own_noise(
    made: World, wanted: dict[str, float], steady: bool, expected: Judgement
) -> None:
    """A steady champion has a floor near nothing; one that changes a quarter of its results cannot be compared."""
    heard: Counter[str] = Counter()
    routes = OLD_ROUTES if steady else lambda text: moody(text, heard)
    scripted = ScriptedEngine(
        {"L0-old": routes, "L0-new": routes_right(1)}, {"L0-old": OLD_ANSWERS, "L0-new": answers_right(3)}
    )
    contract = saying(made, noise=wanted)
    noise = Noise.model_validate(wanted)
    card = evaluate(contract, made.suites, Contest(CHAMPION, CANDIDATE), Means(scripted, harness_of))
    first = card.of("routing/v1")
    itself = measure(
        contract,
        made.suites,
        first,
        5,
        lambda some: evaluate(contract, some, Contest(CHAMPION, CHAMPION), Means(scripted, harness_of)),
    )
    verdict = judge(contract, card, "n", "L0", itself=itself)
    clause = named(verdict.clauses, "target_noise")

    assert (clause.judgement, clause.numbers["n"]) == (expected, wanted["items"])
    assert (clause.numbers["flips"] == 0) == steady
    same = floor(itself, itself, noise, Assume.AGAINST)
    assert same.judgement is DOUBT, "what the champion gains over itself is no gain"


def test_a_noise_floor_that_was_not_measured_cannot_tell(made: World) -> None:
    """Forgetting to ask twice is not a pass."""
    contract = saying(made, noise={"items": 50})
    card = evaluate(
        contract,
        made.suites,
        Contest(CHAMPION, CANDIDATE),
        Means(engine(routes_right(1), answers_right(3)), harness_of),
    )

    assert named(judge(contract, card, "n", "L0").clauses, "target_noise").judgement is DOUBT


def test_the_gate_measures_the_floor_itself(made: World, tmp_path: Path) -> None:
    """Asked of the champion alone, and told on the card."""
    import tomlkit

    root = world(tmp_path / "contracts", 50).root
    path = root / "gate/made/v1.toml"
    path.write_text(path.read_text() + "\n" + tomlkit.dumps({"noise": {"items": 80}}))
    scripted = engine(routes_right(1), answers_right(3))
    verdict = gate(
        Home(tmp_path / "h"),
        "made/v1",
        Contest(CHAMPION, CANDIDATE),
        Means(scripted, harness_of),
        Unrecorded(),
        night="n",
        contracts=root,
    )
    asked = [adapter for adapter, text in scripted.asked if text.startswith("request")]

    assert named(verdict.clauses, "target_noise").numbers["flips"] == 0
    assert (asked.count("L0-old"), asked.count("L0-new")) == (280, 200)
    assert verdict.judgement is PASS


def losing(made: World, count: int, correction: str) -> Verdict:
    """A candidate that forgot some facts, against the champion and as many against the anchor."""
    lost = [n for n in range(150) if n % 5 < 3][:count]
    new = engine(routes_right(1), lambda text: "?" if number(text) in lost else OLD_ANSWERS(text))
    contract = saying(made, correction=correction, anchor="genesis")
    genesis = CHAMPION.model_copy(update={"adapters": {}})
    card = evaluate(contract, made.suites, Contest(CHAMPION, CANDIDATE, genesis), Means(new, harness_of))
    return judge(contract, card, "n", "L0")


def test_holm_holds_guards_to_a_stricter_level(made: World) -> None:
    """Two tests at p just below 0.05: each alone is shown, both together at 0.05 are not."""
    ps = {k: noninferior(0, k, 150, 0.08).p for k in range(9)}
    close = max(k for k, p in ps.items() if p < 0.05)
    safe = max(k for k, p in ps.items() if p < 0.025)
    assert ps[close] > 0.025
    strict = losing(made, close, "holm")
    clause = named(strict.clauses, "guard_easy_anchor")

    assert named(losing(made, close, "none").clauses, "guard_easy_anchor").judgement is PASS
    assert (clause.judgement, clause.numbers["p_holm"]) == (DOUBT, pytest.approx(2 * ps[close], rel=1e-4))
    assert "after Holm over 2 tests" in clause.text
    assert named(losing(made, safe, "holm").clauses, "guard_easy_anchor").judgement is PASS


BROKEN = [
    ({"budget": {"items": "reused", "questions": 5}}, "accepts belongs to reused items"),
    ({"budget": {"items": "fresh", "questions": 5, "accepts": 1}}, "accepts belongs to reused items"),
    ({"budget": {"items": "reused", "questions": 2, "accepts": 3}}, "more than questions"),
    (
        {"budget": {"items": "reused", "questions": 2, "accepts": 1, "spending": "harmonic"}},
        "spending is for fresh",
    ),
    ({"budget": {"items": "stale", "questions": 2}}, "budget.items"),
    ({"power": {"effect": 0.3}}, "no gain is larger than that"),
    ({"noise": {"items": 3}}, "noise.items"),
    ({"correction": "bonferroni"}, "correction"),
]


@pytest.mark.parametrize(("tables", "says"), BROKEN)
def test_a_table_that_makes_no_sense_is_refused(made: World, tables: dict[str, object], says: str) -> None:
    """The message names what is wrong."""
    with pytest.raises(ValidationError) as refused:
        saying(made, **tables)

    assert says in str(refused.value) or says in ".".join(
        str(part) for part in refused.value.errors()[0]["loc"]
    )


def test_holm_wants_one_level_for_all_guards(made: World) -> None:
    """Guards that share a level must have one."""
    guards = [one.model_dump(by_alias=True) for one in made.contract.guards]
    other = {**guards[0], "suite": "other/v1", "alpha": 0.01}

    with pytest.raises(ValidationError, match="one alpha for all guards"):
        saying(made, correction="holm", guards=[*guards, other])


def test_a_contract_keeps_its_digest_when_it_says_nothing_new(made: World) -> None:
    """Tables that are absent leave no trace; one that is there does."""
    from rsi.ids import digest

    later = {"budget", "power", "noise", "correction", "order", "levels", "watch", "approval"}
    plain = made.contract.model_dump(mode="json", exclude=later | {"zero_tolerance", "hygiene", "judge"})
    assert made.contract.digest == digest(plain)
    assert saying(made, power={"effect": 0.1}).digest != made.contract.digest
