"""From verdict to service and back: approval, admission, proof of effect, compare-and-swap."""

import shutil
from dataclasses import replace

import pytest

from rsi.context import Context, Start
from rsi.engine.publish import EngineReplica
from rsi.errors import ContractError, IntegrityError, QuietError, RefusedError
from rsi.gate.stage import judge
from rsi.harness import hcp
from rsi.rebase import rebase
from rsi.records import Approval, Decision, Judgement
from rsi.registry import adapters, approval, champion, versions
from rsi.registry.lineage import lineage
from rsi.registry.promote import promote, rollback
from rsi.registry.verify import verify
from rsi.settings import Home
from rsi.store.ledger import Ledger
from rsi.store.locks import hold
from tests import night_made
from tests.fakes import Taught
from tests.made import FixedClock, router


@pytest.fixture(scope="module")
def gated(tmp_path_factory, tiny_base):
    """A home with a candidate that has a trained adapter and a passed verdict, and one that waits for an answer."""
    root = tmp_path_factory.mktemp("promotion")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RSI_CONTRACTS", str(night_made.contracts(root / "contracts")))
        home = night_made.make_home(root / "home", tiny_base)
        ending = night_made.run_night(home, tiny_base, taught=True)
        assert ending.judgement == "pass", ending.reason
        yield home, ending.verdict


@pytest.fixture
def ready(gated, tmp_path, monkeypatch):
    """A copy of that home to break."""
    home, verdict = gated
    copy = Home(tmp_path / "home")
    shutil.copytree(home.root, copy.root)
    monkeypatch.setenv("RSI_CONTRACTS", str(home.root.parent / "contracts"))
    return copy, verdict


def said(verdict: str, decision: Decision = Decision.APPROVE, approver: str = "ada") -> Approval:
    """An answer."""
    return Approval(
        verdict=verdict, decision=decision, approver=approver, reason="looks right", via="command"
    )


def answer(home: Home, base, verdict: str, clock: FixedClock | None = None, **how):
    """Give it, with the right digits unless told otherwise."""
    evidence = how.pop("evidence", verdict[:8])
    clock = clock or FixedClock()
    return approval.answer(home, clock, night_made.settings(base), said(verdict, **how), evidence)


def put(home: Home, base, verdict: str):
    """Promote with an engine of its own."""
    replica = EngineReplica(night_made.world(base).engine())
    return promote(home, FixedClock(), verdict, [replica], base)


def back(home: Home, base, to: str | None = None):
    """Roll back with an engine of its own."""
    replica = EngineReplica(night_made.world(base).engine())
    return rollback(home, FixedClock(), to, "ada", "too slow", [replica], base)


def kinds(home: Home) -> list[str]:
    """What the ledger says, in order."""
    return [one.kind for one in Ledger(home.ledger, FixedClock())]


def test_an_approved_candidate_goes_into_service_and_comes_back(ready, tiny_base):
    """Promotion, lineage down to the traces, rollback, and every invariant after each."""
    home, verdict = ready
    ledger = Ledger(home.ledger, FixedClock())
    genesis = champion.current(ledger)
    answer(home, tiny_base, verdict)

    record = put(home, tiny_base, verdict)

    assert champion.current(ledger) == record.output != genesis
    (effects,) = record.body["effects"].values()
    assert effects[0][0] > 1e-3, "the adapter acts"
    assert effects[0][1] < 0.05, "as training measured"
    steps = lineage(home, ledger, str(record.output))
    assert (steps[0].approver, steps[0].tasks, len(steps[0].traces), steps[1].version) == (
        "ada",
        16,
        16,
        genesis,
    )
    assert verify(home, FixedClock()).findings == ()

    back(home, tiny_base)

    assert champion.current(ledger) == genesis
    assert verify(home, FixedClock()).findings == ()
    again = back(home, tiny_base, str(record.output))
    assert champion.current(ledger) == again.output == record.output


def test_without_approval_nothing_is_promoted(ready, tiny_base):
    """The champion stays and the way out is named."""
    home, verdict = ready

    with pytest.raises(RefusedError, match="has no approval"):
        put(home, tiny_base, verdict)
    assert "promotion" not in kinds(home)


def test_promoting_twice_is_promoting_once(ready, tiny_base):
    """The second call finds the record."""
    home, verdict = ready
    answer(home, tiny_base, verdict)

    assert put(home, tiny_base, verdict) == put(home, tiny_base, verdict)
    assert kinds(home).count("promotion") == 1


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ({"evidence": "00000000"}, "does not begin with"),
        ({"evidence": ""}, "does not begin with"),
        ({"evidence": " " * 8}, "does not begin with"),
        ({"approver": "  "}, "needs the approver's name"),
    ],
)
def test_a_refused_answer_says_why_and_is_kept(ready, tiny_base, how, why):
    """A ledger row of its own; the request still waits."""
    home, verdict = ready

    with pytest.raises(RefusedError, match=why):
        answer(home, tiny_base, verdict, **how)
    assert kinds(home)[-1] == "refusal"
    clock = FixedClock()
    assert [one.verdict for one in approval.waiting(Ledger(home.ledger, clock), clock.now())] == [verdict]


