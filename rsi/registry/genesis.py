"""The first version of a home: the bare base and a harness, in service without a verdict."""

from rsi.errors import RefusedError
from rsi.harness import hcp
from rsi.ports import Clock
from rsi.records import LedgerRecord, Version
from rsi.registry import champion, versions
from rsi.settings import Deployment, Home
from rsi.store.ledger import Ledger
from rsi.store.locks import hold


def found(home: Home, clock: Clock, deployment: Deployment, harness: hcp.Harness, base: str) -> LedgerRecord:
    """Write the deployment file and put version zero into service; the same again changes nothing.

    Raises:
        RefusedError: the home has a first version already, and it is another one.
    """
    version = Version(base=base, adapters={}, harness=harness.digest, parent=None)
    ledger = Ledger(home.ledger, clock)
    with hold(home.store_lock, "init", clock.now().isoformat(timespec="seconds"), wait_s=30):
        there = next((one for one in ledger if one.kind == "genesis"), None)
        if there is not None and there.output != version.digest:
            raise RefusedError(
                f"{home.root} began with version {str(there.output)[:12]}; choose another RSI_HOME for another base "
                "or harness, or change the harness through a candidate"
            )
        home.inbox.mkdir(parents=True, exist_ok=True)
        home.key()
        hcp.store(home.harnesses, harness)
        versions.save(home, version)
        if not home.deployment_file.exists():
            deployment.write(home.deployment_file)
        record = there or ledger.append("genesis", output=version.digest, body={"base": deployment.base})
    champion.point(home, clock)
    return record
