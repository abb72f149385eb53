"""Signs of failure in one trace, and what it gave a chance to fail at. Pure: facts in, signs out.

| kind | signature | sign of failure | opportunity |
| --- | --- | --- | --- |
| route | ``route:<expected>-><routed>`` | routed elsewhere than corrected | that role was expected |
| tool_error | ``tool_error:<tool>:<words>`` | the tool answered with an error | the tool was called |
| missing_action | ``missing_action:<tool>`` | an expected action was not done | it was expected |
| wrong_arguments | ``wrong_arguments:<tool>:<argument>`` | done with another value | it was expected |
| unexpected_action | ``unexpected_action:<tool>`` | done though not expected | the tool was called |
| missing_output | ``missing_output:words`` | what was to be said was not | something was to be said |
| invalid_arguments | ``invalid_arguments:<tool>:<fault>`` | not as the schema says | the tool was called |
| unknown_tool | ``unknown_tool`` | a tool was called that is not on offer | the trace says what is |
| retry | ``retry:<tool>`` | the same call right behind its error | the tool was called |
| loop | ``loop:<tools>`` | the same calls and answers three times in a row, or four times | the tool was called |
| give_up | ``give_up:<tool or refusal>`` | handed over, or a refusal is the last word | every trace |
| format | ``format:<what>`` | a tool call's markup as text, or a score of the form | every trace, or that score |
| cut | ``cut:answer`` | an answer reached its limit of tokens | every trace |
| rule | ``rule:<score or guardrail>:<basis>`` | a check that names its rule is below 0.5 | that score was given |
| feedback | ``feedback:<score>`` | a person's score is below 0.5, beside what decides | that score was given |
| error | ``error:<words>`` | the run broke | every trace |
| correction | ``correction:<score>`` | somebody wrote what would have been right | that score was given |
| state | ``state:<score>:<basis>`` | the world's end state is not the expected one | that score was given |
| disagreement | ``disagreement:<score>`` | failed where another run of the task passed | runs repeat the task |
| slow, costly | ``slow:<agent>``, ``slow:<tool>:tool`` | an outlier of its group (`window`) | it was measured |
| outcome | ``outcome:<score>:<basis>`` | failed, and nothing above says why | that score was given |

Actions count on runs that did not pass, of traces that say what was expected. Giving up counts where a tool by
its name hands over to a person though the task does not expect it, on runs that did not pass; a refusal by its
opening words, where the run failed. The kinds of `signs.WEAK` say that something went wrong and not what, so
they do not keep an outcome from being unexplained.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rsi.discover.facts import TraceFacts
from rsi.discover.localise import Localisation, localise
from rsi.discover.signals import actions, conduct, others, scores, tools
from rsi.discover.signs import NO_ROUTE, WEAK, Chance, Found, Kind, Sign, words
from rsi.discover.window import Window

__all__ = ["FAMILIES", "NO_ROUTE", "Chance", "Kind", "Sign", "Signals", "signals", "words"]

FAMILIES: tuple[Callable[[TraceFacts, Window, Localisation | None], Found], ...] = (
    scores.route,
    scores.corrections,
    scores.judged,
    scores.guardrails,
    tools.errors,
    tools.arguments,
    tools.broke,
    tools.slow_tools,
    actions.actions,
    actions.outputs,
    conduct.retries,
    conduct.loops,
    conduct.give_ups,
    conduct.forms,
    others.outliers,
    others.trials,
)
"""What looks for signs, one line a family."""
_EVIDENCE = 5
"""Places that one sign of a trace names."""
_EVERYTHING = Window()


@dataclass(frozen=True)
class Signals:
    """What one trace says."""

    signs: frozenset[Sign]
    chances: frozenset[Chance]
    localised: Localisation | None = None
    """Where a failed run first went wrong."""


def signals(facts: TraceFacts, window: Window = _EVERYTHING) -> Signals:
    """Signs and chances of one trace, beside the others of its night; equal signs are one, with their evidence."""
    where = localise(facts, window)
    found = [family(facts, window, where) for family in FAMILIES]
    signs = _merged(sign for some, _ in found for sign in some)
    if all(sign.kind in WEAK for sign in signs):
        signs = _merged([*signs, *scores.unexplained(facts, where)])
    chances = frozenset(chance for _, some in found for chance in some)
    return Signals(frozenset(signs), chances, where)


def _merged(signs: Iterable[Sign]) -> list[Sign]:
    kept: dict[Sign, list[Sign]] = {}
    for sign in signs:
        kept.setdefault(sign, []).append(sign)
    return [
        Sign(
            one.kind,
            one.subject,
            one.detail,
            one.chance,
            one.blame,
            tuple(dict.fromkeys(seen for sign in equal for seen in sign.evidence))[:_EVIDENCE],
        )
        if len(equal) > 1
        else one
        for one, equal in kept.items()
    ]
