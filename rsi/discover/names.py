"""Failure modes named by a model, where the deployment says so; else the template's title stays.

Requests are shown to the model between two fences whose token depends on all of them, so that none of them can know it;
of the answer one short line of plain characters is kept. A mode keeps the name that a model gave it, so that only
new ones are asked for, at most `MOST` a night, most important first.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from rsi.ids import digest
from rsi.ports import Engine
from rsi.records import ChatMessage, FailureMode, Modes

MOST = 20
LONGEST = 80
_ASKED = 300
"""Characters of a request."""
_TOKENS = 40
_PROMPT = Path(__file__).with_name("name.txt").read_text()
_BY = f"model {digest(_PROMPT)[:12]}"
"""What a record says of a name: that a model gave it, and the digest of the prompt."""
_ODD = re.compile(r"https?:|www\.|[<>`{}\[\]]")


def named(
    modes: Modes,
    previous: Modes | None,
    engine: Engine,
    texts: Mapping[str, str],
) -> Modes:
    """The same modes with names by the model, where it gave one that can be used; `texts` by trace: what was asked."""
    before = {one.mode_id: one for one in previous.modes} if previous else {}
    found, asked = [], 0
    for mode in modes.modes:
        known = before.get(mode.mode_id)
        if mode.titled_by != "template":
            found.append(mode)
        elif known is not None and known.titled_by == _BY:
            found.append(mode.model_copy(update={"title": known.title, "titled_by": _BY}))
        elif asked < MOST:
            asked += 1
            found.append(_named(mode, engine, texts))
        else:
            found.append(mode)
    return modes.model_copy(update={"modes": tuple(found)})


def _named(mode: FailureMode, engine: Engine, said: Mapping[str, str]) -> FailureMode:
    requests = [" ".join(said[one].split())[:_ASKED] for one in mode.examples if one in said]
    if not requests:
        return mode
    fence = f"=== {digest([mode.mode_id, requests])[:16]} ==="
    prompt = _PROMPT.format(title=mode.title, fence=fence, examples="\n".join(f"- {one}" for one in requests))
    (answer,) = engine.generate([(ChatMessage(role="user", content=prompt),)], None, _TOKENS)
    title = cleaned(answer.text)
    return mode if title is None else mode.model_copy(update={"title": title, "titled_by": _BY})


def cleaned(answer: str) -> str | None:
    """The first line of an answer as a title; null where it is none: nothing, too long, a link, markup."""
    line = next((one for one in answer.splitlines() if one.strip()), "")
    plain = " ".join("".join(c if c.isprintable() else " " for c in line).split()).strip("\"'*_#.-– ")
    if len(plain.split()) < 2 or len(plain) > LONGEST or _ODD.search(plain) or "===" in plain:
        return None
    return plain
