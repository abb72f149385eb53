"""A gate that was killed asks the rest only, and comes to the same verdict."""

import ast
import os
import signal

import orjson

from rsi.gate.bench import Bench
from rsi.gate.contest import Contest, Means
from rsi.gate.gate import gate, open_scorecard
from rsi.gate.kept import Kept
from rsi.gate.questions import Question
from rsi.records import ChatMessage
from tests.disk import killed
from tests.gate import made
from tests.gate.made import Unrecorded


def judge(world, home, engine):
    """The gate on one candidate."""
    return gate(
        home, "made/v1", Contest(made.CHAMPION, made.CANDIDATE), Means(engine, made.harness_of), Unrecorded(),
        night="2026-01-02", contracts=world.root,
    )  # fmt: skip


def test_a_killed_gate_goes_on_where_it_was(tmp_path, home):
    """Each question once over both runs; scorecard and verdict are those of a run in one piece."""
    world = made.world(tmp_path / "contracts", per_label=10, easy=150, min_items=1)
    whole = made.engine(made.routes_right(1), made.OLD_ANSWERS)
    before = judge(world, type(home)(tmp_path / "other"), whole)
    dying = made.engine(made.routes_right(1), made.OLD_ANSWERS)

    def die(adapter, text):
        if len(dying.asked) > 60:
            (tmp_path / "asked").write_text(repr(dying.asked))
            os.kill(os.getpid(), signal.SIGKILL)

    dying.fail = die
    assert killed(lambda: judge(world, home, dying))
    asked = ast.literal_eval((tmp_path / "asked").read_text())
    assert len(asked) > 60
    assert [path.suffix for path in (home.heldout / "asked").iterdir()] == [".ndjson"]

    going = made.engine(made.routes_right(1), made.OLD_ANSWERS)
    after = judge(world, home, going)

    assert after.digest == before.digest
    assert open_scorecard(home, after).digest == before.scorecard
    took = orjson.loads((home.verdicts / after.digest / "took.json").read_bytes())
    assert [took[suite][arm]["answers"] for suite in took for arm in took[suite]] == [150, 150, 40, 40]
    assert all(arm["seconds"] > 0 for suite in took.values() for arm in suite.values()), "of both runs"
    assert 0 < len(going.asked) < len(whole.asked)
    assert set(asked) | set(going.asked) == set(whole.asked)
    assert not list((home.heldout / "asked").iterdir()), "nothing stays of it when the verdict lies there"


def test_a_reply_is_another_one_for_another_base_adapter_cap_or_seed(tmp_path):
    """A line that was cut in writing counts as never written; errors are asked again."""
    engine = made.engine(made.routes_right(1), made.OLD_ANSWERS)
    question = Question("L0-old", (ChatMessage(role="user", content="question 1 please"),), max_tokens=8)
    bench = Bench(engine, kept=Kept(tmp_path / "kept.ndjson", made.BASE))
    (said,) = bench.ask([question])
    engine.fail = lambda adapter, text: RuntimeError("broke")
    assert bench.ask([question._replace(max_tokens=9)])[0].error
    with (tmp_path / "kept.ndjson").open("ab") as file:
        file.write(b'["cut')

    again = Kept(tmp_path / "kept.ndjson", made.BASE)

    assert again.of(question) == said
    others = ({"adapter": None}, {"max_tokens": 9}, {"seed": 1}, {"temperature": 1.0}, {"words": ("a",)})
    assert [again.of(question._replace(**other)) for other in others] == [None] * len(others)
    assert Kept(tmp_path / "kept.ndjson", "c" * 64).of(question) is None
    again.add([(question._replace(seed=2), said)])
    assert Kept(tmp_path / "kept.ndjson", made.BASE).of(question._replace(seed=2)) == said
