"""A trace against the others of its night: slow, costly, failed where another run of the task passed."""

from rsi.discover.facts import TraceFacts
from rsi.discover.localise import Localisation
from rsi.discover.signs import Chance, Found, Kind, Sign
from rsi.discover.window import Window, agent_of
from rsi.records import Blame, Evidence


def outliers(facts: TraceFacts, window: Window, where: Localisation | None) -> Found:
    """A run that took or cost far more than others of its agent."""
    agent, signs, chances = agent_of(facts), list[Sign](), set[Chance]()
    measured = (
        (Kind.SLOW, facts.seconds, window.slow.get(agent), "s", Blame.ENVIRONMENT),
        (Kind.COSTLY, facts.cost_usd, window.costly.get(agent), "USD", Blame.HARNESS),
    )
    for kind, value, limit, unit, blame in measured:
        if value is None or limit is None:
            continue
        chance = Chance("measured", f"{kind.value} {agent}")
        chances.add(chance)
        if value > limit:
            says = f"{value:.3g} {unit}, where {limit:.3g} {unit} is unusual"
            seen = Evidence(trace_uid=facts.trace_uid, says=says)
            signs.append(Sign(kind, agent, "", chance, blame, (seen,)))
    return signs, chances


def trials(facts: TraceFacts, window: Window, where: Localisation | None) -> Found:
    """Failed where another run of its task passed."""
    siblings = window.siblings(facts)
    if siblings.passed + siblings.failed < 2 or facts.outcome not in ("pass", "fail"):
        return [], set()
    chance = Chance("repeated", facts.decided_by or "error")
    if facts.outcome == "pass" or not siblings.passed:
        return [], {chance}
    says = f"{siblings.passed} of {siblings.passed + siblings.failed} runs of the task passed"
    seen = Evidence(trace_uid=facts.trace_uid, says=says)
    if where is not None and where.message is not None:
        seen = seen.model_copy(
            update={
                "message_uid": where.message_uid,
                "call_uid": where.call_uid,
                "says": f"{says}; {where.why}",
            }
        )
    blame = where.blame if where else Blame.MODEL
    return [Sign(Kind.DISAGREEMENT, facts.decided_by or "error", "", chance, blame, (seen,))], {chance}
