"""The loop: a first version, and single stages."""

import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from rsi.algorithm import Algorithm, Update
from rsi.commands.say import Json, as_json, line, warn
from rsi.context import Context, Start
from rsi.errors import ContractError
from rsi.ids import Digest, Night, night
from rsi.ports import SystemClock
from rsi.records import Judgement
from rsi.report.progress import TerminalProgress
from rsi.settings import PROJECT, Deployment, Home
from rsi.settings import said as said_of
from rsi.store.ledger import Ledger
from rsi.store.locks import hold

NightOption = Annotated[
    str | None, typer.Option("--night", help="YYYY-MM-DD (UTC); today's next night by default.")
]


def init(
    harness: Annotated[Path, typer.Option(help="Harness file of the first version.")] = PROJECT
    / "data"
    / "harness"
    / "router.toml",
    base: Annotated[str, typer.Option(help="Base model: an asset name or a folder.")] = "smollm2-135m",
    contract: Annotated[str, typer.Option(help="Gate contract.")] = "demo/v1",
    engine: Annotated[
        str, typer.Option(help="`local`, or the URL of an OpenAI-compatible server.")
    ] = "local",
    name: Annotated[str, typer.Option(help="Name of the deployment.")] = "default",
    json: Json = False,
) -> None:
    """Write the deployment file and put the bare base into service as version zero."""
    from rsi.harness import hcp
    from rsi.registry.genesis import found
    from rsi.world import real

    home = Home.find()
    deployment = (
        Deployment.read(home.deployment_file)
        if home.deployment_file.exists()
        else Deployment(name=name, base=base, contract=contract, engine=engine)
    )
    record = found(home, SystemClock(), deployment, hcp.read(harness), real(deployment).base().digest)
    if json:
        as_json({"home": str(home.root), "version": record.output})
        return
    line(f"{home.root} is ready: version {str(record.output)[:12]} is in service")
    line(f"settings are in {home.deployment_file}; next: `rsi serve`, or put traces into {home.inbox}")


def next_night(home: Home) -> Night:
    """Today's night; its next run where today's is over."""
    today = night(datetime.now(UTC))
    over = {one.night for one in Ledger(home.ledger, SystemClock()) if one.kind == "end"}
    turn, name = 1, today
    while name in over:
        turn += 1
        name = night(f"{today}.{turn}")
    return name


def _stage(stage: str, name: str | None, json: bool) -> str:
    from rsi import night as loop
    from rsi.world import real

    home = Home.find()
    deployment = Deployment.read(home.deployment_file)
    tonight = night(name) if name else next_night(home)
    world = real(deployment, TerminalProgress())
    with hold(home.night_lock, f"night {tonight}", world.clock.now().isoformat(timespec="seconds")):
        made = loop.run_stage(loop.begin(home, deployment, world, tonight), stage)
    if json:
        from rsi.commands.bank import told

        more = told(home, made) if stage == "expand" else {}
        as_json({"night": tonight, "stage": stage, "output": made, **more})
        return made
    line(f"night {tonight}: {stage} made {made}")
    return made


def discover(night_name: NightOption = None, json: Json = False) -> None:
    """Only the first stage of a night: failure modes from the traces."""
    _stage("discover", night_name, json)


def expand(
    night_name: NightOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be made and what it costs, and write nothing.")
    ] = False,
    json: Json = False,
) -> None:
    """Only the second stage: tasks from the modes."""
    from rsi.commands import bank

    if dry_run:
        bank.dry_run(json)
        return
    made = _stage("expand", night_name, json)
    if not json:
        bank.show_manifest(Home.find(), made)


