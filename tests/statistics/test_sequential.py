from itertools import product
from math import exp, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from rsi.errors import ContractError
from rsi.statistics.betting import MOST, log_capital, log_capitals
from rsi.statistics.paired import mcnemar
from rsi.statistics.sequential import Plan, Stop, ended, last_wins, look

DIFFERENCES = st.lists(st.floats(-1, 1), min_size=1, max_size=30)


@given(st.integers(0, 25), st.integers(0, 25))
def test_the_closed_form_is_the_mixture(b: int, c: int) -> None:
    """Integrating the likelihood ratio over a uniform prior gives the same capital."""
    mixed = 2 * quad(lambda p: (2 * p) ** b * (2 * (1 - p)) ** c, 0.5, 1)[0]

    assert exp(log_capital(b, c)) == pytest.approx(mixed, rel=1e-6)


@given(st.integers(0, 300), st.integers(0, 300))
def test_the_capital_is_a_fair_game(b: int, c: int) -> None:
    """The mean over a fair coin's next toss is what one has; wins raise it and losses lower it, far out as well."""
    now, won, lost = (float(log_capital(*at)) for at in ((b, c), (b + 1, c), (b, c + 1)))

    assert np.logaddexp(won, lost) - log(2) == pytest.approx(now, abs=1e-6)
    assert lost < now < won or now == pytest.approx(won)


def test_the_capital_where_tails_underflow() -> None:
    """A thousand losses leave next to nothing, and no number overflows."""
    assert float(log_capital(0, 3000)) < -7
    assert float(log_capital(3000, 0)) > 2000
    assert (round(exp(log_capital(20, 8)), 1), float(log_capital(0, 0))) == (5.9, 0.0)


@settings(max_examples=60)
@given(DIFFERENCES, st.floats(-0.8, 0.8))
def test_bets_use_the_past_alone_and_never_lose_all(steps: list[float], mean: float) -> None:
    """A changed last step changes nothing before it; each step keeps a quarter of the capital at least."""
    path = log_capitals(steps, mean)
    other = log_capitals([*steps[:-1], -steps[-1]], mean)

    assert path[:-1] == pytest.approx(other[:-1])
    assert np.diff(path, prepend=0.0).min() >= log(1 - MOST) - 1e-9


@settings(max_examples=30)
@given(st.lists(st.sampled_from([-1, 0, 1]), max_size=8), st.floats(-0.4, 0.4))
def test_bounded_bets_are_fair_at_the_mean(steps: list[int], mean: float) -> None:
    """Over a next step whose mean is the one bet against, the mean capital is what one has."""
    up, down = (log_capitals([*steps, step], mean) for step in (1, -1))
    win = (1 + mean) / 2
    before = float(up[-2]) if steps else 0.0

    assert log(win * exp(up[-1]) + (1 - win) * exp(down[-1])) == pytest.approx(before, abs=1e-9)


@pytest.mark.parametrize("alpha", [0.05, 0.2])
@pytest.mark.parametrize("differing", [4, 9, 13])
def test_the_last_look_spends_what_is_left_by_enumeration(differing: int, alpha: float) -> None:
    """Of all walks of a fair coin those that cross or end high are at most alpha, and one win less would be more."""
    line = -log(alpha)
    crossed, ends = 0, [0] * (differing + 1)
    for walk in product((0, 1), repeat=differing):
        b = np.cumsum(walk)
        over = (log_capital(b, np.arange(1, differing + 1) - b) >= line).any()
        crossed += bool(over)
        ends[int(b[-1])] += not over
    need = last_wins(differing, alpha)
    spent = (crossed + sum(ends[need:])) / 2**differing

    assert spent <= alpha + 1e-9
    assert need == 0 or (crossed + sum(ends[need - 1 :])) / 2**differing > alpha


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from([-1, 0, 1]), min_size=1, max_size=60), st.data())
def test_a_win_more_never_turns_a_pass_into_none(steps: list[int], data: st.DataObject) -> None:
    """Where asking ends with a gain it also does when one loss or tie had been a win."""
    plan = Plan(len(steps), 0.1, 0.1, 0.1)
    at = data.draw(st.integers(0, len(steps) - 1))
    better = [*steps[:at], 1, *steps[at + 1 :]]

    if look(steps, plan).stop is Stop.GAIN:
        assert look(better, plan).stop is Stop.GAIN


def test_the_rules_speak_in_turn() -> None:
    """A run of wins is a gain at once; a run of ties is hopeless; few wins at the end are no gain."""
    plan = Plan(200, 0.05, 0.1)
    assert look([1] * 9, plan).stop is Stop.GAIN
    assert look([], plan).stop is look([1, -1, 0], plan).stop is Stop.GOING
    assert look([0] * 196, plan).stop is Stop.FUTILE
    assert look([-1] * 25, plan).stop is Stop.FUTILE
    assert look([1, -1] * 30, Plan(60, 0.05, 0.3, 0.001)).stop in (Stop.NO_GAIN, Stop.FUTILE)
    steps = [1, -1, 0, 0] * 15
    assert ended(steps, Plan(60, 0.05, 0.3), 7) == next(
        one
        for upto in (*range(7, 60, 7), 60)
        if (one := look(steps[:upto], Plan(60, 0.05, 0.3))).stop != Stop.GOING
    )
    with pytest.raises(ContractError, match="asks 60 items; found 3"):
        ended([1, 1, 1], Plan(60, 0.05, 0.3), 7)
    with pytest.raises(ContractError, match="at most 2"):
        look([1, 1, 1], Plan(2, 0.05, 0.1))
    with pytest.raises(ContractError, match="a plan needs"):
        Plan(0, 0.05, 0.1)


def test_61_error_power_and_saving_by_simulation() -> None:
    """400 items, 20% of them differ: at most alpha passes without gain, a real gain is kept, items are saved."""
    random = np.random.default_rng(5)
    plan = Plan(400, 0.05, 0.08, 0.05)

    def share(gain: float, times: int) -> tuple[float, float, float]:
        steps = random.choice([1, -1, 0], p=[0.1 + gain / 2, 0.1 - gain / 2, 0.8], size=(times, 400))
        found = [ended(row.tolist(), plan, 40) for row in steps]
        fixed = [mcnemar(int((row == 1).sum()), int((row == -1).sum())).mid_p < 0.05 for row in steps]
        passed = np.mean([one.stop is Stop.GAIN for one in found])
        return float(passed), float(np.mean(fixed)), float(np.mean([one.asked for one in found])) / 400

    null, fixed_null, asked_null = share(0.0, 600)
    real, fixed_real, asked_real = share(0.08, 200)

    assert null <= 0.05 + 0.018 and fixed_null <= 0.07
    assert real > fixed_real - 0.08 and real > 0.85
    assert asked_null < 0.75 and asked_real < 0.8
