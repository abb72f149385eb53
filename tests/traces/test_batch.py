"""What a reading process makes of a chunk: redacted before anything is stored, users under pseudonyms."""

from pathlib import Path

import orjson
import pyarrow.parquet as pq

from rsi.intake import Redaction, Splits
from rsi.settings import Deployment, Home
from rsi.traces.ingest import ingest
from tests.traces.inputs import ALL_TRAIN, CLOCK, chat, load, rows, write_lines

SECRETS = ("john.doe@example.com", "sk-proj-abcdefghijklmnopqrstuvwx1234", "4111 1111 1111 1111")


def everything(home: Home) -> bytes:
    """All bytes that the home keeps of its traces."""
    return b"".join(path.read_bytes() for path in home.root.rglob("*") if path.is_file())


def test_secrets_are_replaced_in_tables_raw_text_and_counts(home: Home, tmp_path: Path) -> None:
    """Equal values stay equal, so that an argument still matches what was said."""
    call = {"id": "c1", "function": {"name": "mail", "arguments": orjson.dumps({"to": SECRETS[0]}).decode()}}
    record = {
        "messages": [
            {"role": "user", "content": f"write to {SECRETS[0]} with {SECRETS[1]}, card {SECRETS[2]}"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
        ]
    }
    totals = load(home, write_lines(tmp_path / "a.jsonl", [record]))
    assert totals.redacted == {"email": 2, "key": 1, "card": 1}
    ((text,),) = rows(home, "select input_text from traces")
    ((arguments,),) = rows(home, "select arguments from tool_calls")
    assert orjson.loads(str(arguments))["to"] in str(text)
    assert not any(secret in str(text) for secret in SECRETS)
    (raw,) = home.raw.glob("*.parquet")
    body = pq.read_table(raw)["body"][0].as_py()
    assert not any(secret.encode() in body for secret in SECRETS)
    assert not any(secret.encode() in everything(home) for secret in SECRETS)


def test_the_raw_text_stays_where_that_is_asked_for(home: Home, tmp_path: Path) -> None:
    """The tables are redacted all the same; without redaction everything stays."""
    path = write_lines(tmp_path / "a.jsonl", [chat(SECRETS[0])])
    kept = ALL_TRAIN.model_copy(update={"redaction": Redaction(keep_raw=True)})
    load(home, path, deployment=kept)
    (raw,) = home.raw.glob("*.parquet")
    assert SECRETS[0].encode() in pq.read_table(raw)["body"][0].as_py()
    assert rows(home, f"select count(*) from traces where input_text like '%{SECRETS[0]}%'") == [(0,)]
    off = ALL_TRAIN.model_copy(update={"redaction": Redaction(enabled=False)})
    other = Home(tmp_path / "other")
    load(other, path, deployment=off)
    assert rows(other, "select input_text from traces") == [(SECRETS[0],)]


def test_refused_text_is_redacted_as_well(home: Home, tmp_path: Path) -> None:
    """Broken lines, unknown records and what is too long alike."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(
        b'{"odd": "'
        + SECRETS[0].encode()
        + b'"}\n{"cut": "'
        + SECRETS[1].encode()
        + b'\n"'
        + SECRETS[0].encode()
    )
    totals = load(home, path)
    assert totals.quarantined == totals.read >= 2
    assert not any(secret.encode() in everything(home) for secret in SECRETS)


def test_a_secret_that_lies_in_two_chunks_of_a_stream_is_found(home: Home, tmp_path: Path) -> None:
    """The stream is put together before it is looked at."""
    chunks = [
        {"id": "s1", "object": "chat.completion.chunk", "created": 1_780_000_000, "model": "m",
         "choices": [{"index": 0, "delta": {"content": part}, "finish_reason": None}]}
        for part in ("to jo", "hn.doe@exam", "ple.com")
    ]  # fmt: skip
    assert load(home, write_lines(tmp_path / "a.jsonl", chunks)).redacted == {"email": 1}
    ((text,),) = rows(home, "select output_text from traces")
    assert str(text).startswith("to <email:")
    assert b"hn.doe@exam" not in everything(home)


def test_held_out_text_is_redacted(home: Home, tmp_path: Path) -> None:
    """The gate's copy holds no secrets either."""
    deployment = Deployment(split=Splits(gate=0.5, vault=0.4))
    records = [chat(f"{number} {SECRETS[0]}") for number in range(30)]
    totals = ingest(home, CLOCK, [write_lines(tmp_path / "a.jsonl", records)], deployment=deployment)
    assert totals.heldout > 10
    assert SECRETS[0].encode() not in everything(home)


def test_users_are_pseudonyms_and_the_same_in_every_format(home: Home, tmp_path: Path) -> None:
    """So that a person's traces can be found and forgotten, but not named."""
    load(
        home,
        write_lines(
            tmp_path / "a.jsonl", [chat("x", user="ada"), chat("y", user="ada"), chat("z", user="bob")]
        ),
    )
    found = [user for (user,) in rows(home, "select user_ref from traces order by input_text")]
    assert found[0] == found[1] != found[2]
    assert all(str(user).startswith("<user:") for user in found)
