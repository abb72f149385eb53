"""Made-up traffic of a booking agent with a failure planted in it: one argument of one tool, in a known share."""

import random
from collections.abc import Iterator

from rsi.discover.facts import TraceFacts
from tests.discover.facts_made import call, facts, score

TOOL, ARGUMENT = "book_flight", "cabin"
PLANTED = f"wrong_arguments:{TOOL}:{ARGUMENT}"
_CITIES = ("Oslo", "Lima", "Cairo", "Perth", "Osaka")


def traffic(
    version: str, count: int, planted: float, *, seed: int = 1, start: int = 0, other: float = 0.06
) -> Iterator[TraceFacts]:
    """So many traces of a version: `planted` of them book another cabin, `other` fail in one of many other ways."""
    draw = random.Random(f"{seed} {version} {start}")
    for number in range(start, start + count):
        yield _trace(draw, f"{version}-{seed}-{number:06d}", version, number, planted, other)


def _trace(
    draw: random.Random, uid: str, version: str, number: int, planted: float, other: float
) -> TraceFacts:
    city = draw.choice(_CITIES)
    wanted = {"city": city, "cabin": draw.choice(("economy", "business")), "bags": draw.randrange(3)}
    done, passed, trouble = dict(wanted), True, None
    drawn = draw.random()
    if drawn < planted:
        done["cabin"], passed = ("business" if wanted["cabin"] == "economy" else "economy"), False
    elif drawn < planted + other:
        passed = False
        way = draw.randrange(6)
        if way == 0:
            done["bags"] = 9
        elif way == 1:
            done["city"] = "nowhere"
        elif way == 2:
            trouble = draw.choice(("timeout", "rate limit reached", "context too long", "no such model"))
    calls = [call("search", city=city), call(TOOL, **done)]
    if draw.random() < 0.03:
        calls.insert(0, call("search", error="Error: service busy", city=city))
    return facts(
        uid, version=version, start_ns=number + 1, outcome="pass" if passed else "fail", decided_by="reward",
        expected=[(TOOL, wanted)], error=trouble, scores=(score("reward", float(passed)),), calls=tuple(calls),
    )  # fmt: skip
