"""What answers cost."""

import pytest
from pydantic import ValidationError

from rsi.prices import Prices
from rsi.settings import Deployment

BY_TOKEN = {"usd_a_million_read": 0.5, "usd_a_million_written": 2.0}


@pytest.mark.parametrize(
    ("said", "read", "written", "usd"),
    [
        ({}, 9, 9, None),
        ({"usd_an_hour": 36.0}, None, None, 0.1),
        (BY_TOKEN, 2_000_000, 100_000, 1.2),
        ({**BY_TOKEN, "usd_a_million_read": 0.0}, 2_000_000, 100_000, 0.2),
        (BY_TOKEN, None, 100_000, None),
        (BY_TOKEN, 2_000_000, None, None),
    ],
)
def test_ten_seconds_cost_what_the_price_says(said, read, written, usd):
    """By the hour or by token; nothing is made up where the price, or the tokens of some answers, are not known."""
    assert Prices(**said).of(10.0, read, written) == (usd if usd is None else pytest.approx(usd))


@pytest.mark.parametrize("said", [{"usd_a_million_read": 1.0}, {"usd_an_hour": 1.0, **BY_TOKEN}, {"usd_an_hour": 0.0}])
def test_a_price_is_one_price(said):
    """Half of one, two at once, or an hour for nothing are refused."""
    with pytest.raises(ValidationError):
        Prices(**said)


@pytest.mark.parametrize(
    ("said", "an_hour"),
    [
        ({}, 1.8),
        ({"prices": {"usd_an_hour": 9.0}}, 9.0),
        ({"prices": BY_TOKEN}, None),
        ({"engine": "http://there/v1"}, None),
        ({"workers": {"pool": "rsi-gpu"}}, None),
        ({"update": {}}, None),
    ],
)
def test_a_local_engine_costs_what_the_machine_does_that_trains(said, an_hour):
    """Unless the deployment says what it costs, or training is somewhere else; no price changes the night's digest."""
    plain = {"update": {"budget": {"usd_an_hour": 1.8}}}
    deployment = Deployment.model_validate({**plain, **said})

    assert deployment.answers_cost().usd_an_hour == an_hour
    assert deployment.digest == deployment.model_copy(update={"prices": Prices()}).digest
