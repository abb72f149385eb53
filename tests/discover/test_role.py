"""What to train tonight."""

import pytest

from rsi.discover.role import choose, role_of, roles_before
from rsi.errors import QuietError
from rsi.records import Blame, FailureMode, LedgerRecord, Modes, ModeStatus
from rsi.settings import NightRules

FREE = NightRules()


def mode(
    name: str, priority: float, *, kind: str = "tool_error", by: str = "L1", **more: object
) -> FailureMode:
    return FailureMode(
        mode_id=name, signature=f"{kind}:{name}", kind=kind, title=f"title of {name}", count=3, opportunities=4,
        rate=0.75, low=0.3, high=0.95, rank=1, priority=priority, examples=(), first_seen="n",
        status=ModeStatus.ONGOING, answered_by={by: 3} if by else {},
    ).model_copy(update=more)  # fmt: skip


def night(*modes: FailureMode) -> Modes:
    return Modes(night="n", traces=10, failures=5, modes=modes)


ROUTING = mode("routing", 10.0, kind="route", by="L2")
TOOLS, CODE = mode("tools", 7.0), mode("code", 4.0, by="L2")
ALL = {"routing", "tools", "code"}


def test_the_modes_decide() -> None:
    """By the weight of what tasks cover; a mode of routing is the router's, whoever answered."""
    choice = choose(night(ROUTING, TOOLS, CODE), ALL, "L0", FREE, [])
    without = choose(night(ROUTING, TOOLS, CODE), {"tools", "code"}, "L0", FREE, [])

    assert (choice.role, choice.weights) == ("L0", {"L0": 10.0, "L1": 7.0, "L2": 4.0})
    assert "title of routing" in choice.because
    assert without.role == "L1"
    assert "L0 has modes of weight 10 without tasks" in without.because


@pytest.mark.parametrize(
    "change",
    [{"blame": Blame.HARNESS}, {"blame": Blame.TASK}, {"wont_fix": "no"}, {"status": ModeStatus.FIXED}],
)
def test_what_may_not_be_trained_has_no_weight(change: dict[str, object]) -> None:
    """Failures of others than the model, fixed ones, and those that a person set aside."""
    choice = choose(night(ROUTING.model_copy(update=change), TOOLS), ALL, "L0", FREE, [])

    assert choice.weights == {"L1": 7.0}


def test_the_deployment_pins_a_role() -> None:
    """Also past the cap; where nothing covers it the night is quiet, with the reason."""
    pinned = NightRules(role="L1", most_in_a_row=1)

    assert choose(night(ROUTING, TOOLS), ALL, "L0", pinned, ["L1", "L1"]).role == "L1"
    with pytest.raises(QuietError, match="pins role L1, and no task covers"):
        choose(night(ROUTING), ALL, "L0", pinned, [])


def test_the_deployment_caps_nights_in_a_row() -> None:
    """The next role gets its turn; where there is none the night is quiet."""
    capped = NightRules(most_in_a_row=2)
    modes = night(ROUTING, TOOLS)

    assert choose(modes, ALL, "L0", capped, ["L0", "L1", "L0"]).role == "L0"
    second = choose(modes, ALL, "L0", capped, ["L0", "L0", "L1"])
    assert second.role == "L1"
    assert "L0 trained 2 nights in a row, which is the cap" in second.because
    with pytest.raises(QuietError, match="which is the cap"):
        choose(night(ROUTING), ALL, "L0", capped, ["L0", "L0"])


def test_who_would_have_to_do_better() -> None:
    """The role that answered most; the router where nobody says."""
    assert role_of(mode("x", 1.0).model_copy(update={"answered_by": {"L1": 2, "L2": 5}}), "L0") == "L2"
    assert role_of(mode("x", 1.0, by=""), "L0") == "L0"


def test_earlier_nights_are_those_before_this_one() -> None:
    """The last one first; not this night's own record when it is run again."""
    records = [
        LedgerRecord(seq=seq, at="t", kind=kind, night=name, body={"role": role} if role else {}, prev="0")
        for seq, (kind, name, role) in enumerate(
            [("role", "a", "L0"), ("role", "b", "L1"), ("night", "c", None), ("role", "c", "L2")], 1
        )
    ]
    assert roles_before(records, "c") == ["L1", "L0"]
    assert roles_before(records, "d") == ["L2", "L1", "L0"]
