"""What others said of a trace: routes, corrections, feedback, rules, the state of the world, an unexplained outcome."""

import re

from rsi.discover.facts import ScoreFact, TraceFacts
from rsi.discover.localise import Localisation
from rsi.discover.signs import NO_ROUTE, ROUTE, Chance, Found, Kind, Sign
from rsi.discover.window import Window
from rsi.records import Blame, Evidence

_JUDGES = ("human", "label", "end_user")
"""Whose correction counts where several were given; anybody else comes after."""
_PEOPLE = ("human", "end_user")
_STATE = {"DB", "ENV_ASSERTION", "r_actions"}
"""Bases that compare the world's state, in the words of tau-bench and tau2."""
_STATES = {"db_check", "env_assertion", "state"}
_NAMED = re.compile(r"[A-Za-z][\w.:+-]{0,59}")
"""A basis that is a name; sentences about one task name no rule."""
_FORMAT = re.compile(r"(^|[_\W])format", re.IGNORECASE)
_GOOD = 0.5
_PLACES = 5


def route(facts: TraceFacts, window: Window, where: Localisation | None) -> Found:
    """Routed elsewhere than somebody with authority said."""
    judged = [score for score in facts.scores if score.name == ROUTE]
    corrected = [score for score in judged if score.correction is not None]
    routed = facts.route or NO_ROUTE
    if corrected:
        expected = min(corrected, key=_authority).correction
    elif any(score.value is not None and score.value >= _GOOD for score in judged):
        expected = facts.route
    else:
        expected = None
    if expected is None:
        return [], set()
    chance = Chance("expected role", expected)
    if expected == routed:
        return [], {chance}
    seen = Evidence(trace_uid=facts.trace_uid, says=f"routed to {routed}, corrected to {expected}")
    return [Sign(Kind.ROUTE, expected, routed, chance, evidence=(seen,))], {chance}


def _authority(score: ScoreFact) -> tuple[int, int, str]:
    """Least first: people before labels before others, the latest of equals."""
    place = _JUDGES.index(score.source) if score.source in _JUDGES else len(_JUDGES)
    return place, -(score.ts_ns or 0), score.correction or ""


def corrections(facts: TraceFacts, window: Window, where: Localisation | None) -> Found:
    """Somebody wrote what would have been right."""
    signs = [
        Sign(Kind.CORRECTION, score.name, "", Chance("scored", score.name), evidence=(_seen(facts, score),))
        for score in facts.scores
        if score.correction is not None and score.name != ROUTE
    ]
    return signs, {Chance("scored", score.name) for score in facts.scores}


def judged(facts: TraceFacts, window: Window, where: Localisation | None) -> Found:
    """Bad scores beside the one that decides: of people, of the world's state, of a form, of a rule that they name."""
    signs = []
    for score in facts.scores:
        if score.value is None or score.value >= _GOOD or score.name == ROUTE:
            continue
        basis = score.basis if score.basis and _NAMED.fullmatch(score.basis) else ""
        kind = _kind(score)
        if kind is not Kind.STATE and score.name == facts.decided_by:
            continue
        signs.append(
            Sign(
                kind,
                score.name,
                basis,
                Chance("scored", score.name),
                where.blame if where and kind is Kind.STATE else Blame.MODEL,
                (_seen(facts, score),),
            )
        )
    return signs, set()


def _kind(score: ScoreFact) -> Kind:
    if score.source in _PEOPLE:
        return Kind.FEEDBACK
    if score.name in _STATES or (score.basis and not _STATE.isdisjoint(score.basis.split("+"))):
        return Kind.STATE
    return Kind.FORMAT if _FORMAT.search(score.name) else Kind.RULE


def guardrails(facts: TraceFacts, window: Window, where: Localisation | None) -> Found:
    """A guardrail that did not pass names the rule."""
    signs = [
        Sign(
            Kind.RULE,
            span.name,
            "",
            Chance("trace"),
            evidence=(
                Evidence(trace_uid=facts.trace_uid, span_uid=span.span_uid, says=(span.error or "")[:200]),
            ),
        )
        for span in facts.stopped
    ]
    return signs, set()


def unexplained(facts: TraceFacts, where: Localisation | None) -> list[Sign]:
    """A failed outcome that no other sign explains."""
    if facts.outcome != "fail" or facts.decided_by is None:
        return []
    failing = [score for score in facts.scores if score.name == facts.decided_by]
    basis = min((score.basis for score in failing if score.basis is not None), default="")
    chance = Chance("scored", facts.decided_by)
    seen = [where.evidence(facts.trace_uid)] if where and where.message is not None else []
    seen += [_seen(facts, score) for score in sorted(failing, key=lambda one: one.score_uid)]
    blame = where.blame if where else Blame.MODEL
    return [Sign(Kind.OUTCOME, facts.decided_by, basis, chance, blame, tuple(seen[:_PLACES]))]


def _seen(facts: TraceFacts, score: ScoreFact) -> Evidence:
    said = f"{score.name} was corrected"
    if score.correction is None and score.value is not None:
        said = f"{score.name} is {score.value:g} of 1" + (f" ({score.basis[:120]})" if score.basis else "")
    return Evidence(trace_uid=facts.trace_uid, says=said)
