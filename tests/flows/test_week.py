"""Five days of traffic, dealt out."""

import orjson
import pytest

from flows import week
from flows.traffic import FILE, Request
from flows.week import Day, Log

PLAN = (
    Day(requests=4, log=3),
    Day(requests=4, app=2, log=2, holds=Log.WRONG),
    Day(requests=1, log=2, holds=Log.MENDED),
)


def requests(count: int) -> list[Request]:
    return [
        Request(id=f"r{at}", label=f"L{at % 4}", hard=False, source="own", text=f"request {at}")
        for at in range(count)
    ]


def test_no_request_comes_on_two_days() -> None:
    """Neither asked nor in a log; the same for the same requests."""
    dealt = week.traffic(requests(20), PLAN)
    texts = [one.text.removesuffix(week.APP) for some in (*dealt.asked, *dealt.logged) for one in some]

    assert [len(some) for some in dealt.asked] == [4, 4, 1]
    assert [len(some) for some in dealt.logged] == [3, 2, 2]
    assert len(set(texts)) == 16
    assert week.traffic(requests(20), PLAN) == dealt


def test_the_app_asks_with_right_labels_and_its_wrong_log_has_wrong_ones() -> None:
    """A log of earlier times is right, and so is the one in place of the wrong one."""
    first, second = requests(20), week.traffic(requests(20), PLAN)
    labels = {one.text: one.label for one in first}
    asked = second.asked[1]

    assert [one.text.endswith(week.APP) for one in asked] == [True, True, False, False]
    assert all(labels[one.text.removesuffix(week.APP)] == one.label for one in asked)
    assert all(labels[one.text] == one.label for one in second.logged[0])
    assert {(one.label, one.text[-len(week.APP) :]) for one in second.logged[1]} == {("L0", week.APP)}
    assert [labels[one.text.removesuffix(week.APP)] == one.label for one in second.logged[2]] == [True, True]
    assert all(one.text.endswith(week.APP) for one in second.logged[2])


def test_the_apps_log_names_many_users_in_turn() -> None:
    """None of whom gives more than a bank takes of one; by their names it can be forgotten as a whole."""
    rows = [
        orjson.loads(one) for one in week.app_log(week.traffic(requests(20), PLAN).logged[1]).splitlines()
    ]

    assert [row["user"] for row in rows] == list(week.CLIENTS[: len(rows)])
    assert {row["scores"][0]["correction"] for row in rows} == {"L0"}


def test_a_plan_needs_enough_requests() -> None:
    """It says how many."""
    with pytest.raises(ValueError, match="the plan needs 16 labelled requests; there are 12"):
        week.traffic(requests(12), PLAN)


def test_the_rules_of_the_week_alternate_roles_and_begin_the_clerk_with_solutions() -> None:
    """An L1 that is in service goes on by reinforcement."""
    rules = week.deployment()

    assert rules.night.most_in_a_row == 1
    assert rules.update_of("L1", begun=False).algorithm.value == "sft"
    assert rules.update_of("L1", begun=True).algorithm.value == "grpo"
    assert rules.update_of("L0", begun=False).steps < rules.update_of("L0", begun=True).steps
    assert (rules.contract_of("L0"), rules.contract_of("L1")) == ("week/v2", "week-desk/v1")


def test_there_are_requests_enough_for_the_week() -> None:
    """In the file that the demo takes its requests from."""
    needed = sum(day.requests + day.log for day in week.PLAN)

    assert needed <= len(FILE.read_bytes().splitlines())
    assert len(week.PLAN) == 5
