"""The watch after a promotion: live failures of the new version against those of the one before it."""

import shutil
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rsi.context import Context, Start
from rsi.engine.publish import EngineReplica
from rsi.errors import ContractError, IntegrityError, QuietError, RefusedError
from rsi.gate import lock
from rsi.gate.contract import read
from rsi.gate.examiner import Process
from rsi.gate.stage import judge
from rsi.gate.terms import Unjudged, Watch, Worse
from rsi.gate.watch import compare, watch
from rsi.harness import hcp
from rsi.ids import Night
from rsi.night import begin
from rsi.questions import Arm, State, Watched
from rsi.rebase import rebase
from rsi.records import Approval, Decision
from rsi.registry import approval, champion, versions
from rsi.registry.promote import go_back, promote, rollback
from rsi.registry.verify import verify
from rsi.settings import PROJECT, Home
from rsi.store.ledger import Ledger
from rsi.store.snapshot import open_snapshot, refresh
from rsi.traces.ingest import ingest
from tests import night_made
from tests.made import FixedClock, router

RULE = "[watch]\nmin_conversations = 20\nlooks = 3\nalpha = 0.06\nrise = 0.05\n"
PROMOTED = "2026-01-02T02:00:00+00:00"


@pytest.fixture(scope="module")
def promoted(tmp_path_factory, tiny_base):
    """A home in which a version with another route text was gated, approved and promoted under a contract."""
    root = tmp_path_factory.mktemp("watch")
    night_made.contracts(root / "contracts")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RSI_CONTRACTS", str(root / "contracts"))
        home = night_made.make_home(root / "home", tiny_base)
        shutil.rmtree(home.inbox)
        now = champion.current(Ledger(home.ledger, FixedClock()))
        text = router().prompts.model_copy(update={"route": "Another text: chat, do, code or app?"})
        harness = hcp.store(home.harnesses, router().model_copy(update={"prompts": text}))
        made = versions.load(home, now).model_copy(update={"harness": harness, "parent": now})
        deployment = night_made.settings(tiny_base)
        start = Start(
            night="2026-01-01", champion=now, ordinal=0, deployment=deployment.digest, previous=None
        )
        context = Context(home, deployment, night_made.world(tiny_base, taught=True), start)
        verdict = judge(context, versions.save(home, made))
        approval.open_request(home, FixedClock(), deployment, approval.verdict(home, verdict))
        answer(home, tiny_base, verdict)
        promote(home, FixedClock(), verdict, [EngineReplica(context.world.engine())], tiny_base)
        yield home


@pytest.fixture
def site(promoted, tmp_path, tiny_base, monkeypatch):
    """A copy of that home, whose contract has a watch rule."""
    root = promoted.root.parent
    shutil.copytree(root / "contracts", tmp_path / "contracts")
    shutil.copytree(promoted.root, tmp_path / "home")
    monkeypatch.setenv("RSI_CONTRACTS", str(tmp_path / "contracts"))
    return Site(Home(tmp_path / "home"), tiny_base)


def answer(home: Home, base, verdict: str, decision: Decision = Decision.APPROVE):
    """A person's answer."""
    said = Approval(verdict=verdict, decision=decision, approver="ada", reason="it got worse", via="command")
    return approval.answer(home, FixedClock(), night_made.settings(base), said, verdict[:8])


