"""`rsi contract`: what counts as better on your own traffic, and who said so."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tomlkit
import typer

from rsi.commands.say import Json, as_json, line, table, warn
from rsi.errors import ContractError
from rsi.ports import SystemClock
from rsi.records import LedgerRecord
from rsi.report.words import plural
from rsi.settings import Deployment, Home, contracts_dir
from rsi.store.files import write_whole
from rsi.store.ledger import Ledger
from rsi.store.locks import hold

if TYPE_CHECKING:
    from rsi.commands.labelling import Asked
    from rsi.gate.freeze import Bars

contract_app = typer.Typer(
    no_args_is_help=True, help="Suites and contracts of your own traffic; what is proposed, and what was approved."
)

NameArgument = Annotated[str, typer.Argument(help="Name of suite and contract: small letters, digits, - and _.")]
VersionArgument = Annotated[str, typer.Argument(help="Contract, such as support/v1.")]
HopOption = Annotated[str, typer.Option("--hop", help="route: who should answer; answer: what is said.")]
RoleOption = Annotated[str | None, typer.Option("--role", help="For --hop answer: whose adapter answers.")]
VerifierOption = Annotated[
    str | None, typer.Option("--verifier", help="choice for routes, exact for answers by default.")
]
By = Annotated[str, typer.Option("--by", help="Your name.")]
Reason = Annotated[str, typer.Option("--reason", help="Why, in one line.")]


@contract_app.command("list")
def contract_list(json: Json = False) -> None:
    """Every contract in the contracts folder: approved, proposed, or changed since it was approved."""
    from rsi.gate import lock
    from rsi.gate.contract import read

    root = contracts_dir()
    known = lock.read(root)
    found = [read(name, root) for name in lock.names(root)]
    rows = []
    for one in found:
        pinned = known.contracts.get(one.name) if known else None
        rows.append(
            {
                "contract": one.name,
                "digest": one.digest,
                "state": lock.state(known, one),
                "by": pinned.by if pinned else "",
                "reason": pinned.reason if pinned else "",
                "target": one.target.suite,
                "guards": [guard.suite for guard in one.guards],
                "zero_tolerance": [never.suite for never in one.zero_tolerance],
            }
        )
    if json:
        as_json(rows)
        return
    line(f"contracts in {root}")
    table(
        ["contract", "digest", "state", "by", "target", "guards", "reason"],
        [
            [
                row["contract"],
                str(row["digest"])[:12],
                row["state"],
                row["by"],
                row["target"],
                ", ".join(row["guards"]) if isinstance(row["guards"], list) else "",
                row["reason"],
            ]
            for row in rows
        ],
    )


@contract_app.command("draft")
def contract_draft(
    name: NameArgument,
    out: Annotated[Path, typer.Option(help="File of lines to write, one a request; fill in `expected`.")],
    hop: HopOption = "route",
    role: RoleOption = None,
    verifier: VerifierOption = None,
    json: Json = False,
) -> None:
    """Write the requests that wait for a label into a file, for `rsi contract new --labels`."""
    from rsi.commands.labelling import asked
    from rsi.gate import labels

    found = asked(name, hop, role, verifier)
    known = labels.draft(out, found.items, found.before, found.about.verifier)
    if json:
        as_json({"requests": len(found.items), "labelled": known, "file": str(out), "left_out": found.left_out})
        return
    line(f"{plural(len(found.items), 'request')} in {out}, {known} of them labelled already")
    for told in found.left_out:
        line(f"left out: {told}")
    warn(f"{out} holds held-out text: keep it out of the inbox, and delete it when it is frozen")


@contract_app.command("new")
def contract_new(
    name: NameArgument,
    from_traces: Annotated[
        bool, typer.Option("--from-traces", help="Of conversations that ingest set aside for gate and vault.")
    ] = False,
    labels: Annotated[
        Path | None, typer.Option(help="File of `rsi contract draft`, filled in; without it you are asked here.")
    ] = None,
    hop: HopOption = "route",
    role: RoleOption = None,
    verifier: VerifierOption = None,
    guard: Annotated[
        list[str] | None, typer.Option(help="Suite that must not get worse; easy/v1 by default. May be repeated.")
    ] = None,
    bar: Annotated[float | None, typer.Option(min=0, max=1, help="Share of right answers wanted.")] = None,
    label_bar: Annotated[float | None, typer.Option(min=0, max=1, help="The same, for each label.")] = None,
    label_items: Annotated[int | None, typer.Option(min=1, help="Fewest items of a label.")] = None,
    effect: Annotated[float | None, typer.Option(help="The gain that must not be missed.")] = None,
    questions: Annotated[int | None, typer.Option(min=1, help="Candidates that may be tested on it.")] = None,
    accepts: Annotated[int | None, typer.Option(min=1, help="Passes after which it is retired.")] = None,
    description: Annotated[str, typer.Option(help="What is asked, in one line.")] = "",
    json: Json = False,
) -> None:
    """Freeze labelled requests as a suite, and write a contract on it: a proposal, until somebody approves it.

    Exit code 1 where too few are labelled for the bars; nothing is written then but the labels.
    """
    from rsi.commands.labelling import answers, asked
    from rsi.gate.freeze import freeze

    if not from_traces:
        raise ContractError("say where the items come from: --from-traces")
    bars = _bars(
        accuracy=bar,
        label_accuracy=label_bar,
        label_items=label_items,
        effect=effect,
        questions=questions,
        accepts=accepts,
    )
    found = asked(name, hop, role, verifier, description)
    labelled = answers(found, labels)
    made = freeze(contracts_dir(), found.about, labelled, guard or ["easy/v1"], bars)
    if json:
        as_json({**made.model_dump(mode="json"), "left_out": found.left_out, "unlabelled": _rest(found, labelled)})
        return
    line(
        f"{made.name}: {plural(made.gate, 'item')} of {plural(made.clusters, 'conversation')} decide, {made.vault} are "
        f"kept for audits; {_rest(found, labelled)} left without a label"
    )
    for told in (*found.left_out, *made.told):
        line(f"  {told}")
    line(f"next: read {contracts_dir() / 'gate' / made.name}.toml, then")
    line(f'  rsi contract approve {made.name} --by … --reason "…" --use')


def _bars(**wanted: float | None) -> "Bars":
    """The bars of a new contract; what nobody said is as usual."""
    from pydantic import ValidationError

    from rsi.gate.freeze import Bars
    from rsi.settings import said

    try:
        return Bars.model_validate({key: value for key, value in wanted.items() if value is not None})
    except ValidationError as error:
        raise ContractError(f"such bars cannot be: {said(error)}") from None


def _rest(found: "Asked", labelled: Sequence[object]) -> int:
    return len(found.items) - len(labelled)


@contract_app.command("propose")
def contract_propose(
    contract: VersionArgument,
    change: Annotated[
        list[str], typer.Option("--set", help="Such as target.min_accuracy=0.7; may be repeated.")
    ],
    json: Json = False,
) -> None:
    """Write the next version of a contract with other values; it counts when somebody approves it."""
    from rsi.gate.contract import read
    from rsi.gate.proposal import differences, propose

    root = contracts_dir()
    before = read(contract, root)
    after = propose(root, contract, change)
    told = list(differences(before, after))
    if json:
        as_json({"contract": after.name, "digest": after.digest, "differs": told})
        return
    line(f"{after.name} is proposed; from {contract} it differs in")
    for one in told:
        line(f"  {one}")
    line(f'next: rsi contract approve {after.name} --by … --reason "…" --use')


@contract_app.command("approve")
def contract_approve(
    contract: VersionArgument,
    by: By,
    reason: Reason,
    use: Annotated[bool, typer.Option("--use", help="Name it in the deployment file as well.")] = False,
    json: Json = False,
) -> None:
    """Pin a contract and its suites in contracts.lock; from then on it is what it is."""
    from rsi.gate import lock

    home, clock, root = Home.find(), SystemClock(), contracts_dir()
    made = lock.approve(root, clock, contract, by, reason)
    if home.deployment_file.exists():
        _record(home, contract, {"digest": made.digest, "by": by, "reason": reason, "suites": made.pins})
    named = _name(home, made.name, made.target.suite) if use else ""
    if json:
        as_json({"contract": made.name, "digest": made.digest, "by": by, "named": named})
        return
    line(f"{made.name} {made.digest[:12]} is approved by {by}; {root / lock.FILE} pins it and its suites")
    if named:
        line(f"{home.deployment_file}: {named}")


def _record(home: Home, name: str, body: dict[str, object]) -> LedgerRecord:
    clock = SystemClock()
    with hold(home.store_lock, "contract", clock.now().isoformat(timespec="seconds"), 30):
        return Ledger(home.ledger, clock).append("contract", body={"contract": name, **body})


def _name(home: Home, name: str, target: str) -> str:
    """Name a contract in the deployment file: as the rule, or that of the role whose adapter answers its target."""
    from rsi.gate.suites import load

    deployment = Deployment.read(home.deployment_file)
    document = tomlkit.parse(home.deployment_file.read_text(encoding="utf-8"))
    role = load(target, None).about.role
    if role is None:
        document["contract"] = name
        told = f'contract = "{name}"'
    else:
        document["contracts"] = {**deployment.contracts, role: name}
        told = f'[contracts] {role} = "{name}"'
    write_whole(home.deployment_file, tomlkit.dumps(document).encode())
    Deployment.read(home.deployment_file)
    return told
