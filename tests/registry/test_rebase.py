"""A change put on another champion: what is left of it, and what ends when it fails there."""

import pytest

from rsi import rebase as module
from rsi.errors import RefusedError
from rsi.records import Judgement
from rsi.registry import versions
from rsi.registry.rebase import rebased
from tests import night_made
from tests.registry.asked import (
    DEPLOYMENT,
    ask,
    begin,
    candidate,
    in_service,
    kinds,
    move,
    passed,
    standing,
)


@pytest.mark.parametrize(("first", "second"), [("L0", "L1"), (None, "L0"), ("L0", None)])
def test_the_champion_gets_the_change_and_keeps_its_own(home, first, second):
    """Adapter on adapter, adapter on harness, harness on adapter."""
    begin(home)
    replaces, made, other = in_service(home), candidate(home, first, "a"), candidate(home, second, "b")
    move(home, other.digest)

    found = versions.load(home, rebased(home, replaces, made.digest, other.digest))

    assert found.parent == other.digest
    assert found.adapters == {**other.adapters, **made.adapters}
    assert found.harness == (made.harness if first is None else other.harness)


@pytest.mark.parametrize("role", ["L0", None])
def test_what_was_changed_in_between_is_not_overwritten(home, role):
    """The same role or the harness: the candidate has to be made again."""
    begin(home)
    replaces, made, other = in_service(home), candidate(home, role, "a"), candidate(home, role, "b")
    move(home, other.digest)

    with pytest.raises(RefusedError, match="was changed in between"):
        rebased(home, replaces, made.digest, other.digest)


def test_a_change_that_is_in_service_is_none(home):
    """Nothing is left to be gated."""
    begin(home)
    replaces, made = in_service(home), candidate(home, "L0", "a")
    with pytest.raises(RefusedError, match="has this change already"):
        rebased(home, made.digest, made.digest, replaces)


def test_what_does_not_pass_again_is_over(home, tiny_base, monkeypatch):
    """Written down with the judgement; no new request, and it is not gated a third time."""
    begin(home)
    verdict = passed(home, "L0", "a")
    ask(home, verdict)
    move(home, candidate(home, "L1", "b").digest)
    failed = passed(home, "L0", "a").model_copy(update={"judgement": Judgement.FAIL})
    monkeypatch.setattr(module, "judge", lambda *_: failed.digest)
    monkeypatch.setattr(module.approval, "verdict", lambda *_: failed)
    world = night_made.world(tiny_base)

    ending = module.rebase(home, DEPLOYMENT, world, verdict.digest)

    assert (ending.judgement, kinds(home)[-1]) == ("fail", "rebase")
    assert standing(home, verdict) == "rebased"
    with pytest.raises(RefusedError, match="is rebased; only a stale one"):
        module.rebase(home, DEPLOYMENT, world, verdict.digest)
