"""The champion: the last genesis, promotion or rollback in the ledger.

``champion.json``, which gateways read, is derived from it and rewritten whenever it does not say the same.
"""

from rsi.errors import ContractError, RefusedError
from rsi.ids import Digest, canonical
from rsi.ports import Clock
from rsi.records import LedgerRecord
from rsi.registry import adapters, versions
from rsi.settings import Home
from rsi.store.files import write_whole
from rsi.store.ledger import Ledger
from rsi.store.locks import hold

MOVES = ("genesis", "promotion", "rollback")


def moves(ledger: Ledger) -> tuple[LedgerRecord, ...]:
    """Every record that named a champion, oldest first."""
    return tuple(record for record in ledger if record.kind in MOVES)


def current(ledger: Ledger) -> Digest:
    """The version in service.

    Raises:
        ContractError: the home has no genesis yet.
    """
    record = ledger.last(lambda one: one.kind in MOVES)
    if record is None or record.output is None:
        raise ContractError("no version is in service here; run `rsi init` first")
    return Digest(record.output)


def genesis(ledger: Ledger) -> Digest:
    """The first version of this home, the anchor by default."""
    for record in ledger:
        if record.kind == "genesis" and record.output:
            return Digest(record.output)
    raise ContractError("no version is in service here; run `rsi init` first")


def pointer(home: Home, name: str) -> bytes:
    """What ``champion.json`` says of a version."""
    version = versions.load(home, name)
    return canonical(
        {
            "version": name,
            "base": version.base,
            "harness": version.harness,
            "adapters": {
                role: {"name": adapter, "path": str(adapters.folder(home, adapter))}
                for role, adapter in sorted(version.adapters.items())
            },
        }
    )


def point(home: Home, clock: Clock) -> Digest:
    """Make ``champion.json`` say what the ledger says, and return that version.

    Called wherever something starts, since a process may have died between ledger and pointer.
    """
    with hold(home.store_lock, "pointer", clock.now().isoformat(timespec="seconds"), wait_s=30):
        return _point(home, Ledger(home.ledger, clock))


def _point(home: Home, ledger: Ledger) -> Digest:
    name = current(ledger)
    data = pointer(home, name)
    if not home.champion.exists() or home.champion.read_bytes() != data:
        write_whole(home.champion, data)
    return name


def move(
    home: Home,
    clock: Clock,
    kind: str,
    *,
    replaces: str,
    to: str,
    evidence: str | None,
    body: dict[str, object],
) -> LedgerRecord:
    """Compare-and-swap: append the record if `replaces` is still the champion, then rewrite the pointer.

    Raises:
        RefusedError: another version is in service by now.
    """
    ledger = Ledger(home.ledger, clock)
    with hold(home.store_lock, kind, clock.now().isoformat(timespec="seconds"), wait_s=30):
        now = current(ledger)
        if now != replaces:
            raise RefusedError(
                f"stale: the evidence compares with {replaces[:12]}, but {now[:12]} is in service by now; "
                "run the gate again"
            )
        record = ledger.append(kind, input=evidence, output=to, body={"replaces": replaces, **body})
        _point(home, ledger)
    return record
