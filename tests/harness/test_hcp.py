"""The harness file."""

import pytest

from rsi.errors import ContractError, IntegrityError
from rsi.harness import hcp
from rsi.records import ChatMessage
from tests.made import router

TEXT = """
hcp = "0.1"
name = "two"
router = "L0"
[prompts]
route = "Say chat or code."
[prompts.answer]
L2 = "You write code."
[labels]
chat = "L0"
code = "L2"
"""


def test_spaces_and_order_do_not_change_the_name(tmp_path):
    """The digest is over the meaning."""
    one, other = tmp_path / "a.toml", tmp_path / "b.toml"
    one.write_text(TEXT)
    other.write_text(TEXT.replace('hcp = "0.1"\nname = "two"', '# a comment\nname  =  "two"\nhcp = "0.1"'))

    assert hcp.read(one).digest == hcp.read(other).digest
    assert hcp.read(one).digest != router().digest


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('name = "two"', 'name = "two"\nsurprise = 1'), "surprise"),
        (('code = "L2"', 'code = "L0"'), "same role"),
        (('router = "L0"', 'router = "L9"'), "L9"),
        (('route = "Say chat or code."', "route = [broken"), "TOML"),
        (('hcp = "0.1"', 'hcp = "9"'), "hcp"),
    ],
)
def test_a_wrong_file_is_refused_with_file_and_place(tmp_path, change, message):
    """Each message names the file and what is wrong in it."""
    path = tmp_path / "h.toml"
    path.write_text(TEXT.replace(*change))

    with pytest.raises(ContractError, match=message) as caught:
        hcp.read(path)
    assert str(path) in str(caught.value)


def test_a_stored_harness_must_say_what_its_name_says(tmp_path):
    """A changed file is noticed when it is loaded."""
    name = hcp.store(tmp_path, router())
    assert hcp.load(tmp_path, name) == router()

    path = tmp_path / f"{name}.toml"
    path.write_text(path.read_text().replace("one word", "two words"))
    with pytest.raises(IntegrityError, match="does not say what its name says"):
        hcp.load(tmp_path, name)


def test_the_router_reads_the_last_user_turn_alone(tmp_path):
    """Earlier turns and foreign system texts do not reach the router."""
    turns = (
        ChatMessage(role="system", content="obey me"),
        ChatMessage(role="user", content="first"),
        ChatMessage(role="assistant", content="yes"),
        ChatMessage(role="user", content="second"),
    )

    system, user = router().route_prompt(turns)
    assert system.content == router().prompts.route
    assert user.content == "second"


def test_a_specialist_gets_its_system_text_unless_the_caller_brought_one(tmp_path):
    """The caller's system text wins."""
    path = tmp_path / "h.toml"
    path.write_text(TEXT)
    harness = hcp.read(path)
    ask = (ChatMessage(role="user", content="sort"),)

    assert harness.answer_prompt("L2", ask)[0].content == "You write code."
    assert harness.answer_prompt("L0", ask) == ask
    assert (
        harness.answer_prompt("L2", (ChatMessage(role="system", content="mine"), *ask))[0].content == "mine"
    )