class Site:
    """The home, its traffic and its watch."""

    def __init__(self, home: Home, base) -> None:
        self.home, self.base, self.clock, self.files = home, base, FixedClock(), 0
        self.world = night_made.world(base, self.clock)
        self.contract = home.root.parent / "contracts" / "gate" / "tiny" / "v1.toml"
        self.rule(RULE)

    def rule(self, text: str) -> None:
        """Give the contract this watch rule."""
        self.contract.write_text(self.contract.read_text().split("[watch]")[0] + text)

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.home.ledger, self.clock)

    @property
    def now(self) -> str:
        """The version in service."""
        return champion.current(self.ledger)

    @property
    def before(self) -> str:
        """The first version."""
        return champion.genesis(self.ledger)

    def spool(self, version: str, good: int, bad: int, hours: float = 1.0, silent: int = 0, **more) -> None:
        """Put what the gateway would have written into the inbox: requests after the promotion, and feedback."""
        start = datetime.fromisoformat(PROMOTED).astimezone(UTC) + timedelta(hours=hours)
        at = int(start.timestamp()) * 10**9
        lines = []
        for number in range(good + bad + silent):
            name = f"{self.files}-{number}"
            trace = {
                "schema": "rsi.trace/1",
                "trace_id": name,
                "namespace": "tiny",
                "origin": "traffic",
                "version": version,
                "session": f"s-{name}",
                "start_ns": at,
                "end_ns": at + 10**6,
                "messages": [{"role": "user", "content": f"request {name}"}],
                "answer": {"content": "well", "finish_reason": "stop"},
                "error": None,
                "route": {"decision": "L0", "status": "ok"},
                "model": "auto",
                "usage": {"prompt_tokens": 3, "completion_tokens": 1},
            }
            lines.append({**trace, **more})
            if number < good + bad:
                lines.append(
                    {
                        "schema": "rsi.feedback/1",
                        "namespace": "tiny",
                        "trace_id": name,
                        "name": "route",
                        "score": float(number < good),
                        "correction": None,
                        "source": "end_user",
                        "comment": None,
                        "ts_ns": at + 10**7,
                    }
                )
        self.files += 1
        self.home.inbox.mkdir(exist_ok=True)
        path = self.home.inbox / f"{self.files}.ndjson"
        path.write_bytes(b"".join(orjson.dumps(one) + b"\n" for one in lines))

    def traffic(self, *asked, **how) -> None:
        """The same, ingested."""
        self.spool(*asked, **how)
        ingest(self.home, self.clock, [self.home.inbox], deployment=night_made.settings(self.base))

    def replicas(self) -> list[EngineReplica]:
        return [EngineReplica(self.world.engine())]

    def look(self, night: str = "2026-01-03") -> Watched:
        """What the watch says."""
        return watch(self.home, night_made.settings(self.base), self.world, night, self.replicas)

    def asked(self) -> list[str]:
        """Verdicts that a person was asked about after the promotion."""
        return [str(one.input) for one in self.ledger if one.kind == "request"][1:]

    def sound(self) -> bool:
        """Whether every invariant holds."""
        return verify(self.home, self.clock).findings == ()


def test_52_a_promoted_version_that_fails_more_is_proposed_to_go_back(site):
    """Next night: proposed, approved by a person, and the pointer names the older version: the way of a promotion."""
    worse = site.now
    site.spool(site.before, good=55, bad=5, hours=-5)
    site.spool(worse, good=30, bad=30)

    with pytest.raises(QuietError, match="a person was asked"):
        begin(site.home, night_made.settings(site.base), site.world, Night("2026-01-03"))

    (name,) = site.asked()
    found = approval.verdict(site.home, name)
    assert (found.champion, found.candidate, found.goes_back) == (worse, site.before, True)
    card = (site.home.verdicts / found.digest / "card.md").read_text()
    assert "50.0% of conversations failed" in card
    assert found.digest in card
    with pytest.raises(RefusedError, match="has no approval"):
        promote(site.home, site.clock, found.digest, site.replicas(), site.base)
    answer(site.home, site.base, found.digest)
    assert "approved going back" in site.look().reason

    record = promote(site.home, site.clock, found.digest, site.replicas(), site.base)

    assert (record.kind, record.output, site.now) == ("rollback", site.before, site.before)
    assert (record.body["actor"], record.body["reason"]) == ("ada", "it got worse")
    assert promote(site.home, site.clock, found.digest, site.replicas(), site.base) == record
    assert orjson.loads(site.home.champion.read_bytes())["version"] == site.before
    assert site.look().state is State.UNWATCHED
    assert site.sound()


def test_a_contract_may_have_the_rollback_performed(site):
    """Then its record names the contract as the actor and the counts as the reason."""
    site.rule(f'{RULE}worse = "perform"\n')
    worse = site.now
    site.spool(site.before, good=55, bad=5, hours=-5)
    site.traffic(worse, good=30, bad=30)

    found = site.look()

    record = champion.moves(site.ledger)[-1]
    assert (found.state, record.kind, site.now) == (State.BACK, "rollback", site.before)
    assert record.body["actor"] == "contract tiny/v1"
    assert "30 of 60 conversations failed" in str(record.body["reason"])
    assert site.asked() == []
    assert site.sound()
    refresh(site.home, site.clock)
    with open_snapshot(site.home) as snapshot:
        rows = snapshot.sql("select version, rate, rate_before, is_worse, actor from v_watch").fetchall()
        assert snapshot.sql("select verdict from v_versions where in_service").fetchall() == [(None,)]
    assert rows == [(worse, 0.5, 5 / 60, True, "contract tiny/v1")]


