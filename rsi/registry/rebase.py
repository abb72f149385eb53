"""A change that was made for one champion, put on another that came into service in between."""

from rsi.errors import RefusedError
from rsi.ids import Digest
from rsi.records import Version
from rsi.registry import versions
from rsi.settings import Home


def rebased(home: Home, replaces: str, candidate: str, in_service: str) -> Digest:
    """The version in service with the candidate's change, kept and named.

    Args:
        replaces: the champion that the candidate was made from.
        candidate: the version that was to replace it.
        in_service: the champion now.

    Raises:
        RefusedError: what the candidate changes was changed in between as well, or nothing is left of the change.
    """
    before, after, now = (versions.load(home, one) for one in (replaces, candidate, in_service))
    if before.base != now.base:
        raise RefusedError(_again("the base model", in_service))
    harness = now.harness
    if after.harness != before.harness:
        if now.harness != before.harness:
            raise RefusedError(_again("the harness", in_service))
        harness = after.harness
    made = Version(base=now.base, adapters=_adapters(before, after, now), harness=harness, parent=in_service)
    if (made.adapters, made.harness) == (now.adapters, now.harness):
        raise RefusedError(f"version {in_service[:12]}, which is in service, has this change already")
    return versions.save(home, made)


def _adapters(before: Version, after: Version, now: Version) -> dict[str, str]:
    found = dict(now.adapters)
    for role in sorted({*before.adapters, *after.adapters}):
        was, wanted = before.adapters.get(role), after.adapters.get(role)
        if was == wanted:
            continue
        if now.adapters.get(role) != was:
            raise RefusedError(_again(f"the adapter of {role}", now.digest))
        if wanted is None:
            del found[role]
        else:
            found[role] = wanted
    return found


def _again(what: str, in_service: str) -> str:
    return f"{what} was changed in between, by version {in_service[:12]}; make the candidate again from that one"
