"""What a job shall not forget: which answers are rehearsed, what a step pays, and that the policy stays near them."""

from pathlib import Path

import orjson
import pytest
import torch
from peft import LoraConfig, get_peft_model

from rsi.algorithm import Update
from rsi.engine import chat
from rsi.engine.local import LocalEngine
from rsi.engine.weights import read_base
from rsi.errors import ContractError
from rsi.ports import Generation, silent
from rsi.records import ChatMessage
from rsi.registry import adapters
from rsi.registry.adapters import TARGETS
from rsi.update import rehearsal, scoring
from rsi.update.job import Reason, collect, submit
from rsi.update.rehearsal import FILE, Answered, Rehearsal, Script, script
from rsi.update.scoring import Decoder
from rsi.update.worker import work
from tests.made import base_digest, router, routing_tasks, tiny_job

ANSWERS = [
    Answered(prompt=(5, 6, 7, 8), response=(40, 41, 42)),
    Answered(prompt=(5, 6, 9), response=(50,)),
    Answered(prompt=(11, 12), response=(60, 61)),
]


def rules(*, whole_prompt: bool = False, steps: int = 100, **said: float) -> Update:
    """Settings of a job that rehearses."""
    return Update.model_validate({"rehearsal": {"weight": 1.0, **said}, "whole_prompt": whole_prompt, "steps": steps})


@pytest.fixture
def policy(tiny_base):
    """The tiny model with an adapter that acts; its parts and its trained parameters."""
    torch.manual_seed(1)
    base, _ = read_base(tiny_base)
    config = LoraConfig(r=4, lora_alpha=8, target_modules=list(TARGETS), init_lora_weights=False)
    model = get_peft_model(base, config).eval()
    inner = model.get_base_model()
    trained = [one for _, one in sorted(model.named_parameters()) if one.requires_grad]
    return Decoder(inner.get_decoder(), inner.get_output_embeddings()), trained


def distributions(model: Decoder, one: Answered) -> torch.Tensor:
    """Log-probs [tokens, vocabulary] at the tokens of an answer, by one plain forward."""
    whole = torch.tensor([[*one.prompt, *one.response]])
    with torch.no_grad():
        logits = model.head(model.body(input_ids=whole).last_hidden_state)[0]
    return logits.log_softmax(-1)[len(one.prompt) - 1 : -1]


def move(trained: list[torch.nn.Parameter]) -> None:
    """Other weights than the start's."""
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for one in trained:
            one.add_(0.05 * torch.randn(one.shape, generator=generator))


@pytest.mark.parametrize("whole", [False, True], ids=["captured", "whole"])
@pytest.mark.parametrize("head_tokens", [1, 4, 256])
def test_what_is_paid_is_the_divergence_from_the_start(policy, monkeypatch, head_tokens, whole):
    """KL(start || policy) over all tokens whose turn it is, by the definition; nothing while nothing has moved."""
    monkeypatch.setattr(rehearsal, "HEAD_TOKENS", head_tokens)
    model, trained = policy
    held = Rehearsal(model, ANSWERS, rules(weight=2.0, prompts=2, whole_prompt=whole))
    before = [distributions(model, one) for one in ANSWERS]

    assert held.pay(0) == pytest.approx(0, abs=1e-6)
    move(trained)
    for step, turn in ((0, (0, 1)), (1, (2, 0)), (2, (1, 2))):
        after = [distributions(model, one) for one in ANSWERS]
        apart = torch.cat([(before[one].exp() * (before[one] - after[one])).sum(-1) for one in turn])
        assert held.pay(step) == pytest.approx(float(apart.mean()), rel=1e-3)
        assert float(apart.mean()) > 1e-3