def test_only_named_approvers_may_answer(ready, tiny_base):
    """Where the deployment names them."""
    home, verdict = ready
    deployment = night_made.settings(tiny_base).model_copy(update={"approvers": ("grace",)})

    with pytest.raises(RefusedError, match="'ada' may not answer here"):
        approval.answer(home, FixedClock(), deployment, said(verdict), verdict[:8])


def test_one_decision_a_verdict(ready, tiny_base):
    """The same answer again is the same record; another one is refused."""
    home, verdict = ready
    first = answer(home, tiny_base, verdict, decision=Decision.REJECT)

    assert answer(home, tiny_base, verdict, decision=Decision.REJECT) == first
    with pytest.raises(RefusedError, match="was decided already: reject by ada"):
        answer(home, tiny_base, verdict)
    with pytest.raises(RefusedError, match="has no approval"):
        put(home, tiny_base, verdict)


def test_an_expired_request_cannot_be_approved(ready, tiny_base):
    """Days later the gate has to run again."""
    home, verdict = ready
    late = FixedClock()
    late.move(days=8)

    with pytest.raises(RefusedError, match="expired"):
        answer(home, tiny_base, verdict, late)


def harness_candidate(home: Home, base, text: str):
    """A version that differs from the champion in its route text, gated; its verdict."""
    ledger = Ledger(home.ledger, FixedClock())
    now = champion.current(ledger)
    before = versions.load(home, now)
    changed = router().model_copy(update={"prompts": router().prompts.model_copy(update={"route": text})})
    made = before.model_copy(update={"harness": hcp.store(home.harnesses, changed), "parent": now})
    candidate = versions.save(home, made)
    deployment = night_made.settings(base)
    start = Start(night="2026-01-05", champion=now, ordinal=0, deployment=deployment.digest, previous=None)
    name = judge(Context(home, deployment, night_made.world(base, taught=True), start), candidate)
    found = approval.verdict(home, name)
    assert found.judgement is Judgement.PASS
    assert found.role is None
    approval.open_request(home, FixedClock(), deployment, found)
    return candidate, name


def test_a_version_that_changes_the_harness_only_goes_the_whole_way(ready, tiny_base):
    """Gate, approval, promotion and rollback, with no adapter to publish."""
    home, _ = ready
    ledger = Ledger(home.ledger, FixedClock())
    genesis = champion.current(ledger)
    candidate, verdict = harness_candidate(home, tiny_base, "Another text: chat, do, code or app?")
    answer(home, tiny_base, verdict)

    record = put(home, tiny_base, verdict)

    assert champion.current(ledger) == candidate
    assert record.body["effects"] == {}
    assert versions.load(home, candidate).harness != versions.load(home, genesis).harness
    assert back(home, tiny_base).output == genesis
    assert verify(home, FixedClock()).findings == ()


def test_stale_evidence_is_refused(ready, tiny_base):
    """Another version went into service after the verdict: it compares with the past."""
    home, verdict = ready
    _, other = harness_candidate(home, tiny_base, "Something else: chat, do, code or app?")
    answer(home, tiny_base, other)
    put(home, tiny_base, other)

    with pytest.raises(RefusedError, match="stale evidence"):
        answer(home, tiny_base, verdict)
    assert kinds(home)[-1] == "refusal"


def test_an_adapter_that_does_not_act_is_not_promoted(ready, tiny_base):
    """An engine that answers with the base's numbers: refused, unloaded, champion unchanged."""
    home, verdict = ready
    answer(home, tiny_base, verdict)
    real = EngineReplica(night_made.world(tiny_base).engine())
    unloaded = []

    class Deaf(EngineReplica):
        """Accepts adapters and ignores them."""

        def __init__(self):
            pass

        def load(self, name, folder):
            pass

        def unload(self, name):
            unloaded.append(name)

        def probe(self, prompts, choices, adapter):
            return real.probe(prompts, choices, None)

    with pytest.raises(RefusedError, match="does not act"):
        promote(home, FixedClock(), verdict, [Deaf()], tiny_base)
    assert len(unloaded) == 1
    assert "promotion" not in kinds(home)


def test_a_promotion_needs_somewhere_to_publish(ready, tiny_base):
    """No engine: the message says how to start one."""
    home, verdict = ready
    answer(home, tiny_base, verdict)

    with pytest.raises(ContractError, match="rsi serve"):
        promote(home, FixedClock(), verdict, [], tiny_base)


def test_a_flipped_byte_of_an_adapter_is_found_and_named(ready, tiny_base):
    """`verify` names the file's folder, and promotion refuses it."""
    home, verdict = ready
    answer(home, tiny_base, verdict)
    name = adapters.names(home)[0]
    path = adapters.folder(home, name) / "adapter_model.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)

    findings = verify(home, FixedClock()).findings

    assert [one.invariant for one in findings] == ["I2"]
    assert str(path) in findings[0].text
    with pytest.raises(IntegrityError, match=name):
        put(home, tiny_base, verdict)