def update(
    night_name: NightOption = None,
    harness: Annotated[
        Path | None,
        typer.Option(help="Make a candidate that differs from the champion in this harness file only."),
    ] = None,
    bank: Annotated[
        str | None, typer.Option(help="Train on this bank outside a night's stages: beginning of its digest.")
    ] = None,
    role: Annotated[str | None, typer.Option(help="With --bank: the specialist that learns.")] = None,
    hop: Annotated[
        str | None,
        typer.Option(help="With --bank: train on its tasks of this hop; by default the hop it has most tasks of."),
    ] = None,
    parent: Annotated[
        str | None, typer.Option(help="With --bank: the version to go on from; the champion by default.")
    ] = None,
    algorithm: Annotated[
        Algorithm | None, typer.Option(help="With --bank: in place of the deployment's.")
    ] = None,
    steps: Annotated[int | None, typer.Option(help="With --bank: in place of the deployment's.")] = None,
    settings: Annotated[
        Path | None,
        typer.Option(help=r"With --bank: a TOML file with keys of \[update], in place of the deployment's."),
    ] = None,
    learn_from: Annotated[
        str | None,
        typer.Option(
            help="With --bank and --algorithm sft: show successes of this job; beginning of its digest."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Only the third stage: train a candidate; or make one on a bank of your own, or with another harness."""
    if bank is not None:
        said: list[Mapping[str, object]] = [_of_file(settings), {"algorithm": algorithm, "steps": steps}]
        _train(bank, role, hop, parent, said, learn_from, json)
        return
    if harness is None:
        _stage("update", night_name, json)
        return
    from rsi.harness import hcp
    from rsi.registry import champion, versions

    home = Home.find()
    now = champion.current(Ledger(home.ledger, SystemClock()))
    made = hcp.store(home.harnesses, hcp.read(harness))
    before = versions.load(home, now)
    if made == before.harness:
        raise ContractError(f"{harness} says what the champion's harness says already; nothing to try")
    candidate = versions.save(home, before.model_copy(update={"harness": made, "parent": now}))
    if json:
        as_json({"candidate": candidate, "harness": made, "parent": now})
        return
    line(f"candidate {candidate}\nnext: rsi gate --candidate {candidate[:12]}")


def _of_file(path: Path | None) -> dict[str, object]:
    """Settings of a file; none without one."""
    if path is None:
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ContractError(f"{path} is no TOML file with keys of [update]: {error}") from None


def _train(
    bank: str,
    role: str | None,
    hop: str | None,
    parent: str | None,
    settings: Sequence[Mapping[str, object]],
    learn_from: str | None,
    json: bool,
) -> None:
    """Train on a bank; print the candidate. Of the settings, later ones stand in place of earlier ones."""
    from rsi.commands.bank import find
    from rsi.commands.rollouts import finished
    from rsi.harness import hcp
    from rsi.registry import champion, versions
    from rsi.tasks import bank as banks
    from rsi.update.stage import train
    from rsi.world import real

    home = Home.find()
    deployment = Deployment.read(home.deployment_file)
    world = real(deployment, TerminalProgress())
    before = versions.find(home, parent) if parent else champion.current(Ledger(home.ledger, world.clock))
    known = hcp.load(home.harnesses, versions.load(home, before).harness)
    if role not in known.roles:
        raise ContractError(f"--role {role!r} is none of the harness's roles: {', '.join(known.roles)}")
    name = Digest(find(home, bank))
    hops = Counter(one.hop for one in banks.load(home, name))
    hop = hop or hops.most_common(1)[0][0]
    if not hops[hop]:
        raise ContractError(f"bank {name[:12]} has no task of hop {hop!r}; it has {_listed(hops)}")
    if len(hops) > 1:
        warn(f"training on the {hops[hop]} tasks of hop {hop}, of {_listed(hops)}; --hop takes others")
    rollouts = finished(home, learn_from) if learn_from else None
    said = {key: value for some in settings for key, value in some.items() if value is not None}
    try:
        asked = Update.model_validate({**deployment.update.model_dump(), **said})
    except ValidationError as error:
        raise ContractError(f"the job cannot be trained with {said_of(error)}") from None
    with hold(home.night_lock, f"training on {name[:12]}", world.clock.now().isoformat(timespec="seconds")):
        candidate = train(home, deployment, world, Digest(before), name, role, hop, asked, rollouts)
    if json:
        as_json({"candidate": candidate, "bank": name, "hop": hop, "role": role, "parent": before})
        return
    line(f"candidate {candidate}\nnext: rsi gate --candidate {candidate[:12]}")


def _listed(hops: Mapping[str, int]) -> str:
    return ", ".join(f"{hop} ({count})" for hop, count in sorted(hops.items()))


def gate(
    night_name: NightOption = None,
    candidate: Annotated[
        str | None, typer.Option(help="Digest of a version to test outside a night's stages.")
    ] = None,
    json: Json = False,
) -> None:
    """Only the fourth stage: test the candidate against the champion under the contract."""
    if candidate is None:
        _stage("gate", night_name, json)
        return
    from rsi.gate.stage import judge
    from rsi.registry import approval, champion, versions
    from rsi.world import real

    home = Home.find()
    deployment = Deployment.read(home.deployment_file)
    world = real(deployment, TerminalProgress())
    tonight = night(night_name) if night_name else next_night(home)
    with hold(home.night_lock, f"night {tonight}", world.clock.now().isoformat(timespec="seconds")):
        start = Start(
            night=tonight,
            champion=champion.current(Ledger(home.ledger, world.clock)),
            ordinal=0,
            deployment=deployment.digest,
            previous=None,
        )
        verdict = judge(Context(home, deployment, world, start), versions.find(home, candidate))
        found = approval.verdict(home, verdict)
        if found.judgement is Judgement.PASS:
            approval.open_request(home, world.clock, deployment, found)
    if json:
        as_json({**found.model_dump(mode="json"), "verdict": verdict})
    else:
        for clause in found.clauses:
            line(f"{clause.judgement.value:11} {clause.name}: {clause.text}")
        line(f"verdict {verdict[:8]}: {found.judgement.value}")
    if found.judgement is not Judgement.PASS:
        raise typer.Exit(1)