def test_the_gradient_leads_back_and_weighs_as_said(policy):
    """A small step against it lessens the divergence; twice the weight is twice the gradient."""
    model, trained = policy
    once, twice = (Rehearsal(model, ANSWERS, rules(weight=weight)) for weight in (1.0, 2.0))
    move(trained)
    gradients = []
    for held in (once, twice):
        for one in trained:
            one.grad = None
        far = held.pay(0)
        gradients.append([one.grad.clone() for one in trained])
    assert all(
        torch.allclose(2 * one, other, rtol=1e-4, atol=1e-6) for one, other in zip(*gradients, strict=True)
    )
    with torch.no_grad():
        for one, gradient in zip(trained, gradients[0], strict=True):
            one.sub_(1e-2 * gradient)
    assert once.pay(0) < far


def gradient(held: Rehearsal, trained: list[torch.nn.Parameter]) -> list[torch.Tensor]:
    """Of what the first step pays."""
    for one in trained:
        one.grad = None
    held.pay(0)
    return [one.grad.clone() for one in trained if one.grad is not None]


def test_in_parts_the_gradient_is_the_same(policy, monkeypatch):
    """What is in memory at once is bounded, and says nothing of what is paid."""
    model, trained = policy
    held = Rehearsal(model, ANSWERS, rules())
    move(trained)
    whole = gradient(held, trained)
    monkeypatch.setattr(scoring, "REPLAY_KEYS", 1)
    assert len(list(held._parts(range(3)))) == 3
    assert all(
        torch.allclose(one, other, rtol=1e-3, atol=1e-6)
        for one, other in zip(whole, gradient(held, trained), strict=True)
    )


def test_with_the_whole_prompt_gradients_flow_through_it(policy):
    """As those of the answers that are trained on do."""
    model, trained = policy
    captured, whole = (Rehearsal(model, ANSWERS, rules(whole_prompt=one)) for one in (False, True))
    move(trained)
    part, through = gradient(captured, trained), gradient(whole, trained)
    assert max((one - other).abs().max() for one, other in zip(part, through, strict=True)) > 1e-4


class Asked:
    """Answers every prompt with its own last tokens, and remembers what it was asked."""

    def __init__(self) -> None:
        self.prompts: list[tuple[int, ...]] = []

    def __call__(self, prompts):
        self.prompts += map(tuple, prompts)
        return [Generation("", tuple(one[-2:]), (0.0, 0.0), "stop") for one in prompts]


def render(messages) -> list[int]:
    """A token a letter of the last turn."""
    if messages[-1].role == "tool":
        raise ContractError("the base's chat template refuses this conversation")
    return list(messages[-1].content.encode())


def test_each_request_is_answered_once_and_written_down(tmp_path):
    """As many as asked, or as the steps look at; the order of the tasks does not matter; the file is read again."""
    tasks, asked = routing_tasks(), Asked()
    made = script(tmp_path, rules(requests=5), [*tasks, *tasks], render, asked)

    assert [one.prompt for one in made.answers] == asked.prompts
    assert len(set(asked.prompts)) == 5
    assert set(asked.prompts) <= {tuple(render(one.messages)) for one in tasks}
    assert all(one.response == one.prompt[-2:] for one in made.answers)
    again = script(tmp_path, rules(requests=5), tasks, render, lambda _: pytest.fail("was asked again"))
    assert again == made == Script.parse((tmp_path / FILE).read_bytes())
    other, few = tmp_path / "other", tmp_path / "few"
    for place in (other, few):
        place.mkdir()
    assert script(other, rules(requests=5), tasks[::-1], render, asked).answers == made.answers
    assert len(script(few, rules(prompts=2, steps=2), tasks, render, asked).answers) == 4


def test_what_cannot_be_rehearsed_is_left_out_and_counted(tmp_path):
    """Without a turn, too long, or refused by the chat template; with nothing left the message says what to set."""
    good, long, odd, empty = routing_tasks()[:4]
    turns = {
        long: (ChatMessage(role="user", content="a" * 513),),
        odd: (ChatMessage(role="tool", content="7"),),
        empty: (),
    }
    bad = [one.model_copy(update={"messages": said}) for one, said in turns.items()]

    made = script(tmp_path, rules(), [good, *bad], render, Asked())

    assert (len(made.answers), made.left_out) == (1, 3)
    with pytest.raises(ContractError, match=r"nothing to rehearse: each of 3 tasks .*raise rehearsal\.prompt_tokens"):
        script(tmp_path / "none", rules(), bad, render, Asked())


