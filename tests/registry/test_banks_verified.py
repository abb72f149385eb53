"""I5: a bank holds nothing within the overlap bound of a held-out item, unless a person overruled it."""

import pytest

from rsi.records import ChatMessage, Task
from rsi.registry.verify import verify
from rsi.settings import Deployment, Home, contracts_dir
from rsi.tasks import bank, heldout, refused
from rsi.tasks.overlap import Index
from rsi.tasks.overrule import overrule
from rsi.tasks.screen import Rules, screen
from tests import night_made
from tests.made import FixedClock

VERBATIM = "Order two PIZZAS to my flat!"
NEAR = "order three pizzas to my flat"
CLEAN = "write a function that sorts names"


def asked(text: str) -> Task:
    """A task with this request."""
    return bank.task(
        "route", (ChatMessage(role="user", content=text),), "choice", "L1", None, ("t",), "correction"
    )


@pytest.fixture
def home(tmp_path, tiny_base, monkeypatch) -> Home:
    """A home beside contracts that hold such a request."""
    monkeypatch.setenv("RSI_CONTRACTS", str(night_made.contracts(tmp_path / "contracts")))
    return night_made.make_home(tmp_path / "home", tiny_base)


def broken(home: Home) -> list[str]:
    """Tasks that verify names under I5."""
    found = verify(home, FixedClock()).findings
    return [one.text.split("task ")[1][:18] for one in found if one.invariant == "I5"]


def test_a_bank_with_held_out_text_is_named(home):
    """Verbatim and near; the clean task is not."""
    tasks = [asked(text) for text in (VERBATIM, NEAR, CLEAN)]
    bank.freeze(home, "2026-01-02", tasks)

    assert sorted(broken(home)) == sorted(one.task_id for one in tasks[:2])


def test_what_the_screen_passes_verify_passes(home):
    """Both ask the same question."""
    held = heldout.read(contracts_dir())
    index = Index(held.items, Deployment.read(home.deployment_file).expand.overlap)
    found = screen([asked(text) for text in (VERBATIM, NEAR, CLEAN)], index, Rules())
    bank.freeze(home, "2026-01-02", found.tasks)

    assert [one.task_id for one in found.tasks] == [asked(CLEAN).task_id]
    assert broken(home) == []


def test_a_person_may_let_a_near_one_pass(home):
    """In the screen of the next night and in verify alike; never a verbatim one."""
    index = Index(heldout.read(contracts_dir()).items, 0.33)
    tasks = [asked(VERBATIM), asked(NEAR)]
    refused.write(home, "2026-01-02", screen(tasks, index, Rules()).refused)
    overrule(home, FixedClock(), Deployment(), asked(NEAR).task_id, "ada", "another order")
    bank.freeze(home, "2026-01-03", tasks)

    assert broken(home) == [asked(VERBATIM).task_id]
