"""Signatures of answers, with the real `ssh-keygen`."""

import subprocess
import sys

import pytest

from rsi.errors import ContractError, RefusedError
from rsi.ports import SystemClock
from rsi.records import Decision, Proof, Rule
from rsi.registry import proof
from tests.registry.asked import ask, begin, key, kinds, needs_ssh, passed, say, signers

pytestmark = needs_ssh
SIGNED = Rule(approvers=("ada", "grace"), proof=Proof.SIGNATURE, signers="people/ml")


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    """Ada's key, Grace's, and one of nobody."""
    folder = tmp_path_factory.mktemp("keys")
    return {name: key(folder, name) for name in ("ada", "grace", "mallory")}


@pytest.fixture
def asked(home, keys, tmp_path, monkeypatch):
    """A home with a request that wants a signature, and the contracts folder with its signers."""
    contracts = tmp_path / "contracts"
    monkeypatch.setenv("RSI_CONTRACTS", str(contracts))
    signers(contracts / "people" / "ml", ada=keys["ada"], grace=keys["grace"])
    begin(home)
    verdict = passed(home, "L0", "a", SIGNED)
    ask(home, verdict)
    return home, verdict


def test_a_signed_answer_is_taken_and_its_proof_kept(asked, keys):
    """The ledger's record holds the signature."""
    home, verdict = asked
    signature = proof.sign(keys["ada"], verdict.digest, Decision.APPROVE)

    assert say(home, verdict, signature=signature) == "approval"
    assert signature.startswith("-----BEGIN SSH SIGNATURE-----\n")


def test_a_signature_survives_a_form_that_joins_its_lines(asked, keys):
    """A field of one line drops line ends, or makes spaces of them; the armor may be missing."""
    home, verdict = asked
    signature = proof.sign(keys["grace"], verdict.digest, Decision.REJECT)
    body = "".join(signature.splitlines()[1:-1])

    assert proof.armored(signature.replace("\n", "")) == proof.armored(body) == signature
    joined = signature.replace("\n", " ")
    assert say(home, verdict, Decision.REJECT, approver="grace", signature=joined) == "approval"


def test_without_a_signature_a_contract_that_wants_one_refuses(asked):
    """It says how to sign."""
    home, verdict = asked
    with pytest.raises(RefusedError, match="asks for a signature: `rsi approve --key FILE`"):
        say(home, verdict)
    assert kinds(home)[-1] == "refusal"


def test_no_other_signature_will_do(asked, keys):
    """Of somebody else, of a stranger, of the other decision, of another verdict, for another purpose, or none."""
    home, verdict = asked
    other = subprocess.run(
        ["ssh-keygen", "-Y", "sign", "-q", "-f", str(keys["ada"]), "-n", "git"],
        input=proof.statement(verdict.digest, Decision.APPROVE), capture_output=True, check=True,
    )  # fmt: skip
    false = [
        proof.sign(keys["grace"], verdict.digest, Decision.APPROVE),
        proof.sign(keys["mallory"], verdict.digest, Decision.APPROVE),
        proof.sign(keys["ada"], verdict.digest, Decision.REJECT),
        proof.sign(keys["ada"], "f" * 64, Decision.APPROVE),
        other.stdout.decode(),
        "-----BEGIN SSH SIGNATURE-----\nnonsense\n-----END SSH SIGNATURE-----",
        "x" * 20_000,
    ]
    for signature in false:
        with pytest.raises(RefusedError, match=r"the signature is not one of 'ada'|is none; paste"):
            say(home, verdict, signature=signature)
    assert kinds(home).count("refusal") == len(false)
    assert "approval" not in kinds(home)


def test_a_key_that_is_no_longer_allowed_is_refused(asked, keys, tmp_path):
    """The file of signers may change under the same contract: people leave."""
    home, verdict = asked
    signature = proof.sign(keys["ada"], verdict.digest, Decision.APPROVE)
    signers(tmp_path / "contracts" / "people" / "ml", grace=keys["grace"])
    with pytest.raises(RefusedError, match="the signature is not one of 'ada'"):
        say(home, verdict, signature=signature)

    (tmp_path / "contracts" / "people" / "ml").unlink()
    with pytest.raises(RefusedError, match="write one line a person"):
        say(home, verdict, signature=signature)


def test_a_signature_that_is_not_asked_for_is_checked_all_the_same(home, keys, tmp_path, monkeypatch):
    """A contract may name signers without asking for a proof."""
    monkeypatch.setenv("RSI_CONTRACTS", str(tmp_path))
    signers(tmp_path / "ml", ada=keys["ada"])
    begin(home)
    verdict = passed(home, "L0", "a", Rule(signers="ml"))
    ask(home, verdict)
    with pytest.raises(RefusedError, match="the signature is not one of 'ada'"):
        say(home, verdict, signature=proof.sign(keys["mallory"], verdict.digest, Decision.APPROVE))
    assert say(home, verdict) == "approval"


@pytest.mark.parametrize("signers", ["../x", "/etc/passwd", "a/../../b", ".hidden", ""])
def test_signers_stay_in_the_contracts_folder(signers):
    """And a proof without them cannot be asked for."""
    with pytest.raises(ValueError, match="signers"):
        Rule(signers=signers)
    with pytest.raises(ValueError, match="wants signers"):
        Rule(proof=Proof.SIGNATURE)


def test_a_missing_key_is_one_clear_line(tmp_path):
    """Found and expected."""
    with pytest.raises(ContractError, match="no key at"):
        proof.sign(tmp_path / "nothing", "f" * 64, Decision.APPROVE)
    (tmp_path / "bad").write_text("no key")
    with pytest.raises(ContractError, match="could not sign with"):
        proof.sign(tmp_path / "bad", "f" * 64, Decision.APPROVE)


def test_the_commands_sign_and_approve(asked, keys):
    """`rsi sign` prints what the form takes; `rsi approve --key` does both."""
    home, old = asked
    verdict = passed(home, "L1", "b", SIGNED)
    ask(home, verdict, SystemClock())
    assert old.digest[:8] != verdict.digest[:8]

    def rsi(*arguments: str) -> str:
        command = [sys.executable, "-m", "rsi.cli", "--home", str(home.root), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    printed = rsi("sign", verdict.digest[:8], "--key", str(keys["ada"]))
    assert proof.armored(printed) == printed
    assert "approve of verdict" in rsi(
        "approve", verdict.digest[:8], "--approver", "ada", "--reason", "good", "--evidence", verdict.digest[:8],
        "--key", str(keys["ada"]),
    )  # fmt: skip
    assert kinds(home)[-1] == "approval"