@pytest.mark.parametrize("more", [{}, {"passes": 2}, {"whole_prompt": True}, {"algorithm": "sft"}])
def test_a_job_that_rehearses_stays_nearer_to_where_it_began(home, tiny_base, more):
    """It learns the labels all the same; the log has the distance."""

    def rows(weight: float) -> list[dict[str, float]]:
        rehearse = {"weight": weight, "tokens": 4}
        job = tiny_job(home, tiny_base, steps=30, learning_rate=0.02, rehearsal=rehearse, **more)
        place = submit(home, job)
        work(place, tiny_base, silent)
        return rows_of(place)

    loose, held = rows(1e-9), rows(10.0)

    assert held[-1]["rehearsal_kl"] < loose[-1]["rehearsal_kl"] / 2
    if "algorithm" in more:
        assert held[-1]["loss"] < held[0]["loss"]
    else:
        assert sum(row["p_right"] for row in held[-8:]) > sum(row["p_right"] for row in held[:8])


def rows_of(place: Path) -> list[dict[str, float]]:
    """What was logged, by step."""
    return [orjson.loads(line) for line in (place / "metrics.jsonl").read_bytes().splitlines()]


def test_a_job_rehearses_what_its_parent_says(home, tiny_base):
    """Greedily, as chat, with the parent's adapter; before the first step nothing has moved."""
    first = tiny_job(home, tiny_base, steps=30, learning_rate=0.05)
    end = work(submit(home, first), tiny_base, silent)
    collect(home, submit(home, first), end)
    second = tiny_job(home, tiny_base, steps=2, rehearsal={"weight": 1.0, "requests": 6, "tokens": 8})
    second = second.model_copy(update={"warm_start": end.adapter})
    place = submit(home, second)

    work(place, tiny_base, silent)

    engine = LocalEngine(tiny_base, base_digest(tiny_base))
    engine.load("parent", adapters.folder(home, end.adapter or ""))
    said = Script.parse((place / FILE).read_bytes()).answers
    asked = [one.prompt for one in said]
    chats = {
        tuple(chat.tokens(engine.tokenizer, router().answer_prompt("L0", one.messages))) for one in routing_tasks()
    }
    assert set(asked) <= chats and len(asked) == 6
    for adapter, same in (("parent", True), (None, False)):
        greedy = engine.generate_tokens(asked, adapter, 8, 0.0, [0] * len(asked))
        assert ([one.response for one in said] == [one.token_ids for one in greedy]) is same
    rows = rows_of(place)
    assert rows[0]["rehearsal_kl"] == pytest.approx(0, abs=1e-6)
    assert rows[1]["rehearsal_kl"] > 1e-9


def test_a_price_that_is_no_number_ends_the_run_and_is_named(home, tiny_base, monkeypatch):
    """As a loss that is none does."""
    monkeypatch.setattr(rehearsal.Rehearsal, "pay", lambda *_: float("nan"))
    job = tiny_job(home, tiny_base, rehearsal={"weight": 1.0})

    end = work(submit(home, job), tiny_base, silent)

    assert (end.adapter, end.reason) == (None, Reason.DIVERGED)
    assert "rehearsal_kl nan" in end.ended


def test_nothing_is_rehearsed_unless_it_is_asked_for(home, tiny_base, monkeypatch):
    """Nor answered: it costs time."""
    monkeypatch.setattr("rsi.update.run.script", lambda *_: pytest.fail("was asked"))
    place = submit(home, tiny_job(home, tiny_base, steps=1))

    work(place, tiny_base, silent)

    assert "rehearsal_kl" not in rows_of(place)[0]
    assert not (place / FILE).exists()