def test_a_performed_rollback_that_is_refused_asks_a_person(site):
    """The champion stays, and the reason is told."""
    site.rule(f'{RULE}worse = "perform"\n')
    worse = site.now
    site.spool(site.before, good=60, bad=0, hours=-5)
    site.traffic(worse, good=0, bad=60)

    def refuse():
        raise ContractError("the gateway answered 422: too large a rank")

    site.replicas = refuse
    found = site.look()

    assert (found.state, site.now) == (State.ASKED, worse)
    assert "was refused: the gateway answered 422" in found.reason
    assert site.asked() == [found.verdict]


def test_going_back_from_a_version_that_is_gone_is_not_gated(site):
    """A request about it is over once somebody rolled back by hand; it holds no change that could be gated again."""
    site.spool(site.before, good=60, bad=0, hours=-5)
    site.traffic(site.now, good=0, bad=60)
    verdict = site.look().verdict
    rollback(site.home, site.clock, site.before, "ada", "it is bad", site.replicas(), site.base)

    assert not approval.waiting(site.ledger, site.clock.now())
    with pytest.raises(RefusedError, match="about going back"):
        rebase(site.home, night_made.settings(site.base), site.world, verdict)


def test_the_gates_process_looks_where_it_is_apart(site, monkeypatch):
    """The loop has no contracts then, neither to look nor to know what follows."""
    command = ["env", f"RSI_CONTRACTS={site.contract.parents[2]}", sys.executable, "-m", "rsi.gate.worker"]
    site.world = replace(site.world, examiner=Process(command))
    monkeypatch.setenv("RSI_CONTRACTS", "/none/such")
    assert site.look().state is State.EARLY
    site.spool(site.before, good=60, bad=0, hours=-5)
    site.traffic(site.now, good=0, bad=60)

    found = site.look()

    assert (found.state, found.look.now.failed) == (State.ASKED, 60)
    assert site.asked() == [found.verdict]


def test_a_contract_that_was_changed_since_its_approval_does_not_watch(site):
    """Or whoever can write the file would have versions rolled back."""
    lock.approve(site.contract.parents[2], site.clock, "tiny/v1", "ada", "as it is")
    site.rule(f'{RULE}worse = "perform"\n')
    site.spool(site.before, good=60, bad=0, hours=-5)
    site.traffic(site.now, good=0, bad=60)

    with pytest.raises(IntegrityError, match="is not what ada approved"):
        site.look()


def test_a_verdict_of_the_gate_performs_nothing(site):
    """Only one over live failures may act without a person."""
    gated = champion.moves(site.ledger)[-1].input

    with pytest.raises(RefusedError, match="does not say that the champion fails more"):
        go_back(site.home, site.clock, gated, site.replicas(), site.base)


def test_a_version_that_does_as_well_stays_and_the_look_is_kept(site):
    """One ledger record a look, and none without enough that is new."""
    assert site.look().state is State.EARLY
    site.spool(site.before, good=50, bad=10, hours=-5)
    site.traffic(site.now, good=17, bad=3)

    assert site.look().state is State.GOOD
    assert "needs 40" in site.look().reason
    assert [one.body["look"] for one in site.ledger if one.kind == "watch"] == [1]
    assert site.asked() == []
    assert site.sound()


def test_looks_end(site):
    """Alpha is for so many; what is not found in them is not looked for."""
    site.rule(RULE.replace("looks = 3", "looks = 1"))
    site.spool(site.before, good=50, bad=10, hours=-5)
    site.traffic(site.now, good=17, bad=3)
    found = site.look()
    assert (found.state, found.look.look, found.look.alpha) == (State.GOOD, 1, 0.06)
    site.traffic(site.now, good=0, bad=100)

    assert site.look().state is State.OVER


