"""Preferences: a prompt with an answer that was chosen and one that was rejected, or one answer with a label.

- ``{"prompt", "chosen", "rejected"}`` of texts or of messages, the prompt perhaps only inside both;
- ``{"conversations", "chosen": {"from", "value"}, "rejected": …}`` and ``{"instruction", "input", "chosen", …}``;
- ``{"input": {"messages"}, "preferred_output", "non_preferred_output"}``;
- ``{"prompt", "completion", "label"}``.

Each answer is a trace of its own with a score `preference`; the rejected one says what would have been right. The
answers of one prompt are on one side of the held-out split.
"""

import re
from typing import NamedTuple

from rsi.ids import digest
from rsi.traces.formats import fields
from rsi.traces.formats.logged import Logged, Named, framed, logged
from rsi.traces.formats.run import Judgement, rows
from rsi.traces.formats.sharegpt import conversation
from rsi.traces.formats.turns import Turn, last, said
from rsi.traces.rows import Json, JsonObject, Place, Reason, Refusal, Rows

NAME = "preference"
_CHOSEN = ("chosen", "preferred_output")
_REJECTED = ("rejected", "non_preferred_output")
_PROMPT = ("prompt", "conversations", "messages", "question", "query")
_OTHERS = (
    "instruction",
    "input",
    "history",
    "system",
    "completion",
    "tools",
    "score_chosen",
    "score_rejected",
)
_MARK = re.compile(r"\n\n(Human|Assistant): ?")
"""Between the turns of a dialogue that is one text."""


class Answer(NamedTuple):
    """One side of a preference."""

    side: str
    """chosen or rejected."""
    turns: tuple[Turn, ...]
    score: Json = None
    """What the set says the answer is worth, beside the choice."""


def matches(record: JsonObject) -> bool:
    """Both sides of a choice, or a completion with a label."""
    pair = any(key in record for key in _CHOSEN) and any(key in record for key in _REJECTED)
    return pair or ("completion" in record and isinstance(record.get("label"), bool) and "prompt" in record)


def read(record: JsonObject, place: Place) -> tuple[Rows | Refusal, ...]:
    """A trace for each answer."""
    prompt = asked(record)
    answers = [one for one in _answers(record) if one.turns]
    if not answers:
        return (Refusal(Reason.BAD_VALUE, "neither answer of the preference holds any text"),)
    known = {*_CHOSEN, *_REJECTED, *_PROMPT, *_OTHERS, "label"}
    frame = logged(
        {key: one for key, one in record.items() if key not in known}, {"tools": record.get("tools")}, {}
    )
    group = frame.trace_id or frame.record_id or fields.first(record, "prompt_id")
    pair = digest([group, *((one.role, one.content) for one in prompt)])
    right = next((last(one.turns, "assistant") for one in answers if one.side == "chosen"), None)
    return (*(_rows(one, prompt, frame, (group, pair), right, place) for one in answers), *frame.refusals)


def _rows(
    given: Answer,
    prompt: tuple[Turn, ...],
    frame: Logged,
    pair: tuple[str | None, str],
    right: str | None,
    place: Place,
) -> Rows:
    group, asked_digest = pair
    is_chosen = given.side == "chosen"
    heard = _whole(prompt, given.turns)
    judged = Judgement(
        name="preference",
        value=1.0 if is_chosen else 0.0,
        said=given.score,
        correction=None if is_chosen else right,
        source="human",
        annotator=fields.first(frame.metadata or {}, "annotator", "judge"),
        basis=given.side,
    )
    content: list[Json] = [asked_digest, given.side, [[one.role, one.content] for one in given.turns]]
    name = Named(f"{group}.{given.side}" if group else "", digest(content))
    made = framed(frame, NAME, name)._replace(
        turns=heard,
        model=fields.first(frame.metadata or {}, "model", f"{given.side}_model", f"model_{given.side}"),
        input_text=last(heard, "user"),
        session=asked_digest,
        judgements=(judged, *frame.judgements),
    )
    return rows(made, NAME, place)


def asked(record: JsonObject) -> tuple[Turn, ...]:
    """What both answers answer, as far as it stands apart from them."""
    system = fields.text(record.get("system"))
    opening = (said("system", system),) if system else ()
    nested = record.get("input")
    if isinstance(nested, dict):
        return opening + conversation(fields.listing(nested.get("messages")))
    prompt = next((record[key] for key in _PROMPT if isinstance(record.get(key), str | list)), None)
    if isinstance(prompt, list):
        return opening + conversation(prompt)
    if isinstance(prompt, str):
        return opening + (_dialogue(prompt) or (said("user", prompt),))
    told = "\n".join(text for key in ("instruction", "input") if (text := fields.text(record.get(key))))
    earlier = [
        said(role, fields.text(text))
        for one in fields.listing(record.get("history"))
        for role, text in zip(("user", "assistant"), fields.listing(one), strict=False)
    ]
    return (*opening, *earlier, *((said("user", told),) if told else ()))


def _answers(record: JsonObject) -> list[Answer]:
    if "completion" in record and isinstance(record.get("label"), bool):
        return [Answer("chosen" if record["label"] else "rejected", answer(record["completion"]))]
    return [
        Answer(
            side,
            answer(next((record[key] for key in keys if key in record), None)),
            record.get(f"score_{side}"),
        )
        for side, keys in (("chosen", _CHOSEN), ("rejected", _REJECTED))
    ]


def answer(given: Json) -> tuple[Turn, ...]:
    """An answer: text, a dialogue in one text, a message, or messages."""
    if isinstance(given, str):
        return _dialogue(given) or ((said("assistant", given),) if given else ())
    return conversation([given] if isinstance(given, dict) else fields.listing(given))


def _dialogue(text: str) -> tuple[Turn, ...]:
    """The turns of a text like ``\\n\\nHuman: … \\n\\nAssistant: …``; none where it is plain."""
    parts = _MARK.split(text)
    if len(parts) < 3 or parts[0].strip():
        return ()
    speakers = {"Human": "user", "Assistant": "assistant"}
    found = [said(speakers[who], what) for who, what in zip(parts[1::2], parts[2::2], strict=True)]
    return tuple(found if found[-1].content else found[:-1])


def _whole(asked: tuple[Turn, ...], answer: tuple[Turn, ...]) -> tuple[Turn, ...]:
    """Prompt and answer, where the answer does not hold the prompt already."""
    opening = next((one.content for one in asked if one.role == "user"), None)
    if any(one.role == "user" and one.content == opening for one in answer):
        system = tuple(one for one in asked if one.role == "system" and one not in answer)
        return system + answer
    return asked + answer
