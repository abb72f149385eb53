"""Scores of a tau2-bench simulation: the reward, and beside it every check that was made.

Checks that are not in the reward's basis do not decide it: a reward of 1 stands beside actions that failed.
"""

from rsi.traces.formats import fields
from rsi.traces.formats.run import Judgement
from rsi.traces.rows import Json, JsonObject

_REVIEWS = ("review", "user_only_review", "hallucination_check", "auth_classification")
"""What a model said about the conversation afterwards."""


def judgements(simulation: JsonObject) -> tuple[Judgement, ...]:
    """The reward, its parts, each check, and reviews."""
    info = fields.table(simulation.get("reward_info"))
    found = [_reward(info)] if info.get("reward") is not None else []
    found += _breakdown(info)
    found += _checks(info)
    for name in _REVIEWS:
        if review := fields.table(simulation.get(name)):
            found.append(_review(name, review))
    return tuple(found)


def _reward(info: JsonObject) -> Judgement:
    value = _share(info["reward"])
    beside = {key: info[key] for key in ("reward_breakdown", "info") if info.get(key)}
    if value is None:
        beside["reward"] = info["reward"]
    basis = [one for one in fields.listing(info.get("reward_basis")) if isinstance(one, str)]
    return Judgement(
        "reward", value, said=beside or None, source="env", basis="+".join(basis) or None, native_id="reward"
    )


def _breakdown(info: JsonObject) -> list[Judgement]:
    return [
        Judgement("breakdown", _share(value), None if _share(value) is not None else value, source=_source(part),
                  basis=part, native_id=f"breakdown {part}")
        for part, value in fields.table(info.get("reward_breakdown")).items()
    ]  # fmt: skip


def _checks(info: JsonObject) -> list[Judgement]:
    found = []
    if database := fields.table(info.get("db_check")):
        value = _share(database.get("db_reward", database.get("db_match")))
        found.append(Judgement("db_check", value, database, source="env", basis="DB", native_id="db_check"))
    for index, one in enumerate(fields.tables(info.get("action_checks"))):
        value = _share(one.get("action_reward", one.get("action_match")))
        name = fields.named(fields.table(one.get("action")).get("name"))
        found.append(_check("action_check", index, value, one, name))
    for index, one in enumerate(fields.tables(info.get("env_assertions"))):
        value = _share(one.get("reward", one.get("met")))
        name = fields.named(fields.table(one.get("env_assertion")).get("func_name"))
        found.append(_check("env_assertion", index, value, one, name))
    for index, one in enumerate(fields.tables(info.get("communicate_checks"))):
        found.append(
            _check("communicate_check", index, _share(one.get("met")), one, fields.named(one.get("info")))
        )
    for index, one in enumerate(fields.tables(info.get("nl_assertions"))):
        named = fields.named(one.get("nl_assertion"))
        found.append(_check("nl_assertion", index, _share(one.get("met")), one, named))
    return found


def _check(name: str, index: int, value: float | None, said: JsonObject, basis: str | None) -> Judgement:
    return Judgement(
        name,
        value,
        said,
        source="llm" if name == "nl_assertion" else "env",
        basis=basis,
        comment=fields.named(said.get("justification")),
        native_id=f"{name} {index}",
    )


def _review(name: str, review: JsonObject) -> Judgement:
    """A review judges the agent where it says so; the others are about the simulated user."""
    found = review.get("agent_error")
    value = None
    if name == "review" and isinstance(found, bool):
        value = 0.0 if found else 1.0
    comment = fields.named(review.get("summary")) or fields.named(review.get("reasoning"))
    return Judgement(name, value, review, source="llm", comment=comment, native_id=name)


def _source(part: str) -> str:
    return "llm" if part == "NL_ASSERTION" else "env"


def _share(value: Json) -> float | None:
    """A number of 0 to 1; true and false count."""
    number = fields.number(value)
    return number if number is not None and 0 <= number <= 1 else None