def test_a_person_may_keep_it(site):
    """After a no the same promotion is not asked about again."""
    site.spool(site.before, good=60, bad=0, hours=-5)
    site.traffic(site.now, good=0, bad=30)
    found = site.look()
    answer(site.home, site.base, found.verdict, Decision.REJECT)

    assert site.look().state is State.KEPT
    assert "ada kept it" in site.look().reason


def test_an_unanswered_question_is_asked_again_with_new_evidence(site):
    """After it expired, and not before."""
    site.spool(site.before, good=60, bad=0, hours=-5)
    site.traffic(site.now, good=0, bad=30)
    first = site.look()
    assert site.look().verdict == first.verdict
    site.clock.move(days=8)
    assert site.look().state is State.EARLY
    site.traffic(site.now, good=0, bad=30)

    again = site.look()

    assert (again.state, again.look.look) == (State.ASKED, 2)
    assert again.verdict != first.verdict


def test_what_counts_is_said_by_the_contract(site):
    """Conversations, not traces; of this deployment's origins; since the promotion; silence as the rule says."""
    site.spool(site.before, good=20, bad=0, hours=-5)
    site.spool(site.before, good=0, bad=40, hours=-24 * 40)
    site.spool(site.now, good=0, bad=40, origin="probe")
    site.spool(site.now, good=0, bad=40, hours=-1)
    site.spool(site.now, good=0, bad=0, silent=30)
    site.traffic(site.now, good=0, bad=9, session="one long conversation")
    assert "1 conversations counted since its promotion, 20 of" in site.look().reason

    site.rule(f'{RULE}unjudged = "passed"\n')
    found = site.look().look
    assert (found.now.counted, found.now.failed, found.before.failed) == (31, 1, 0)


def test_without_a_rule_nothing_is_watched(site):
    """The contract keeps the digest that it had before contracts could say this."""
    with_rule = read("tiny/v1").digest
    site.rule("")

    assert site.look().state is State.UNWATCHED
    assert read("tiny/v1").digest != with_rule
    assert read("tiny/v1").digest == champion_contract(site)


def champion_contract(site) -> str:
    """Digest of the contract that the champion was promoted under."""
    return approval.verdict(site.home, champion.moves(site.ledger)[-1].input).contract_digest


@settings(max_examples=40)
@given(st.integers(10, 300), st.integers(10, 300), st.data())
def test_more_failures_are_never_better(now: int, before: int, data: st.DataObject) -> None:
    """One failure more now, or one fewer before, does not make a bad version good."""
    failed, past = data.draw(st.integers(0, now - 1)), data.draw(st.integers(1, before))
    contract = read("demo/v1", PROJECT / "contracts")
    rule = Watch(looks=1, alpha=0.05, rise=0.0)

    def look(failed: int, past: int):
        return compare(contract, rule, arm("a", now, failed), arm("b", before, past), 1)

    here = look(failed, past)
    assert here.low <= here.now.rate - here.before.rate <= here.high
    for there in (look(failed + 1, past), look(failed, past - 1)):
        assert there.p <= here.p + 1e-9
        assert there.worse or not here.worse


def arm(version: str, counted: int, failed: int) -> Arm:
    """Counts."""
    return Arm(version=version, conversations=counted, counted=counted, failed=failed)


def test_a_version_that_is_no_worse_is_seldom_called_so():
    """Over all looks together, at most alpha: 10 looks at growing samples with one rate of failures."""
    import random

    draw, contract = random.Random(7), read("demo/v1", PROJECT / "contracts")
    rule = Watch(looks=10, alpha=0.05, rise=0.0)
    alarms = 0
    for _ in range(200):
        past, failed = sum(draw.random() < 0.2 for _ in range(300)), 0
        for number in range(1, 11):
            failed += sum(draw.random() < 0.2 for _ in range(50))
            if compare(contract, rule, arm("a", 50 * number, failed), arm("b", 300, past), number).worse:
                alarms += 1
                break
    assert alarms <= 10


def test_the_terms_have_words():
    """What the file says is what the rule is."""
    assert Watch.model_validate({"worse": "perform"}).worse is Worse.PERFORM
    assert Watch.model_validate({"unjudged": "passed"}).unjudged is Unjudged.PASSED
