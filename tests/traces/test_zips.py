"""Members of zip files: bounded, checked, and found from the front where the directory is missing."""

import io
import struct
import zipfile
import zlib

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsi.traces import zips
from rsi.traces.rows import Reason, Refusal
from rsi.traces.zips import Member

LIMIT = 1 << 16
TEXT = b'{"a": "text"}' * 20


def packed(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip file as the standard library writes it."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", method) as archive:
        for name, body in members.items():
            archive.writestr(name, body)
    return target.getvalue()


def made(
    name: bytes, body: bytes, method: int, crc: int, flags: int = 0, copies: int = 1, size: int | None = None
) -> bytes:
    """A zip file with one member, said to be there `copies` times."""
    length = len(body) if size is None else size
    head = struct.pack("<5H3I2H", 20, flags, method, 0, 0, crc, length, length, len(name), 0)
    local = b"PK\x03\x04" + head + name + body
    entry = b"PK\x01\x02" + struct.pack("<H", 20) + head + struct.pack("<3H2I", 0, 0, 0, 0, 0) + name
    directory = entry * copies
    return (
        local
        + directory
        + struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, copies, copies, len(directory), len(local), 0)
    )


def listed(data: bytes) -> tuple[dict[str, bytes | Reason], Reason | None]:
    """Every member's bytes, or why not; and what is wrong with the whole."""
    file = io.BytesIO(data)
    found, wrong = zips.members(file)
    read = {one.name: zips.content(file, one, LIMIT) for one in found}
    told = {name: one.reason if isinstance(one, Refusal) else one for name, one in read.items()}
    return told, wrong.reason if wrong else None


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_members(method: int) -> None:
    """Of either common method, also behind something else and with names beyond ASCII."""
    members = {"header.json": TEXT, "samples/ä.json": b"{}", "empty": b""}
    assert listed(packed(members, method)) == (members, None)
    assert listed(b"leading bytes" + packed(members, method)) == (members, None)


def test_zstd_members() -> None:
    """Method 93, which newer logs use."""
    squeezed = pa.Codec("zstd").compress(TEXT, asbytes=True)
    assert listed(made(b"a", squeezed, zips.ZSTD, zlib.crc32(TEXT))) == ({"a": TEXT}, None)
    assert listed(made(b"a", squeezed[:-9], zips.ZSTD, zlib.crc32(TEXT))) == ({"a": Reason.CUT_STREAM}, None)


def test_a_large_directory() -> None:
    """More members than two bytes count: the longer form of the directory."""
    members = {f"m{number}": b"" for number in range(66_000)}
    found, wrong = zips.members(io.BytesIO(packed(members, zipfile.ZIP_STORED)))
    assert (len(found), wrong) == (66_000, None)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (made(b"a", TEXT, zips.STORED, 5), Reason.CUT_STREAM),
        (made(b"a", b"no stream", zips.DEFLATED, 5), Reason.CUT_STREAM),
        (made(b"a", TEXT, 9, zlib.crc32(TEXT)), Reason.CUT_STREAM),
        (made(b"a", TEXT, zips.STORED, zlib.crc32(TEXT), flags=1), Reason.UNREADABLE),
        (made(b"a", b"", zips.STORED, 0, size=LIMIT + 1), Reason.TOO_LARGE),
        (made(b"a", TEXT, zips.STORED, 0, size=len(TEXT) + 500), Reason.CUT_STREAM),
    ],
    ids=["checksum", "no stream", "unknown method", "encrypted", "claims much", "claims more than there is"],
)
def test_damaged_members(data: bytes, reason: Reason) -> None:
    """Each is refused with its reason, and nothing else."""
    assert listed(data)[0] == {"a": reason}


def test_a_member_that_unpacks_to_very_much() -> None:
    """Is given up at the limit."""
    bomb = zlib.compressobj(9, zlib.DEFLATED, -15)
    body = bomb.compress(b"0" * (LIMIT * 500)) + bomb.flush()
    assert len(body) < LIMIT
    assert listed(made(b"a", body, zips.DEFLATED, 0)) == ({"a": Reason.TOO_LARGE}, None)


def test_members_that_share_their_bytes() -> None:
    """Much out of little: only the first is given."""
    file = io.BytesIO(made(b"a", TEXT, zips.STORED, zlib.crc32(TEXT), copies=1000))
    found, wrong = zips.members(file)
    assert (len(found), wrong and wrong.reason) == (1, Reason.CUT_STREAM)


def test_a_file_that_is_cut() -> None:
    """What is whole before the cut is found, and so is the member that the cut went through."""
    members = {f"m{number}": bytes([65 + number]) * 300 for number in range(5)}
    whole = packed(members, zipfile.ZIP_STORED)
    found, wrong = listed(whole[:1100])
    assert found == {**{name: members[name] for name in ("m0", "m1", "m2")}, "m3": Reason.CUT_STREAM}
    assert wrong is Reason.CUT_STREAM


def test_a_file_that_is_cut_and_was_written_to_a_pipe() -> None:
    """Sizes stand behind the members then: streams end where they say so."""

    class Pipe(io.RawIOBase):
        def __init__(self) -> None:
            self.held = bytearray()

        def writable(self) -> bool:
            return True

        def write(self, data: object) -> int:
            self.held += bytes(data)  # type: ignore[call-overload]
            return len(bytes(data))  # type: ignore[call-overload]

    target = Pipe()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("one", "two"):
            archive.writestr(name, TEXT)
    cut = bytes(target.held)[: target.held.rfind(b"PK\x01\x02") - 60]
    assert listed(cut) == ({"one": TEXT, "two": TEXT}, Reason.CUT_STREAM)


def test_names_are_shown_safely() -> None:
    """Short and on one line; the name itself is used for nothing else."""
    assert zips.shown("../../etc\n\x1b[31m\x00") == "../../etc\ufffd\ufffd[31m\ufffd"
    assert len(zips.shown("x" * 70_000)) == 120


@given(st.binary(max_size=300), st.integers(0, 400), st.integers(0, 255))
def test_arbitrary_bytes(noise: bytes, at: int, byte: int) -> None:
    """Nothing raises: not on noise, nor on a file with one byte changed."""
    listed(b"PK\x03\x04" + noise)
    listed(noise + b"PK\x05\x06" + noise)
    data = bytearray(packed({"a": TEXT, "b": b"{}"}))
    data[at % len(data)] = byte
    listed(bytes(data))


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1), st.sampled_from([0, 8, 93, 14]))
def test_arbitrary_claims(size: int, crc: int, method: int) -> None:
    """Nothing raises on sizes and methods that are not so."""
    listed(made(b"a", TEXT, method, crc, size=size))
    zips.content(io.BytesIO(b"PK\x03\x04" + TEXT), Member("a", size, min(size, LIMIT), method, crc), LIMIT)
