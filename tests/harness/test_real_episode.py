"""Episodes of the real base model at the real desk."""

import pytest

from rsi.engine.chat import Dialogue
from rsi.engine.local import LocalEngine
from rsi.environments import kind
from rsi.harness.episode import Speaker, Stop
from rsi.harness.loop import Play, Table, play
from rsi.harness.rules import Rules
from rsi.records import Pool
from rsi.verifiers import final_state

pytestmark = pytest.mark.base


def test_the_sampled_tokens_have_the_log_probs_of_the_conversation_they_stand_in(smollm):
    """Scored again in the whole conversation, each sampled token has the log-prob it was drawn with."""
    import torch

    engine = LocalEngine(smollm, "b" * 64)
    table = Table(Dialogue(engine.tokenizer), Rules(turns=2, answer_tokens=6), final_state.check)
    plays = [Play(task, 7, kind("desk").open) for task in kind("desk").tasks(2, 1, Pool.TRAIN)]

    episodes = play(plays, table, engine, None)

    for episode in episodes:
        assert episode.stop is not Stop.CRASH
        assert 1 <= sum(turn.speaker is Speaker.ANSWER for turn in episode.turns) <= 2
        with torch.inference_mode():
            logits = engine.model(torch.tensor([episode.tokens])).logits[0]
        scored = (
            logits.double().log_softmax(-1)[:-1].gather(1, torch.tensor(episode.tokens[1:])[:, None])[:, 0]
        )
        again = [logp for logp, drawn in zip(scored.tolist(), episode.mask[1:], strict=True) if drawn]
        assert again == pytest.approx(episode.logprobs, abs=1e-3)
    assert play(plays, table, engine, None) == episodes
