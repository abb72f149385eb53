"""The local engine against plain forwards of the same model."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from rsi.engine.local import LocalEngine
from rsi.errors import ContractError, IntegrityError
from rsi.ports import Prompt
from rsi.records import ChatMessage
from tests.engine.adapters import make_adapter, plain_choices

CHOICES = ["chat", "agent", "code", "ui"]
UNEVEN = ["ui", "code", "co", "none of these", "agents"]
"""Choices of one and of several tokens, some the beginning of others."""
ROUTE = "Read the request and answer with one word."


def routing(*requests: str) -> list[Prompt]:
    """Prompts with one system text."""
    return [
        (ChatMessage(role="system", content=ROUTE), ChatMessage(role="user", content=request))
        for request in requests
    ]


REQUESTS = routing(
    "hi",
    "Write a sorting function",
    "Write a poem about the sea and about ships",
    "book a table for two",
    "a page with a button",
    "",
    "x" * 90,
    "Warum ist der Himmel blau? 天空 🌧",
    "Write",
    "turn off the lights",
)


@pytest.fixture(scope="module")
def lora(tiny_base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the adapters `one` and `two`."""
    root = tmp_path_factory.mktemp("lora")
    make_adapter(tiny_base, root / "one", seed=1)
    make_adapter(tiny_base, root / "two", seed=2)
    return root


@pytest.fixture(scope="module")
def engine(tiny_base: Path, lora: Path) -> Iterator[LocalEngine]:
    """The tiny base with both adapters."""
    engine = LocalEngine(tiny_base, "b" * 64)
    engine.load("L0-one", lora / "one")
    engine.load("L0-two", lora / "two")
    yield engine


def close(left: object, right: object, within: float = 1e-4) -> bool:
    """Whether two rows of rows of numbers agree."""
    pairs = zip(left, right, strict=True)  # type: ignore[call-overload]
    return all(one == pytest.approx(other, abs=within) for one, other in pairs)


@pytest.mark.parametrize("adapter", [None, "L0-one", "L0-two"])
@pytest.mark.parametrize("choices", [CHOICES, UNEVEN, ["chat"]])
def test_choose_equals_plain_forward(engine: LocalEngine, adapter: str | None, choices: list[str]) -> None:
    """Shared prefix, padding and cached continuations change nothing, with several adapters and without."""
    found = engine.choose(REQUESTS, choices, adapter)
    rows = [engine.tokens(prompt) for prompt in REQUESTS]
    assert close(found, plain_choices(engine, rows, engine.choice_tokens(choices)))
    assert all(sum(map(pow, [2.718281828459045] * len(row), row)) == pytest.approx(1) for row in found)


def test_adapters_differ_from_base_and_from_each_other(engine: LocalEngine) -> None:
    """Each name acts with its own weights, in whatever order they are asked."""
    base, one, two = (engine.choose(REQUESTS, CHOICES, name) for name in (None, "L0-one", "L0-two"))
    assert not close(base, one, 1e-2) and not close(base, two, 1e-2) and not close(one, two, 1e-2)
    assert engine.choose(REQUESTS, CHOICES, None) == base
    assert engine.choose(REQUESTS, CHOICES, "L0-one") == one


def test_switches_behind_its_back_are_noticed(engine: LocalEngine) -> None:
    """Who switches adapters through `model` does not change what the engine answers next."""
    base, one = engine.choose(REQUESTS, CHOICES, None), engine.choose(REQUESTS, CHOICES, "L0-one")
    engine.model.set_adapter("L0-two")
    assert engine.choose(REQUESTS, CHOICES, "L0-one") == one
    engine.model.base_model.disable_adapter_layers()
    assert engine.choose(REQUESTS, CHOICES, "L0-one") == one
    engine.choose(REQUESTS, CHOICES, None)
    engine.model.base_model.enable_adapter_layers()
    assert engine.choose(REQUESTS, CHOICES, None) == base


def test_base_is_untouched_by_adapters(engine: LocalEngine, tiny_base: Path) -> None:
    """With adapters loaded, None answers as an engine that never had any."""
    bare = LocalEngine(tiny_base, "b" * 64)
    assert engine.choose(REQUESTS, CHOICES, None) == bare.choose(REQUESTS, CHOICES, None)


