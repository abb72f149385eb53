"""Work pools whose workers train, and the deployment that each of them runs.

A pool that is there is left as it is: its owner may have edited the template in the UI. Templates lie in ``pools/``.
"""

from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

import orjson
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.exceptions import ObjectNotFound
from prefect.types.entrypoint import EntrypointType

from flows.job import job
from rsi.errors import ContractError

TEMPLATES = Path(__file__).parent / "pools"


class Kind(StrEnum):
    """What a pool's workers start."""

    PROCESS = "process"
    DOCKER = "docker"
    KUBERNETES = "kubernetes"


class Pool(NamedTuple):
    """One work pool."""

    name: str
    kind: Kind

    @property
    def template(self) -> dict[str, object]:
        """Its base job template, as Prefect takes it."""
        found = orjson.loads((TEMPLATES / f"{self.kind.value}.json").read_bytes())
        assert isinstance(found, dict)
        return found


def pools(gpu: Kind | None = None) -> tuple[Pool, Pool]:
    """``rsi-cpu``, whose jobs are processes, and ``rsi-gpu``, whose jobs are containers where nothing else is said."""
    return Pool("rsi-cpu", Kind.PROCESS), Pool("rsi-gpu", gpu or Kind.DOCKER)


def ensure(gpu: Kind | None = None) -> None:
    """Make the pools that are missing, and the deployment ``job/<pool>`` of each.

    Raises:
        ContractError: ``rsi-gpu`` is there, and its jobs are of another kind than `gpu`.
    """
    for pool in pools(gpu):
        with get_client(sync_client=True) as client:
            try:
                there = client.read_work_pool(pool.name)
            except ObjectNotFound:
                made = WorkPoolCreate(name=pool.name, type=pool.kind.value, base_job_template=pool.template)
                there = client.create_work_pool(made)
        if gpu is not None and there.type != pool.kind.value:
            raise ContractError(
                f"work pool {pool.name} is of type {there.type}, not {pool.kind.value}; leave out --gpu to keep it, or "
                f"remove it: prefect work-pool delete {pool.name}"
            )
        job.to_deployment(
            pool.name, work_pool_name=pool.name, entrypoint_type=EntrypointType.MODULE_PATH
        ).apply()
