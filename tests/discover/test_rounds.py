"""Modes over the rounds of an agent that improves itself: recorded ALFWorld runs of Reflexion."""

from collections import Counter
from collections.abc import Mapping
from functools import cache

import orjson
import pytest
from scipy.stats import fisher_exact

from rsi.discover.facts import TraceFacts
from rsi.discover.modes import Before, Mined, mine
from rsi.discover.places import Place
from rsi.records import Modes, ModeStatus
from tests.discover.facts_made import facts, score
from tests.traces.inputs import SHARED

FOLDER = SHARED / "reflexion" / "alfworld_reflexion"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no shared trace files in {FOLDER}")
ROUNDS = 15
KINDS = {
    "desklamp": "examine",
    "second": "put two",
    "clean": "clean",
    "heat": "heat",
    "cool": "cool",
    "put": "put",
}
"""Word of a reflection -> what the household task is; the first that the first one has decides."""


@cache
def rounds() -> tuple[tuple[dict[str, object], ...], ...]:
    return tuple(
        tuple(orjson.loads((FOLDER / f"env_results_trial_{number:02d}.json").read_bytes()))
        for number in range(ROUNDS)
    )


def reflections(environment: int) -> list[str]:
    """What the agent wrote down of an environment, over all rounds."""
    return rounds()[-1][environment]["memory"]  # type: ignore[return-value]


@cache
def kind(environment: int) -> str:
    """What is to be done there; only agents that failed once wrote it down."""
    for said in reflections(environment):
        for word, name in KINDS.items():
            if word in said.lower():
                return name
    return "not told"


def uid(number: int, environment: int) -> str:
    return f"r{number:02d}-e{environment:03d}"


def run(number: int, environment: int, name: str) -> TraceFacts:
    """A run of a round as a trace: the round is the version, success the score."""
    passed = bool(rounds()[number][environment]["is_success"])
    said = (score(name, float(passed), source="environment"),)
    outcome = "pass" if passed else "fail"
    return facts(
        uid(number, environment), version=f"round {number:02d}", outcome=outcome, decided_by=name, scores=said,
        start_ns=1 + number,
    )  # fmt: skip


def texts(wanted: object) -> Mapping[str, str]:
    """The reflection that followed a failed run."""
    found = {}
    for trace in wanted:  # type: ignore[attr-defined]
        number, environment = int(trace[1:3]), int(trace[5:])
        found[trace] = reflections(environment)[number]
    return found


@cache
def nights(by_kind: bool) -> tuple[Mined, ...]:
    """One night a round, each with what came before."""
    traces: list[TraceFacts] = []
    places: dict[str, Place] = {}
    previous: Modes | None = None
    found = []
    for number in range(ROUNDS):
        names = [kind(one) if by_kind else "success" for one in range(len(rounds()[0]))]
        new = [run(number, one, name) for one, name in enumerate(names)]
        traces += new
        places |= {one.trace_uid: Place(number + 1, f"{number}") for one in new}
        before = Before(f"2026-01-{number + 1:02d}", f"round {number:02d}", number + 1, previous)
        found.append(mine(traces, before, places, texts))
        previous = found[-1].modes
    return tuple(found)


def fixed_in(by_kind: bool) -> dict[str, int]:
    """Mode -> the round in which it was fixed, by what discover says."""
    first: dict[str, int] = {}
    for number, mined in enumerate(nights(by_kind)):
        for mode in mined.modes.modes:
            if mode.status is ModeStatus.FIXED:
                first.setdefault(mode.signature.split(":")[1], number)
    return first


def counted(by_kind: bool) -> dict[str, int]:
    """The same from the files alone: the first round with at most half the failures of round 0 or of one of the
    four before it, and fewer by Fisher's exact test, of kinds with five environments or more."""
    failed = [Counter[str]() for _ in range(ROUNDS)]
    names = [kind(one) if by_kind else "success" for one in range(len(rounds()[0]))]
    for number, results in enumerate(rounds()):
        for name, one in zip(names, results, strict=True):
            failed[number][name] += not one["is_success"]
    first: dict[str, int] = {}
    for name, total in Counter(names).items():
        for number in range(1, ROUNDS):
            before = [failed[one][name] for one in range(number) if one == 0 or one >= number - 4]
            now = failed[number][name]
            for then in before:
                table = [[now, total - now], [then, total - then]]
                p = fisher_exact(table, alternative="less").pvalue
                if total >= 5 and 2 * now <= then and p <= 0.02 / len(before):
                    first.setdefault(name, number)
    return first


def test_modes_are_fixed_in_the_rounds_in_which_they_were_solved() -> None:
    """For each kind of household task, and for all together, as counted from the files."""
    kinds, whole = fixed_in(by_kind=True), fixed_in(by_kind=False)
    sizes = Counter(kind(one) for one in range(len(rounds()[0])))
    print(
        {name: f"round {number} ({sizes[name]} environments)" for name, number in sorted(kinds.items())},
        whole,
    )
    assert kinds == counted(by_kind=True)
    assert whole == counted(by_kind=False)
    assert len(kinds) >= 5
    assert len(set(kinds.values())) > 2


def test_what_is_fixed_stays_so_while_the_agent_gets_better() -> None:
    """No round brings a mode back, and in the last round nothing fails."""
    for by_kind in (True, False):
        for mined in nights(by_kind):
            assert all(one.status is not ModeStatus.REGRESSED for one in mined.modes.modes)
        for one in nights(by_kind)[-1].modes.modes:
            last = [cell for cell in one.history if cell.version == "round 14"]
            assert sum(cell.hits for cell in last) == 0


def test_topics_tell_kinds_of_tasks_apart() -> None:
    """From the words of the reflections alone, within the one signature that there is; and they keep their ids."""
    last, before = nights(by_kind=False)[-1].modes.modes[0], nights(by_kind=False)[-2].modes.modes[0]
    agreeing = 0
    for topic in last.topics:
        kinds = Counter(kind(int(trace[5:])) for trace in topic.members)
        print(topic.topic_id, topic.count, topic.terms, dict(kinds))
        agreeing += kinds.most_common(1)[0][1]
    assert len(last.topics) >= 3
    assert agreeing >= 0.8 * sum(len(topic.members) for topic in last.topics)
    assert {one.topic_id for one in before.topics} <= {one.topic_id for one in last.topics}