def test_prefix_is_computed_once(tiny_base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The shared start goes through the model once per adapter, and not again in later calls."""
    engine = LocalEngine(tiny_base, "b" * 64)
    widths: list[tuple[int, int]] = []
    decoder = engine.model.get_decoder()
    decoder.register_forward_pre_hook(
        lambda _m, _a, said: widths.append(tuple(said["input_ids"].shape)), with_kwargs=True
    )
    first = engine.choose(REQUESTS, CHOICES, None)
    start = widths[0]
    assert start[0] == 1 and start[1] > len(ROUTE)
    assert widths.count(start) == 1
    assert all(width < max(map(len, map(engine.tokens, REQUESTS))) - start[1] + 1 for _, width in widths[1:])
    widths.clear()
    assert engine.choose(REQUESTS, CHOICES, None) == first
    assert start not in widths
    widths.clear()
    engine.choose(REQUESTS[1:2], CHOICES, None)
    assert start not in widths, "a lone prompt uses the same prefix"


def test_without_sharing_numbers_agree(engine: LocalEngine, tiny_base: Path) -> None:
    """An engine that shares nothing says the same."""
    plain = LocalEngine(tiny_base, "b" * 64, prefix_tokens=0)
    assert close(plain.choose(REQUESTS, UNEVEN, None), engine.choose(REQUESTS, UNEVEN, None))


def test_order_of_the_batch_does_not_matter(engine: LocalEngine) -> None:
    """The reversed batch gives the reversed answers to the bit; a batch of one the same but for rounding."""
    many = routing(*(f"request {'a' * (n % 23)} {n}" for n in range(70)))
    found = engine.choose(many, UNEVEN, "L0-one")
    assert engine.choose(many[::-1], UNEVEN, "L0-one") == found[::-1]
    alone = [engine.choose([prompt], UNEVEN, "L0-one")[0] for prompt in many[:5]]
    assert close(alone, found[:5])
    sampled = engine.generate(many, "L0-one", 6, temperature=1.0, seed=3)
    assert engine.generate(many[::-1], "L0-one", 6, temperature=1.0, seed=3) == sampled[::-1]


def test_prompts_that_share_nothing(engine: LocalEngine) -> None:
    """Conversations of different shape and no common start are answered too; none gives none."""
    odd: list[Prompt] = [
        (ChatMessage(role="user", content="hi"),),
        (ChatMessage(role="system", content="s"), ChatMessage(role="user", content="one")),
        (
            ChatMessage(role="user", content="a"),
            ChatMessage(role="assistant", content="b"),
            ChatMessage(role="user", content="c"),
        ),
    ]
    rows = [engine.tokens(prompt) for prompt in odd]
    assert close(
        engine.choose(odd, CHOICES, None), plain_choices(engine, rows, engine.choice_tokens(CHOICES))
    )
    assert engine.choose([], CHOICES, None) == [] and engine.generate([], None, 3) == []


@pytest.mark.parametrize("adapter", [None, "L0-one"])
def test_greedy_equals_plain_argmax(engine: LocalEngine, adapter: str | None) -> None:
    """Token ids, log-probs, end and text of greedy answers are those of plain forwards, token by token."""
    answers = engine.generate(REQUESTS, adapter, 8)
    for prompt, answer in zip(REQUESTS, answers, strict=True):
        row, ids, chances = engine.tokens(prompt), [], []
        with torch.inference_mode():
            for _ in range(8):
                logp = engine.model(input_ids=torch.tensor([row + ids])).logits[0, -1].log_softmax(-1)
                ids.append(int(logp.argmax()))
                chances.append(logp.max().item())
                if ids[-1] in engine.eos_ids:
                    break
        assert answer.token_ids == tuple(ids)
        assert answer.logprobs == pytest.approx(chances, abs=1e-4)
        assert answer.finish_reason == ("stop" if ids[-1] in engine.eos_ids else "length")
        assert answer.text == engine.tokenizer.decode(
            [token for token in ids if token not in engine.eos_ids], skip_special_tokens=True
        )


def test_an_answer_stops_where_the_model_ends_it(engine: LocalEngine) -> None:
    """Rows that end early say `stop`, keep their ending token, and leave the others going."""
    many = routing(*(f"r{n}" for n in range(40)))
    answers = engine.generate(many, None, 40, temperature=3.0, seed=1)
    stopped = [answer for answer in answers if answer.finish_reason == "stop"]
    going = [answer for answer in answers if answer.finish_reason == "length"]
    assert stopped and going
    assert all(answer.token_ids[-1] in engine.eos_ids and len(answer.token_ids) <= 40 for answer in stopped)
    assert all(len(answer.token_ids) == len(answer.logprobs) == 40 for answer in going)
    assert all("<|im_end|>" not in answer.text for answer in answers)


def test_sampling_is_seeded_per_prompt(engine: LocalEngine) -> None:
    """Company, place and passes do not change a draw; the seed and a repetition of the prompt do."""
    whole = engine.generate(REQUESTS, "L0-two", 12, temperature=1.3, seed=5)
    part = engine.generate(REQUESTS[4:7][::-1], "L0-two", 12, temperature=1.3, seed=5)
    assert [answer.token_ids for answer in part[::-1]] == [answer.token_ids for answer in whole[4:7]]
    other = engine.generate(REQUESTS, "L0-two", 12, temperature=1.3, seed=6)
    assert [answer.token_ids for answer in other] != [answer.token_ids for answer in whole]
    twice = engine.generate([REQUESTS[0]] * 3, "L0-two", 12, temperature=1.3, seed=5)
    assert len({answer.token_ids for answer in twice}) == 3
    assert twice[0].token_ids == whole[0].token_ids


def test_sampled_frequencies_follow_the_distribution(engine: LocalEngine) -> None:
    """Over 2,000 draws each likely first token comes as often as its probability says, within five sigma."""
    prompt, temperature = REQUESTS[1], 0.8
    drawn = engine.generate([prompt] * 2000, None, 1, temperature=temperature, seed=11)
    engine.choose([prompt], CHOICES, None)
    with torch.inference_mode():
        logits = engine.model(input_ids=torch.tensor([engine.tokens(prompt)])).logits[0, -1]
    chance = (logits / temperature).softmax(-1)
    counts = torch.bincount(torch.tensor([answer.token_ids[0] for answer in drawn]), minlength=len(chance))
    for token in chance.topk(5).indices.tolist():
        expected = chance[token].item()
        sigma = (expected * (1 - expected) / 2000) ** 0.5
        assert counts[token].item() / 2000 == pytest.approx(expected, abs=5 * sigma)
    assert all(
        answer.logprobs[0] == pytest.approx(chance[answer.token_ids[0]].log().item(), abs=1e-4)
        for answer in drawn[:20]
    )


def test_names_are_bound_to_content(tiny_base: Path, lora: Path, tmp_path: Path) -> None:
    """A name stays with its folder and content, also after it was unloaded; the same again is nothing new."""
    engine = LocalEngine(tiny_base, "b" * 64)
    own = make_adapter(tiny_base, tmp_path / "own", seed=3)
    engine.load("a", own)
    engine.load("a", own)
    assert dict(engine.adapters()) == {"a": own}
    with pytest.raises(ContractError, match="other content needs another name"):
        engine.load("a", lora / "two")
    engine.unload("a")
    with pytest.raises(ContractError, match="other content needs another name"):
        engine.load("a", lora / "two")
    make_adapter(tiny_base, own, seed=4)
    with pytest.raises(ContractError, match="other content needs another name"):
        engine.load("a", own)
    assert dict(engine.adapters()) == {}


def test_unloading_gives_the_base_back(tiny_base: Path, lora: Path) -> None:
    """Loaded, unloaded and loaded again, base and adapters say what they said before."""
    engine = LocalEngine(tiny_base, "b" * 64)
    bare = engine.choose(REQUESTS, CHOICES, None)
    engine.load("a", lora / "one")
    engine.load("b", lora / "two")
    a, b = engine.choose(REQUESTS, CHOICES, "a"), engine.choose(REQUESTS, CHOICES, "b")
    engine.unload("a")
    assert engine.choose(REQUESTS, CHOICES, "b") == b
    with pytest.raises(ContractError, match="'a' is not loaded; loaded: b"):
        engine.choose(REQUESTS, CHOICES, "a")
    engine.unload("b")
    assert engine.choose(REQUESTS, CHOICES, None) == bare
    engine.load("a", lora / "one")
    assert engine.choose(REQUESTS, CHOICES, "a") == a
    with pytest.raises(ContractError, match="loaded: a"):
        engine.unload("b")


def test_folders_that_do_not_fit_are_refused(tiny_base: Path, lora: Path, tmp_path: Path) -> None:
    """A folder without safetensors, with other shapes, or with weights under other names loads nothing."""
    engine = LocalEngine(tiny_base, "b" * 64)
    bare = engine.choose(REQUESTS[:2], CHOICES, None)
    with pytest.raises(ContractError, match="missing"):
        engine.load("a", tmp_path)
    config = json.loads((lora / "one" / "adapter_config.json").read_text())
    for place, change in {
        "rank": {"r": 8},
        "names": {"target_modules": ["q_proj"]},
        "bias": {"bias": "all"},
        "type": {"peft_type": "IA3"},
    }.items():
        odd = tmp_path / place
        odd.mkdir()
        (odd / "adapter_model.safetensors").write_bytes(
            (lora / "one" / "adapter_model.safetensors").read_bytes()
        )
        (odd / "adapter_config.json").write_text(json.dumps(config | change))
        with pytest.raises(ContractError, match="does not fit"):
            engine.load(place, odd)
    torn = tmp_path / "torn"
    torn.mkdir()
    (torn / "adapter_config.json").write_text(json.dumps(config))
    (torn / "adapter_model.safetensors").write_bytes(b"not safetensors")
    with pytest.raises(ContractError, match="does not fit"):
        engine.load("torn", torn)
    with pytest.raises(ContractError, match="dot"):
        engine.load("a.b", lora / "one")
    assert dict(engine.adapters()) == {}
    assert engine.choose(REQUESTS[:2], CHOICES, None) == bare
    engine.load("one", lora / "one")
    assert engine.choose(REQUESTS[:2], CHOICES, "one") != bare


def test_bad_calls_are_refused(engine: LocalEngine) -> None:
    """Empty or equal choices, bad bounds, prompts over the context: the caller's error."""
    for choices in ([], ["a", ""], ["a", "a"]):
        with pytest.raises(ContractError, match="distinct words"):
            engine.choose(REQUESTS, choices, None)
    with pytest.raises(ContractError, match="max_tokens"):
        engine.generate(REQUESTS, None, 0)
    with pytest.raises(ContractError, match="temperature"):
        engine.generate(REQUESTS, None, 1, temperature=float("nan"))
    with pytest.raises(ContractError, match="context of 1024"):
        engine.generate(routing("x" * 900), None, 200)
    with pytest.raises(ContractError, match="is not loaded"):
        engine.generate(REQUESTS, "nobody", 1)


def test_bad_bases_are_refused(tiny_base: Path, tmp_path: Path) -> None:
    """No folder, no chat template, sliding attention, torn weights: each says so."""
    with pytest.raises(ContractError, match="no base model"):
        LocalEngine(tmp_path / "nowhere", "b" * 64)

    def copy(name: str) -> Path:
        (tmp_path / name).mkdir()
        for file in tiny_base.iterdir():
            (tmp_path / name / file.name).write_bytes(file.read_bytes())
        return tmp_path / name

    silent = copy("silent")
    (silent / "chat_template.jinja").unlink()
    with pytest.raises(ContractError, match="chat template"):
        LocalEngine(silent, "b" * 64)
    sliding = copy("sliding")
    config = json.loads((sliding / "config.json").read_text())
    config |= {"model_type": "mistral", "architectures": ["MistralForCausalLM"], "sliding_window": 16}
    (sliding / "config.json").write_text(json.dumps(config))
    with pytest.raises(ContractError, match="full attention only"):
        LocalEngine(sliding, "b" * 64)
    torn = copy("torn")
    (torn / "model.safetensors").write_bytes((torn / "model.safetensors").read_bytes()[:2000])
    with pytest.raises(IntegrityError, match="cannot be read"):
        LocalEngine(torn, "b" * 64)


def test_threads_may_share_the_engine(engine: LocalEngine) -> None:
    """Calls from several threads under different adapters each get their own adapter's answer."""
    names = [None, "L0-one", "L0-two"]
    alone = {name: engine.choose(REQUESTS, CHOICES, name) for name in names}
    wrong: list[str | None] = []

    def ask(name: str | None) -> None:
        for _ in range(5):
            if engine.choose(REQUESTS, CHOICES, name) != alone[name]:
                wrong.append(name)

    threads = [threading.Thread(target=ask, args=(name,)) for name in names * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.base
def test_real_base_equals_plain_forward(smollm: Path, tmp_path: Path) -> None:
    """SmolLM2-135M with a random adapter: choices, greedy answers and log-probs equal plain forwards."""
    engine = LocalEngine(smollm, "b" * 64)
    engine.load("L0-x", make_adapter(smollm, tmp_path / "x", seed=1, scale=0.02, rank=16))
    prompts, few = REQUESTS[1:4], ["code", "none of these"]
    for adapter in (None, "L0-x"):
        found = engine.choose(prompts, few, adapter)
        rows = [engine.tokens(prompt) for prompt in prompts]
        assert close(found, plain_choices(engine, rows, engine.choice_tokens(few)))
        answers = engine.generate(prompts, adapter, 3)
        for answer, row in zip(answers, rows, strict=True):
            with torch.inference_mode():
                whole = torch.tensor([row + list(answer.token_ids)])
                logp = engine.model(input_ids=whole).logits[0].log_softmax(-1)[len(row) - 1 : -1]
            assert logp.argmax(-1).tolist() == list(answer.token_ids)
            plain = logp.gather(1, torch.tensor(answer.token_ids)[:, None])[:, 0].tolist()
            assert answer.logprobs == pytest.approx(plain, abs=1e-4)


@pytest.mark.base
def test_real_template_names_the_assistant(smollm: Path) -> None:
    """A conversation without a system text gets the template's own, and ends where the answer begins."""
    engine = LocalEngine(smollm, "b" * 64)
    text = engine.tokenizer.decode(engine.tokens((ChatMessage(role="user", content="hi"),)))
    assert text.startswith("<|im_start|>system\nYou are a helpful AI assistant named SmolLM")
    assert text.endswith("<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n")
    assert [len(tokens) for tokens in engine.choice_tokens(CHOICES)] == [1, 1, 1, 1]
    assert engine.eos_ids == (2,)


def test_tokens_are_gone_on_from_as_they_are(engine: LocalEngine) -> None:
    """Greedy, the same answers as to the conversations that they spell; an answer read again goes on from itself."""
    rows = [engine.tokens(prompt) for prompt in REQUESTS]
    said = engine.generate(REQUESTS, "L0-one", 6)
    told = engine.generate_tokens(rows, "L0-one", 6, 0.0, range(len(rows)))
    first = engine.generate_tokens([rows[1]], None, 2, 0.0, [0])[0].token_ids
    rest = engine.generate_tokens([[*rows[1], *first]], None, 4, 0.0, [0])[0].token_ids

    assert [one.token_ids for one in told] == [one.token_ids for one in said]
    assert (*first, *rest) == engine.generate_tokens([rows[1]], None, 6, 0.0, [0])[0].token_ids


def test_a_prompt_with_a_seed_of_its_own_draws_alone_what_it_draws_in_company(engine: LocalEngine) -> None:
    """Whatever else is asked and in whatever order; other seeds draw otherwise."""
    rows = [engine.tokens(prompt) for prompt in REQUESTS[:5]] * 2
    together = engine.generate_tokens(rows, None, 6, 1.0, range(10))
    backwards = engine.generate_tokens(rows[::-1], None, 6, 1.0, range(9, -1, -1))
    alone = [engine.generate_tokens([row], None, 6, 1.0, [seed])[0] for seed, row in enumerate(rows)]

    assert [one.token_ids for one in together] == [one.token_ids for one in alone]
    assert together == backwards[::-1]
    assert [one.token_ids for one in together[:5]] != [one.token_ids for one in together[5:]]


def test_tokens_without_seeds_or_without_a_token_are_refused(engine: LocalEngine) -> None:
    """Rather than answered with somebody else's draw."""
    for rows, seeds in (([[1]], []), ([[]], [1])):
        with pytest.raises(ContractError, match="each needs one, and a token at least"):
            engine.generate_tokens(rows, None, 2, 1.0, seeds)
