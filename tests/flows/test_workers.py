"""The work pools: their templates as Prefect's own workers render them, and what deploying makes."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from uuid import uuid4

import jsonschema
import pytest

from flows.server import Server
from flows.watch import Watch

DROPPED = {"parallelism", "completions"}
"""Prefect's own template has these in the pod, and demands them there; Kubernetes passes them over."""


def _rendered(kind: str, configuration: type, values: Mapping[str, object]):
    """A job's configuration, made from the template as a worker makes it."""
    from prefect.client.schemas.objects import FlowRun

    from flows.workers import Kind, Pool

    template = Pool("rsi-gpu", Kind(kind)).template
    variables = template["variables"]
    jsonschema.Draft202012Validator.check_schema(variables)
    defaults = {name: one["default"] for name, one in variables["properties"].items() if "default" in one}
    jsonschema.validate({**defaults, **values}, variables)
    run = FlowRun(id=uuid4(), flow_id=uuid4(), name="wise-owl")
    made = asyncio.run(configuration.from_template_and_values(template, dict(values), client=object()))
    made.prepare_for_flow_run(run)
    return made


def test_every_variable_of_a_template_is_used_and_every_placeholder_is_one() -> None:
    """A setting that a person changes in the UI does something."""
    import orjson
    from prefect.utilities.templating import find_placeholders

    from flows.workers import TEMPLATES, Kind

    assert {path.stem for path in TEMPLATES.glob("*.json")} == {kind.value for kind in Kind}
    for path in TEMPLATES.glob("*.json"):
        template = orjson.loads(path.read_bytes())
        used = {one.name for one in find_placeholders(template["job_configuration"])}
        assert used == set(template["variables"]["properties"]), path


def test_a_process_keeps_the_workers_environment_and_adds_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Base models are found where the worker finds them."""
    from prefect.workers.process import ProcessJobConfiguration

    monkeypatch.setenv("RSI_CACHE", "/models")
    made = _rendered("process", ProcessJobConfiguration, {"env": {"OMP_NUM_THREADS": "2"}})
    assert (made.env["RSI_CACHE"], made.env["OMP_NUM_THREADS"]) == ("/models", "2")
    assert made.command.endswith("-m prefect.engine")


def test_a_container_gets_a_gpu_the_shared_folder_and_its_image() -> None:
    """What the Docker engine is sent, by docker's own types: no engine runs here."""
    from docker.models.containers import _create_container_args
    from prefect_docker.worker import DockerWorker, DockerWorkerJobConfiguration

    made = _rendered("docker", DockerWorkerJobConfiguration, {"image": "registry/rsi:1", "gpus": 2, "mem_limit": "64g"})
    assert made.image == "registry/rsi:1"

    class Engine:
        """Only its version is asked for."""

        @staticmethod
        def version() -> dict[str, str]:
            return {"Version": "28.0.0"}

        api = type("Api", (), {"_version": "1.47", "_general_configs": {}})

    worker = DockerWorker(work_pool_name="rsi-gpu")
    sent = _create_container_args({**worker._build_container_settings(Engine(), made), "version": "1.47"})
    host = sent["host_config"]
    assert host["DeviceRequests"] == [
        {"Driver": "nvidia", "Count": 2, "DeviceIDs": [], "Capabilities": [["gpu"]], "Options": {}}
    ]
    assert (host["Binds"], host["ShmSize"], host["Memory"]) == (["/srv/rsi:/srv/rsi"], 8 * 2**30, 64 * 2**30)
    assert "RSI_CACHE=/srv/rsi/cache" in sent["environment"] or sent["environment"]["RSI_CACHE"] == "/srv/rsi/cache"
    assert "execute" in str(sent["command"])


def test_a_pod_gets_a_gpu_its_nodes_and_the_shared_storage() -> None:
    """Read by the Kubernetes client's models and written again, nothing of the manifest is lost or of another type."""
    from kubernetes_asyncio.client import ApiClient, V1Job
    from prefect_kubernetes.worker import KubernetesWorkerJobConfiguration

    values = {"image": "registry/rsi:1", "gpus": "2", "node_selector": {"gpu": "h100"}, "claim": "models"}
    manifest = _rendered("kubernetes", KubernetesWorkerJobConfiguration, values).job_manifest
    pod = manifest["spec"]["template"]["spec"]
    for name in DROPPED:
        del pod[name]

    async def read_and_written() -> tuple[V1Job, dict[str, object]]:
        async with ApiClient() as client:
            job = client._ApiClient__deserialize(manifest, "V1Job")
            return job, client.sanitize_for_serialization(job)

    job, again = asyncio.run(read_and_written())
    assert again == manifest
    spec = job.spec.template.spec
    container = spec.containers[0]
    assert container.resources.limits["nvidia.com/gpu"] == "2"
    assert spec.node_selector == {"gpu": "h100"}
    assert [(one.key, one.effect) for one in spec.tolerations] == [("nvidia.com/gpu", "NoSchedule")]
    claims = {one.name: one.persistent_volume_claim for one in spec.volumes}
    assert claims["shared"].claim_name == "models"
    assert {one.name: one.mount_path for one in container.volume_mounts} == {"shared": "/srv/rsi", "shm": "/dev/shm"}
    assert {one.name: one.value for one in container.env}["RSI_CACHE"] == "/srv/rsi/cache"
    # A pod that is evicted is scheduled again by Prefect, and goes on from the job's checkpoint.
    assert job.spec.backoff_limit == 0
    assert {one.name: one.value for one in container.env}["PREFECT_FLOW_RUN_EXECUTE_SIGTERM_BEHAVIOR"] == "reschedule"


@pytest.mark.flow
def test_deploying_makes_the_pools_and_leaves_what_is_there(server: Server, watch: Watch) -> None:
    """Two pools of their kinds, a deployment each; an edited pool stays edited, one of another kind is named."""
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.actions import WorkPoolUpdate

    from flows import workers
    from rsi.errors import ContractError

    workers.ensure()
    assert watch.served("job/rsi-cpu") and watch.served("job/rsi-gpu")
    with get_client(sync_client=True) as client:
        client.update_work_pool("rsi-gpu", WorkPoolUpdate(description="eight H100"))
        workers.ensure()
        found = {name: client.read_work_pool(name) for name in ("rsi-cpu", "rsi-gpu")}
    assert {name: one.type for name, one in found.items()} == {"rsi-cpu": "process", "rsi-gpu": "docker"}
    assert found["rsi-gpu"].description == "eight H100"
    assert found["rsi-gpu"].base_job_template == workers.pools()[1].template
    with pytest.raises(ContractError, match="type docker, not kubernetes"):
        workers.ensure(workers.Kind.KUBERNETES)


def test_templates_are_part_of_the_package() -> None:
    """An installed deployment finds them."""
    from rsi.settings import PROJECT

    assert 'flows = ["pools/*.json"]' in Path(PROJECT / "pyproject.toml").read_text()
