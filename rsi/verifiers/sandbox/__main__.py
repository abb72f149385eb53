"""What a child process does: read its order from standard input, confine itself, play its role."""

import json
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rsi.verifiers.sandbox import confine, mathematics, tested, trial
else:
    import confine
    import mathematics
    import tested
    import trial


def main() -> None:
    """Play one role; the order is one JSON object."""
    order = json.loads(sys.stdin.buffer.read())
    sys.path.pop(0)
    guards = confine.confine(order["folder"], confine.Limits(**order["limits"]))
    if order["role"] == "tested":
        tested.serve(order["file"], order["calls"])
    elif order["role"] == "trial":
        trial.run(order["file"], order["calls"], order["verdict"], order["nonce"])
    elif order["role"] == "mathematics":
        sys.path += order["limits"]["readable"]
        mathematics.serve(order["calls"])
    else:
        sys.stdout.write(json.dumps(guards))


main()
