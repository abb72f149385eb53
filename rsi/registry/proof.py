"""The proof of an answer: an SSH signature of the decision and the verdict's digest, made and checked by `ssh-keygen`.

A name in a form is a claim: Prefect's open-source server does not know who filled it in. A contract may name a file of
allowed signers (`ssh-keygen`'s: a line ``ada ssh-ed25519 AAAA…`` a person) and may ask for a signature. By hand::

    printf 'approve %s' DIGEST | ssh-keygen -Y sign -f ~/.ssh/id_ed25519 -n rsi-approval

The key may be a file, or a public key whose private half an agent holds.
"""

import base64
import binascii
import re
import subprocess
import tempfile
from pathlib import Path

from rsi.errors import ContractError, RefusedError
from rsi.records import Decision

NAMESPACE = "rsi-approval"
"""What the signature is for; one that was made for something else is not taken."""
PATIENCE_S = 120.0
"""A person may have to type a passphrase or touch a key."""
LIMIT = 16_384
"""Characters of a signature."""
_BEGIN, _END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
_MAGIC = b"SSHSIG"


def statement(verdict: str, decision: Decision) -> bytes:
    """What is signed: ``approve <digest>`` or ``reject <digest>``, without a line end."""
    return f"{decision.value} {verdict}".encode()


def sign(key: Path, verdict: str, decision: Decision) -> str:
    """A signature, armored, with the person's key.

    Raises:
        ContractError: `ssh-keygen` is missing or could not use the key.
    """
    if not key.is_file():
        raise ContractError(f"no key at {key}; name a private SSH key, or a public one that an agent holds")
    done = _run(["-Y", "sign", "-q", "-f", str(key), "-n", NAMESPACE], statement(verdict, decision))
    if done.returncode:
        raise ContractError(f"ssh-keygen could not sign with {key}: {_last(done.stderr)}")
    return armored(done.stdout.decode())


def check(signature: str, verdict: str, decision: Decision, signer: str, signers: Path) -> None:
    """Nothing, where `signer` signed this decision on this verdict with a key that the file of signers knows.

    Raises:
        RefusedError: it is no signature, of something else, of somebody else, or with a key that is not valid now.
        ContractError: the file of signers or `ssh-keygen` are missing.
    """
    if not signers.is_file():
        raise ContractError(
            f"the contract names allowed signers at {signers}, where no file is; write one line a person: "
            "`ada ssh-ed25519 AAAA…`"
        )
    with tempfile.NamedTemporaryFile("w", suffix=".sig") as file:
        file.write(armored(signature))
        file.flush()
        command = ["-Y", "verify", "-f", str(signers), "-I", signer, "-n", NAMESPACE, "-s", file.name]
        done = _run(command, statement(verdict, decision))
    if done.returncode:
        said = _last(done.stderr) or _last(done.stdout)
        raise RefusedError(
            f"the signature is not one of {signer!r} on {decision.value} {verdict[:12]}…: {said}; sign again with "
            "`rsi sign`"
        )


def armored(text: str) -> str:
    """A signature in its usual lines, from one whose lines a form may have joined.

    Raises:
        RefusedError: it is no SSH signature.
    """
    body = re.sub(r"\s+", "", text.strip().removeprefix(_BEGIN).removesuffix(_END))
    try:
        data = base64.b64decode(body, validate=True)
    except binascii.Error:
        data = b""
    if len(text) > LIMIT or not data.startswith(_MAGIC):
        raise RefusedError(
            f"what was given as signature is none; paste all that `rsi sign` printed, from {_BEGIN} to {_END}"
        )
    lines = [body[at : at + 70] for at in range(0, len(body), 70)]
    return "\n".join([_BEGIN, *lines, _END]) + "\n"


def _run(arguments: list[str], data: bytes) -> "subprocess.CompletedProcess[bytes]":
    try:
        return subprocess.run(
            ["ssh-keygen", *arguments], input=data, capture_output=True, timeout=PATIENCE_S, check=False
        )
    except FileNotFoundError:
        raise ContractError("there is no ssh-keygen on this machine: apt-get install openssh-client") from None
    except subprocess.TimeoutExpired:
        raise ContractError(f"ssh-keygen waited {PATIENCE_S:.0f} s in vain for a passphrase or a key") from None


def _last(said: bytes) -> str:
    lines = [line.strip() for line in said.decode(errors="replace").splitlines() if line.strip()]
    return lines[-1][:200] if lines else "no reason given"
