"""Personal values in tasks: the second line."""

from rsi.intake import Kind
from rsi.tasks.personal import Detector


def test_a_value_is_found_and_not_repeated():
    """Its kind stands in its place."""
    found = Detector().find("write to ada.byron@analytical.org about 4111 1111 1111 1111")

    assert found is not None
    assert set(found.kinds) == {Kind.EMAIL, Kind.CARD}
    assert found.masked == "write to <email> about <card>"


def test_what_redaction_left_passes():
    """A pseudonym is no value."""
    assert Detector().find("write to <email:0123456789> about the invoice") is None
    assert Detector().find("dim the lights to 40 percent at 7:30 on 2026-01-02") is None


def test_what_is_allowed_passes():
    """The deployment's own list."""
    assert Detector(("*@example.com",)).find("write to help@example.com") is None
