"""Injection: text of a task that speaks to a judge, a trainer or the machine around the model.

Patterns find what is written plainly; they do not understand. A legitimate task about prompts or graders may be
refused, which is why a person can overrule a refusal.
"""

import re
import unicodedata
from enum import StrEnum
from typing import NamedTuple

SHOWN = 160
"""Characters of evidence."""


class Trick(StrEnum):
    """What was found."""

    TEMPLATE = "chat_template_token"
    ROLE = "fake_role_marker"
    JUDGE = "instruction_to_a_judge"
    OVERRIDE = "instruction_override"
    UNSEEN = "hidden_characters"


class Injection(NamedTuple):
    """One find."""

    trick: Trick
    span: str
    """What stands there, invisible characters by their numbers."""


_GRADER = (
    r"(?:judge|grader|evaluator|marker|verifier|reward model|reviewer model|scoring (?:model|system)|LLM)"
)
_ANSWER = r"(?:answers?|responses?|outputs?|solutions?|submissions?|completions?|repl(?:y|ies))"
_RULES = r"(?:instructions?|rules|guidelines|directions|prompts?|rubrics?|criteria|system (?:prompt|message))"
_PATTERNS: tuple[tuple[Trick, re.Pattern[str]], ...] = (
    (
        Trick.TEMPLATE,
        re.compile(
            r"<\|[\w/ .:-]{2,40}\|>|<｜[^｜\n]{2,40}｜>|\[/?INST\]|<</?SYS>>|</?s>|<\/?(?:start|end)_of_turn>|"
            r"<\/?(?:bos|eos|pad|unk)>|\[/?(?:AVAILABLE_TOOLS|TOOL_RESULTS|TOOL_CALLS|SYSTEM_PROMPT)\]|"
            r"</?(?:think|tool_call|tool_response|function_calls|system|assistant)>",
            re.IGNORECASE,
        ),
    ),
    (
        Trick.ROLE,
        re.compile(
            r"(?:^|\n)[ \t>*#_]{0,6}(?:system|assistant|human|developer|###\s*(?:instruction|response))"
            r"[*_]{0,2}[ \t]{0,2}:[*_ \t]{0,4}(?=\S|\n)|"
            r"\"role\"\s*:\s*\"(?:system|assistant|developer)\"",
            re.IGNORECASE,
        ),
    ),
    (
        Trick.JUDGE,
        re.compile(
            rf"\b(?:dear|attention|note to(?: the)?|hey|to the|message (?:to|for)(?: the)?) (?:AI )?{_GRADER}\b|"
            rf"\b(?:mark|grade|score|rate|rank|judge|label|accept|count) (?:this|the|my|any|every|all)\b"
            rf"(?: \w+){{0,2}} {_ANSWER} as (?:fully |always )?"
            r"(?:correct|right|passed|passing|perfect|best|better|true|valid|the winner)|"
            r"\b(?:give|award|assign|return|output) (?:it |this |me |them |yourself )?(?:a |the )?"
            r"(?:full marks|full credit|(?:maximum|highest|perfect|top) (?:score|reward|grade|rating)|"
            r"(?:score|reward|grade|rating) of (?:10|1\.0|100|5|1)\b)|"
            rf"\b(?:if|as|since) you(?: are| ?['’]re) (?:a |an |the )?(?:AI )?{_GRADER}\b|"
            r"\[\[(?:[ABC]|\d{1,2}|rating)\]\]|\bverdict\s*[:=]\s*(?:pass|correct|\[\[)",
            re.IGNORECASE,
        ),
    ),
    (
        Trick.OVERRIDE,
        re.compile(
            r"\b(?:ignore|disregard|forget|override|bypass|do not follow|stop following)\b(?: \w+){0,3} "
            rf"(?:previous|prior|above|earlier|preceding|original|existing|your|system)(?: \w+){{0,2}} {_RULES}|"
            rf"\b(?:ignore|disregard|forget) (?:all|any|everything)(?: \w+){{0,3}} (?:above|before|{_RULES})|"
            r"\b(?:reveal|print|repeat|show|output|leak) (?:me )?(?:your|the) (?:hidden |full |entire |original )?"
            r"(?:system prompt|system message|initial instructions|secret instructions)|"
            r"\byou are now (?:in )?(?:DAN|developer mode|jailbroken|unrestricted)\b|"
            r"\bfrom now on,? you (?:must|will|shall) (?:always|only|never)\b",
            re.IGNORECASE,
        ),
    ),
)
_MAYBE_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
    "|[\x00-\x08\x0b\x0e-\x1f\x7f]"
)
_JOINERS = "\u200c\u200d"
_EMOJI_STYLE = "\ufe0e\ufe0f"
_MARKS = "\u200e\u200f\u061c"


def injection(text: str) -> Injection | None:
    """The first trick in a text, plain patterns before hidden characters; null where there is none."""
    for trick, pattern in _PATTERNS:
        found = pattern.search(text)
        if found:
            return Injection(trick, text[max(found.start() - 20, 0) : found.end() + 60].strip()[:SHOWN])
    return None if text.isascii() and text.isprintable() else _unseen(text)


def _unseen(text: str) -> Injection | None:
    """Characters that a person does not see and a model reads: tags, zero-width, bidi controls, fillers."""
    for found in _MAYBE_UNSEEN.finditer(text):
        at = found.start()
        if not _belongs(text, at):
            around = text[max(at - 20, 0) : at + 40]
            shown = _MAYBE_UNSEEN.sub(lambda one: f"<U+{ord(one[0]):04X}>", around)
            return Injection(Trick.UNSEEN, shown[:SHOWN])
    return None


def _belongs(text: str, at: int) -> bool:
    """Whether scripts and emoji need the character where it stands."""
    one, before, after = text[at], text[at - 1 : at], text[at + 1 : at + 2]
    if one == "\ufeff":
        return at == 0
    if one in _JOINERS:
        return bool(before and after) and not (before + after).isascii() and _joins(before)
    if one in _EMOJI_STYLE:
        return bool(before) and (not before.isalpha() or ord(before) > 0x2E80)
    if one in _MARKS:
        return any(unicodedata.bidirectional(near) in ("R", "AL") for near in text[max(at - 8, 0) : at + 9])
    if "\U000e0020" <= one <= "\U000e007f":
        # The flags of England, Scotland and Wales are a black flag and a few tags.
        begin = at
        while begin and "\U000e0020" <= text[begin - 1] <= "\U000e007f":
            begin -= 1
        return text[begin - 1 : begin] == "\U0001f3f4" and at - begin < 7
    return one == "\u00ad" and before.isalpha() and after.isalpha()


def _joins(before: str) -> bool:
    """Whether joiners follow such a character: emoji, and letters of scripts that join."""
    return not before.isalpha() or unicodedata.bidirectional(before) in ("R", "AL") or ord(before) >= 0x0900
