"""A vLLM server in a process of its own, as docs/vllm.md starts one."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx

START_S = 900
"""How long it may take to come up; on two free cores it takes about 80 s."""
ENVIRONMENT = {
    "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "True",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "HF_HUB_OFFLINE": "1",
}


@contextmanager
def running(program: str, base: Path, log: Path, rank: int = 16) -> Iterator[str]:
    """Its URL, once it answers; it ends with the block."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [program, "serve", str(base), "--host", "127.0.0.1", "--port", str(port), "--dtype", "float32"]
    command += ["--enforce-eager", "--enable-lora", "--max-lora-rank", str(rank), "--max-loras", "2"]
    command += ["--max-model-len", "2048", "--generation-config", "vllm"]
    command += ["--logprobs-mode", "processed_logprobs", "--served-model-name", "smollm2-135m"]
    # It runs its own Python, which must not look into this one.
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "OMP_NUM_THREADS")}
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, stdout=out, stderr=out, env={**kept, **ENVIRONMENT}, start_new_session=True
        )
    try:
        _wait(process, f"http://127.0.0.1:{port}", log)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _wait(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    end = time.monotonic() + START_S
    while time.monotonic() < end:
        if process.poll() is not None:
            break
        with suppress(httpx.HTTPError):
            if httpx.get(f"{url}/health", timeout=5).status_code == 200:
                return
        time.sleep(1)
    said = log.read_text(errors="replace")[-2000:]
    raise RuntimeError(f"vLLM did not come up at {url}; the end of {log}:\n{said}")
