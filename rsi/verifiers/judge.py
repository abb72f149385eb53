"""A judge with a rubric: is the answer at least as good as a reference?

`expected` is ``{"question": …, "rubric": …, "reference": …}``. The judge (`rsi.ports.Judge`) sees both answers without
their names, in both orders, and says one word of a closed set. At least as good both times is 1, worse both times is 0.
A verdict that turns with the order, another word, or no word is no score: an *error*, counted apart. The reference
itself, letter for letter, is as good as itself, and nobody is asked.
"""

import hashlib
import string
from collections.abc import Callable
from functools import partial
from importlib.resources import files

import orjson

from rsi.errors import TransientError
from rsi.ids import Digest, digest_bytes
from rsi.ports import Engine, Judge, Preference
from rsi.records import ChatMessage, Outcome
from rsi.verifiers.outcomes import empty, error, invalid, scored, wrong_format

LONGEST = 20_000
"""Most characters of an answer."""
TOKENS = 8
"""Cap on a verdict."""
AWAY = "the judge cannot be reached"
"""How the detail of an error begins that another day may mend."""
_FIELDS = {"question", "rubric", "reference"}


class EngineJudge:
    """A model behind any engine, local or OpenAI-compatible, asked greedily."""

    def __init__(self, engine: Engine, model: str) -> None:
        """`engine` runs the judge as its bare base: a judge is not what is being trained. Records call it `model`."""
        self._engine, self._model = engine, model

    @property
    def name(self) -> str:
        """Model and digest of the prompt's template."""
        return named(self._model)

    def prefer(self, rubric: str, question: str, first: str, second: str) -> Preference | None:
        """The model's word; None where it says anything else.

        Raises:
            TransientError: the engine cannot be reached now.
        """
        text = prompt(rubric, question, first, second)
        asked = (ChatMessage(role="user", content=text),)
        said = self._engine.generate([asked], None, TOKENS)[0].text
        word = said.strip().strip(string.punctuation).casefold()
        return Preference(word) if word in set(Preference) else None


def prompt(rubric: str, question: str, first: str, second: str) -> str:
    """What a judge is asked: texts fenced by a mark that is their own hash, so that none can hold it; filled once."""
    texts = {"rubric": rubric, "question": question, "first": first, "second": second}
    mark = "#" + hashlib.sha256(orjson.dumps(list(texts.values()))).hexdigest()[:16]
    return _template().format(mark=mark, **texts)


def named(model: str) -> str:
    """What a judge is called in records: the model, and the digest of what it is asked."""
    return f"{model}/{prompt_digest()[:12]}"


def prompt_digest() -> Digest:
    """Digest of the prompt's template; a judge's name ends in it, and stands in what it decided."""
    return digest_bytes(_template().encode())


def bound(one: Judge) -> Callable[[str, str], Outcome]:
    """The check of a judge."""
    return partial(_check, one)


def check(answer: str, expected: str) -> Outcome:
    """The check while no judge is bound: only the reference itself can be scored."""
    return _check(None, answer, expected)


def gold(expected: str) -> str | None:
    """The reference."""
    found = _parse(expected)
    return found["reference"] if found else None


def _check(one: Judge | None, answer: str, expected: str) -> Outcome:
    wanted = _parse(expected)
    if wanted is None:
        return invalid("expected is not an object with question, rubric and reference")
    if not answer.strip():
        return empty()
    if len(answer) > LONGEST:
        return wrong_format(f"the answer has {len(answer)} characters, at most {LONGEST} are judged")
    reference = wanted["reference"]
    if answer == reference:
        return scored(True)
    if one is None:
        return error("no judge is bound to a model: [judge] in the deployment file names one")
    try:
        before = one.prefer(wanted["rubric"], wanted["question"], answer, reference)
        after = one.prefer(wanted["rubric"], wanted["question"], reference, answer)
    except TransientError as problem:
        return error(f"{AWAY}: {problem}")
    if before is None or after is None:
        return error(f"the judge gave no verdict: {one.name}")
    worse = (before is Preference.SECOND, after is Preference.FIRST)
    if worse[0] != worse[1]:
        return error(f"the verdict turns with the order: {before.value}, then {after.value}, by {one.name}")
    return scored(not worse[0], f"{before.value}, then {after.value}, by {one.name}")


def _parse(expected: str) -> dict[str, str] | None:
    try:
        found = orjson.loads(expected)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(found, dict) or found.keys() != _FIELDS:
        return None
    return found if all(isinstance(one, str) and one.strip() for one in found.values()) else None


def _template() -> str:
    return files("rsi.verifiers").joinpath("judge.txt").read_text("utf-8")
