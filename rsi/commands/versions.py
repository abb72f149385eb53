"""Versions: what is in service, answers to requests, promotion and rollback, lineage, the invariants."""

from typing import Annotated

import typer

from rsi.commands.say import Json, as_json, line
from rsi.engine.publish import Replica
from rsi.errors import ContractError, IntegrityError
from rsi.ids import Digest
from rsi.ports import SystemClock
from rsi.records import Approval, Decision
from rsi.registry import approval, champion
from rsi.report.progress import err
from rsi.settings import Deployment, Home
from rsi.store.ledger import Ledger

VerdictArgument = Annotated[
    str | None, typer.Argument(help="Verdict, or its first digits; the newest one that waits by default.")
]


def _verdict(home: Home, prefix: str | None) -> Digest:
    """The verdict meant, among all that people were asked about."""
    asked = approval.requests(Ledger(home.ledger, SystemClock()))
    if prefix is None:
        waiting = [one for one in asked if one.decision is None]
        if not waiting:
            raise ContractError("nothing waits for an answer; `rsi status` shows the last nights")
        return waiting[-1].verdict
    found = {one.verdict for one in asked if one.verdict.startswith(prefix.lower())}
    if len(prefix) < approval.PREFIX or len(found) != 1:
        raise ContractError(
            f"{prefix!r} names {len(found)} requests; give at least {approval.PREFIX} digits of one that "
            "`rsi status` lists"
        )
    return found.pop()


def replicas(home: Home, deployment: Deployment) -> list[Replica]:
    """Every running gateway of this home; the deployment's engine where none runs."""
    from rsi.serve.client import replicas as found
    from rsi.world import real

    return found(home, real(deployment).engine)


def status(json: Json = False) -> None:
    """What is in service, what waits for an answer, how the last nights ended."""
    from rsi.registry import versions
    from rsi.serve.client import running

    home = Home.find()
    ledger = Ledger(home.ledger, SystemClock())
    now = champion.current(ledger)
    version = versions.load(home, now)
    ends = [one for one in ledger if one.kind == "end"][-5:]
    asked = approval.requests(ledger)
    served = champion.moves(ledger)
    gateways = [one.url for one in running(home)]
    if json:
        as_json(
            {
                "champion": now,
                "since": served[-1].at,
                "version": version.model_dump(mode="json"),
                "waiting": [one.verdict for one in asked if one.decision is None],
                "nights": [{"night": one.night, **one.body} for one in ends],
                "gateways": gateways,
            }
        )
        return
    line(f"champion   {now[:12]} since {served[-1].at} ({served[-1].kind})")
    line(f"adapters   {', '.join(version.adapters.values()) or 'none: the bare base'}")
    line(f"harness    {version.harness[:12]}")
    line(f"gateways   {', '.join(gateways) or 'none running'}")
    for one in asked:
        if one.decision is None:
            line(
                f"waiting    verdict {one.verdict[:8]} of night {one.night}, until {one.expires.isoformat()}"
            )
    for record in ends:
        line(f"night      {record.night}: {record.body['reason']}")


def approve(
    verdict: VerdictArgument = None,
    approver: Annotated[str, typer.Option(prompt="Your name", help="Who answers.")] = "",
    reason: Annotated[str, typer.Option(prompt="Reason", help="Why.")] = "",
    evidence: Annotated[
        str, typer.Option(prompt="First 8 digits of the evidence digest", help="Typed from the card.")
    ] = "",
    reject: Annotated[bool, typer.Option("--reject", help="Say no.")] = False,
    json: Json = False,
) -> None:
    """Answer a request; a Prefect run that waits for its form goes on with this answer."""
    from rsi.registry.waiting import resume

    home = Home.find()
    deployment = Deployment.read(home.deployment_file)
    name = _verdict(home, verdict)
    decision = Decision.REJECT if reject else Decision.APPROVE
    said = Approval(verdict=name, decision=decision, approver=approver, reason=reason, via="command")
    record = approval.answer(home, SystemClock(), deployment, said, evidence)
    run = resume(home, said)
    if json:
        as_json({"verdict": name, "decision": decision.value, "record": record.seq, "resumed": run})
        return
    line(f"{decision.value} of verdict {name[:8]} by {record.body['approver']} is ledger record {record.seq}")
    if run:
        line(f"the waiting run {run} goes on")
    elif decision is Decision.APPROVE:
        line("no run waits for it; next: `rsi promote`")