def test_a_version_that_was_never_in_service_cannot_be_rolled_back_to(ready, tiny_base):
    """Only an earlier champion comes back."""
    home, verdict = ready

    with pytest.raises(RefusedError, match="never in service"):
        back(home, tiny_base, approval.verdict(home, verdict).candidate)
    with pytest.raises(RefusedError, match="nothing to go back to"):
        back(home, tiny_base)


@pytest.mark.parametrize("point", ["approval.before_record", "promote.before_record", "promote.after_record"])
def test_a_failure_around_a_promotion_ends_in_exactly_one(ready, tiny_base, point, monkeypatch):
    """Broken off at the point and run again: one approval, one promotion."""
    from rsi import faults

    home, verdict = ready
    faults._reached.clear()
    monkeypatch.setenv("RSI_FAULT", f"{point}:enospc")
    with pytest.raises(OSError, match="No space"):
        answer(home, tiny_base, verdict)
        put(home, tiny_base, verdict)
    monkeypatch.delenv("RSI_FAULT")

    answer(home, tiny_base, verdict)
    put(home, tiny_base, verdict)

    assert (kinds(home).count("approval"), kinds(home).count("promotion")) == (1, 1)
    assert verify(home, FixedClock()).findings == ()


def test_a_pointer_that_was_not_written_is_made_from_the_ledger(ready, tiny_base):
    """The process died between ledger and pointer: `verify` notices, the next rollback starts from the ledger."""
    home, verdict = ready
    before = home.champion.read_bytes()
    answer(home, tiny_base, verdict)
    record = put(home, tiny_base, verdict)
    after = home.champion.read_bytes()
    home.champion.write_bytes(before)

    assert [one.invariant for one in verify(home, FixedClock()).findings] == ["I1"]
    assert champion.point(home, FixedClock()) == record.output
    assert home.champion.read_bytes() == after != before


def test_what_was_rolled_back_is_not_promoted_again_by_its_old_verdict(ready, tiny_base):
    """The second call would say something false otherwise."""
    home, verdict = ready
    answer(home, tiny_base, verdict)
    put(home, tiny_base, verdict)
    back(home, tiny_base)

    with pytest.raises(RefusedError, match="was promoted before"):
        put(home, tiny_base, verdict)


def test_a_candidate_of_another_parent_is_not_gated(ready, tiny_base):
    """Promoting it would silently undo the version between."""
    home, verdict = ready
    candidate, _ = harness_candidate(home, tiny_base, "A third text: chat, do, code or app?")
    answer(home, tiny_base, verdict)
    put(home, tiny_base, verdict)
    now = champion.current(Ledger(home.ledger, FixedClock()))
    deployment = night_made.settings(tiny_base)
    start = Start(night="2026-01-06", champion=now, ordinal=0, deployment=deployment.digest, previous=None)

    with pytest.raises(RefusedError, match="was made from"):
        judge(Context(home, deployment, night_made.world(tiny_base), start), candidate)


def test_a_scorecard_that_changed_is_found(ready):
    """It is what the verdict stands on."""
    home, verdict = ready
    (home.verdicts / verdict / "scorecard.json").write_text("{}")

    assert "scorecard.json" in verify(home, FixedClock()).findings[0].text


class OnlyAdapters(Taught):
    """Another route text alone teaches nothing."""

    def choose(self, prompts, choices, adapter):
        """What was taught, where an adapter answers."""
        return super().choose(prompts, choices, adapter) if adapter else self._real.choose(prompts, choices, None)


def test_a_stale_request_is_gated_again_asked_about_and_promoted(ready, tiny_base):
    """A change of the harness went into service while the night's adapter waited: both end in one version."""
    home, verdict = ready
    clock, deployment = FixedClock(), night_made.settings(tiny_base)
    engine = OnlyAdapters(night_made.world(tiny_base).engine(), night_made.HELD_OUT)
    world = replace(night_made.world(tiny_base), engine=lambda: engine)
    with pytest.raises(RefusedError, match="is open; only a stale one"):
        rebase(home, deployment, world, verdict)
    other, second = harness_candidate(home, tiny_base, "Another text: chat, do, code or app?")
    answer(home, tiny_base, second)
    put(home, tiny_base, second)
    with hold(home.night_lock, "night 2026-01-03", "now"), pytest.raises(QuietError, match="2026-01-03"):
        rebase(home, deployment, world, verdict)

    ending = rebase(home, deployment, world, verdict)

    assert ending.judgement == "pass", ending.reason
    old, _, new = approval.requests(Ledger(home.ledger, clock))
    assert (old.standing(clock.now(), other).value, new.verdict) == ("rebased", ending.verdict)
    assert new.standing(clock.now(), other) is approval.Standing.OPEN
    card = (home.verdicts / ending.verdict / "card.md").read_text()
    assert "## Bank" in card and "adapter of L0" in card
    answer(home, tiny_base, new.verdict)
    now = versions.load(home, str(put(home, tiny_base, new.verdict).output))
    assert now.harness == versions.load(home, other).harness
    assert list(now.adapters) == ["L0"]
    assert verify(home, FixedClock()).findings == ()
