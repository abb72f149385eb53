"""A request that another promotion made stale: its change is gated again on the version in service, and asked about."""

from rsi.context import Context, Start, World
from rsi.errors import RefusedError
from rsi.gate.stage import judge
from rsi.ids import Night
from rsi.night import Ending, lock
from rsi.records import Judgement
from rsi.registry import approval, champion
from rsi.registry.rebase import rebased
from rsi.settings import Deployment, Home
from rsi.store.ledger import Ledger


def rebase(home: Home, deployment: Deployment, world: World, name: str) -> Ending:
    """Gate the change of a request again; a passed verdict opens a request of its own, and the old one is over.

    Raises:
        RefusedError: there is no such request, it is not stale, or what it changes was changed in between.
        QuietError: a night runs.
    """
    ledger = Ledger(home.ledger, world.clock)
    request = next((one for one in approval.requests(ledger) if one.verdict == name), None)
    in_service = champion.current(ledger)
    stands = request.standing(world.clock.now(), in_service) if request else None
    if request is None or stands is not approval.Standing.STALE:
        said = f"is {stands.value}" if stands else "was never made"
        raise RefusedError(f"the request about verdict {name[:12]} {said}; only a stale one is gated again")
    if request.role == approval.BACK:
        raise RefusedError(
            f"the request about verdict {name[:12]} is about going back from a version that is no longer in service; "
            "`rsi watch` looks at the one that is"
        )
    with lock(home, world, Night(request.night)):
        made = rebased(home, request.replaces, request.candidate, in_service)
        start = Start(
            night=request.night, champion=in_service, ordinal=0, deployment=deployment.digest, previous=None
        )
        verdict = approval.verdict(home, judge(Context(home, deployment, world, start), made))
        if verdict.judgement is Judgement.PASS:
            approval.open_request(home, world.clock, deployment, verdict, request.authors)
        approval.settle_rebase(home, world.clock, name, verdict)
    what = "a person was asked" if verdict.judgement is Judgement.PASS else "the champion stays"
    found = f"verdict {verdict.digest[:8]}, {verdict.judgement.value}"
    reason = f"verdict {name[:8]} gated again on {in_service[:12]}: {found}; {what}"
    return Ending(request.night, verdict.digest, verdict.judgement.value, reason)
