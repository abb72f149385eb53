import pytest

from rsi import assets
from rsi.tasks.bfcl import BOUND, exchanges, halves
from rsi.tasks.fingerprint import Index, fingerprint

pytestmark = pytest.mark.skipif(
    not next(one for one in assets.ASSETS if one.name == "bfcl-answers").folder.is_dir(),
    reason="the asset bfcl-answers is not pulled: rsi assets pull",
)


def test_suite_and_bank_share_no_item_group_or_near_duplicate(capsys: pytest.CaptureFixture[str]) -> None:
    """What is trained on is not what is asked, in either direction of the comparison."""
    found = halves("live_simple")
    bank = Index((fingerprint(one.request) for one in found.bank), BOUND)

    assert not {one.item for one in found.suite} & {one.item for one in found.bank}
    assert not {one.group for one in found.suite} & {one.group for one in found.bank}
    assert not [one.item for one in found.suite if bank.exact(fingerprint(one.request))]
    assert not [one.item for one in found.suite if bank.near(fingerprint(one.request))]
    total = len(exchanges("live_simple"))
    assert len(found.suite) + len(found.bank) + len(found.near) + len(found.broken) == total
    assert min(len(found.suite), len(found.bank)) >= 80
    with capsys.disabled():
        print(
            f"\nlive_simple: {total} items, suite {len(found.suite)}, bank {len(found.bank)}, "
            f"near {len(found.near)}, broken {len(found.broken)}"
        )


def test_the_halves_are_frozen() -> None:
    """The rule depends on the names alone: these items stay where they are."""
    found = halves("live_simple")

    assert found == halves("live_simple")
    assert found.broken == ("live_simple_106-63-0", "live_simple_112-68-0")


def test_an_exchange_shows_its_tools_and_hides_what_is_expected() -> None:
    """The tools stand in front of the conversation; the accepted values do not."""
    one = exchanges("live_simple")[0]

    assert one.messages[0].role == "system" and '"name":"get_user_info"' in one.messages[0].content
    assert one.messages[-1].role == "user" and "7890" in one.messages[-1].content
    assert '{"get_user_info":{"user_id":[7890]' in one.expected
    assert "[7890]" not in "".join(turn.content for turn in one.messages)


def test_items_without_a_fitting_tool_expect_no_call() -> None:
    """BFCL's irrelevance files become exchanges whose only right answer calls nothing."""
    assert all(one.expected.endswith('"calls":[]}') for one in exchanges("irrelevance"))
