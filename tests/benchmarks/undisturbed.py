"""Whether two versions of a home route bit for bit alike.

Log-probs of the labels on fifty prompts, each version's engine loaded afresh with all of its adapters.

`RSI_HOME=… python -m tests.benchmarks.undisturbed BEFORE AFTER`
"""

import sys

from flows.traffic import read
from rsi.assets import base_folder
from rsi.engine.local import LocalEngine
from rsi.harness import hcp
from rsi.records import ChatMessage
from rsi.registry import adapters, versions
from rsi.settings import Deployment, Home

COUNT = 50


def main() -> None:
    """Print how many rows are equal, and the largest difference."""
    home = Home.find()
    deployment = Deployment.read(home.deployment_file)
    folder, digest = base_folder(deployment.base)
    texts = [one.text for one in sorted(read(), key=lambda one: one.id)[:COUNT]]
    tables = []
    for name in sys.argv[1:3]:
        version = versions.load(home, versions.find(home, name))
        harness = hcp.load(home.harnesses, version.harness)
        engine = LocalEngine(folder, digest)
        for adapter in version.adapters.values():
            engine.load(adapter, adapters.folder(home, adapter))
        prompts = [harness.route_prompt((ChatMessage(role="user", content=text),)) for text in texts]
        router = version.adapters.get(harness.router)
        tables.append(engine.choose(prompts, harness.words, router))
        print(f"version {name[:12]}: adapters {sorted(version.adapters.values())}, routes with {router}")
    equal = sum(one == other for one, other in zip(*tables, strict=True))
    far = max(abs(a - b) for one, other in zip(*tables, strict=True) for a, b in zip(one, other, strict=True))
    print(f"{equal} of {len(texts)} rows of log-probs are bit for bit equal; largest difference {far:g} nats")
    sys.exit(0 if equal == len(texts) else 1)


if __name__ == "__main__":
    main()
