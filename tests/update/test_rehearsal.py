"""What a job shall not forget: which answers are rehearsed, what a step pays, and that the policy stays near them."""

import orjson
import pytest
import torch
from peft import LoraConfig, get_peft_model

from rsi.algorithm import Rehearse
from rsi.engine import chat
from rsi.engine.local import LocalEngine
from rsi.engine.weights import read_base
from rsi.ports import silent
from rsi.registry.adapters import TARGETS
from rsi.update import rehearsal
from rsi.update.job import submit
from rsi.update.rehearsal import Answered, Rehearsal, answered
from rsi.update.scoring import Decoder
from rsi.update.worker import work
from tests.made import base_digest, router, routing_tasks, tiny_job

ANSWERS = [
    Answered([5, 6, 7, 8], [40, 41, 42]),
    Answered([5, 6, 9], [50]),
    Answered([11, 12], [60, 61]),
]


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


@pytest.mark.parametrize("head_tokens", [1, 4, 256])
def test_what_is_paid_is_the_divergence_from_the_start(policy, monkeypatch, head_tokens):
    """KL(start || policy) over all tokens whose turn it is, by the definition; nothing while nothing has moved."""
    monkeypatch.setattr(rehearsal, "HEAD_TOKENS", head_tokens)
    model, trained = policy
    held = Rehearsal(model, ANSWERS, Rehearse(weight=2.0, prompts=2))
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
    once, twice = (Rehearsal(model, ANSWERS, Rehearse(weight=weight)) for weight in (1.0, 2.0))
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


def test_requests_of_the_tasks_are_answered_as_chat(tiny_base, monkeypatch):
    """Each once, as many as asked, under the prompts of the role; greedily; long ones are left out."""
    engine = LocalEngine(tiny_base, base_digest(tiny_base))
    harness, tasks = router(), routing_tasks()

    said = answered(engine, None, harness, "L0", [*tasks, *tasks], Rehearse(requests=5, tokens=6))

    prompts = {tuple(chat.tokens(engine.tokenizer, harness.answer_prompt("L0", one.messages))) for one in tasks}
    assert len({tuple(one.prompt) for one in said}) == len(said) == 5
    assert {tuple(one.prompt) for one in said} <= prompts
    assert all(1 <= len(one.response) <= 6 for one in said)
    assert said == answered(engine, None, harness, "L0", tasks[::-1], Rehearse(requests=5, tokens=6))
    monkeypatch.setattr(rehearsal, "PROMPT_TOKENS", 1)
    assert answered(engine, None, harness, "L0", tasks, Rehearse()) == []


@pytest.mark.parametrize("algorithm", ["grpo", "sft"])
def test_a_job_that_rehearses_stays_nearer_to_where_it_began(home, tiny_base, algorithm):
    """It learns the labels all the same; the log has the distance."""

    def rows(weight: float) -> list[dict[str, float]]:
        job = tiny_job(
            home,
            tiny_base,
            algorithm=algorithm,
            steps=30,
            learning_rate=0.02,
            rehearsal={"weight": weight, "tokens": 4},
        )
        place = submit(home, job)
        work(place, tiny_base, silent)
        return [orjson.loads(line) for line in (place / "metrics.jsonl").read_bytes().splitlines()]

    loose, held = rows(1e-9), rows(10.0)

    assert held[-1]["rehearsal_kl"] < loose[-1]["rehearsal_kl"] / 2
    if algorithm == "grpo":
        assert sum(row["p_right"] for row in held[-8:]) > sum(row["p_right"] for row in held[:8])
    else:
        assert held[-1]["loss"] < held[0]["loss"]


def test_nothing_is_rehearsed_unless_it_is_asked_for(home, tiny_base, monkeypatch):
    """Nor answered: it costs time."""
    monkeypatch.setattr("rsi.update.run.answered", lambda *_: pytest.fail("was asked"))
    place = submit(home, tiny_job(home, tiny_base, steps=1))

    work(place, tiny_base, silent)

    assert "rehearsal_kl" not in orjson.loads((place / "metrics.jsonl").read_bytes().splitlines()[0])