def promote(
    verdict: Annotated[str | None, typer.Argument(help="Verdict; the last approved one by default.")] = None,
    json: Json = False,
) -> None:
    """Publish an approved candidate to every gateway, prove that it acts, and put it into service."""
    from rsi.registry.promote import promote as put
    from rsi.world import real

    home, clock = Home.find(), SystemClock()
    deployment = Deployment.read(home.deployment_file)
    if verdict is None:
        last = Ledger(home.ledger, clock).last(
            lambda one: one.kind == "approval" and one.body.get("decision") == Decision.APPROVE.value
        )
        if last is None or last.input is None:
            raise ContractError("no verdict is approved; answer one with `rsi approve`")
        name = Digest(last.input)
    else:
        name = _verdict(home, verdict)
    record = put(home, clock, name, replicas(home, deployment), real(deployment).base().folder)
    _snapshot(home)
    if json:
        as_json(record.model_dump(mode="json"))
        return
    line(
        f"version {str(record.output)[:12]} is in service (ledger record {record.seq}); back with `rsi rollback`"
    )


def rollback(
    to: Annotated[str | None, typer.Option(help="Version; the one before by default.")] = None,
    actor: Annotated[str, typer.Option(prompt="Your name", help="Who does it.")] = "",
    reason: Annotated[str, typer.Option(prompt="Reason", help="Why.")] = "",
    json: Json = False,
) -> None:
    """Put an earlier champion back into service, the same way as a promotion."""
    from rsi.registry import versions
    from rsi.registry.promote import rollback as put
    from rsi.world import real

    home = Home.find()
    deployment = Deployment.read(home.deployment_file)
    record = put(
        home,
        SystemClock(),
        versions.find(home, to) if to else None,
        actor,
        reason,
        replicas(home, deployment),
        real(deployment).base().folder,
    )
    _snapshot(home)
    if json:
        as_json(record.model_dump(mode="json"))
        return
    line(f"version {str(record.output)[:12]} is in service again (ledger record {record.seq})")


def _snapshot(home: Home) -> None:
    from rsi.store.snapshot import refresh

    refresh(home, SystemClock())


def lineage(
    version: Annotated[
        str, typer.Argument(help="`champion`, or the first digits of a version.")
    ] = "champion",
    json: Json = False,
) -> None:
    """Walk from a version to its adapter, bank, tasks and the traces they came from."""
    from rsi.registry import versions
    from rsi.registry.lineage import lineage as walk

    home = Home.find()
    ledger = Ledger(home.ledger, SystemClock())
    now = champion.current(ledger)
    name = now if version == "champion" else versions.find(home, version)
    steps = walk(home, ledger, name)
    if json:
        as_json([one.model_dump(mode="json") for one in steps])
        return
    for depth, one in enumerate(steps):
        pad = "  " * depth
        state = " (in service)" if one.version == now else " (was in service)" if one.served else ""
        line(f"{pad}version {one.version[:12]}{state}")
        line(f"{pad}  harness {one.harness[:12]}")
        for role, adapter in one.adapters.items():
            line(f"{pad}  adapter {role}: {adapter}")
        if one.verdict:
            line(f"{pad}  verdict {one.verdict[:8]}, approved by {one.approver}")
        if one.bank:
            line(
                f"{pad}  bank {one.bank[:12]}: {one.tasks} tasks from {len(one.traces)} traces, night {one.night}"
            )
            line(f"{pad}  modes {', '.join(one.modes)}")
            shown = ", ".join(trace[:12] for trace in one.traces[:4])
            line(f"{pad}  traces {shown}{', … (all with --json)' if len(one.traces) > 4 else ''}")


def verify(json: Json = False) -> None:
    """Check every invariant of this home; exit code 3 names what breaks."""
    from rsi.registry.verify import verify as check

    report = check(Home.find(), SystemClock())
    if json:
        as_json({"checked": report.checked, "findings": [one._asdict() for one in report.findings]})
    else:
        line(", ".join(f"{count} {what}" for what, count in report.checked.items()) + " checked")
        for one in report.findings:
            err.print(f"{one.invariant}: {one.text}")
    if report.findings:
        raise typer.Exit(IntegrityError.exit_code)
    if not json:
        line("all invariants hold")


def report(verdict: VerdictArgument = None, json: Json = False) -> None:
    """The card of a verdict, and where its full HTML report lies."""
    home = Home.find()
    last = [path.name for path in sorted(home.verdicts.glob("*"), key=lambda path: path.stat().st_mtime)]
    names = [
        name for name in last if not name.startswith(".") and (verdict is None or name.startswith(verdict))
    ]
    if not names:
        raise ContractError(f"no verdict {verdict or ''} here; run `rsi nightly` first")
    folder = home.verdicts / names[-1]
    found = approval.verdict(home, names[-1])
    if json:
        as_json({**found.model_dump(mode="json"), "digest": names[-1], "report": str(folder / "report.html")})
        return
    line((folder / "card.md").read_text())
    line(f"full report: {folder / 'report.html'}")
