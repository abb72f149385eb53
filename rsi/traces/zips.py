"""Members of a zip file, read within bounds whatever the file says of itself.

The directory at the file's end names the members; where it is cut off, they are found one after the other from the
front. Names are only names: nothing is unpacked to disk. Sizes in the file are claims, so that what a member gives
is bounded while it is unpacked, and members that share their bytes are refused.
"""

import io
import struct
import zlib
from collections.abc import Iterator
from typing import IO, NamedTuple

from rsi.traces.rows import Reason, Refusal

MAGIC = (b"PK\x03\x04", b"PK\x05\x06")
"""How a zip file begins."""
MAX_MEMBERS = 200_000
MAX_DIRECTORY = 64 << 20
"""Bytes of a directory, or of all names where there is none."""
STORED, DEFLATED, ZSTD = 0, 8, 93

_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_END = struct.Struct("<4s4H2IH")
_END64 = struct.Struct("<4sQ2H2I4Q")
_LOCATOR = struct.Struct("<4sIQI")
_TAIL = 1 << 16
_SCAN = 1 << 16
_ENCRYPTED, _SIZES_BEHIND, _UTF8 = 0x1, 0x8, 0x800
_FULL = 0xFFFFFFFF


class Member(NamedTuple):
    """One member, as the file describes it."""

    name: str
    offset: int
    """Of its header, from the file's start."""
    packed: int
    """Bytes in the file."""
    method: int
    crc: int
    is_encrypted: bool = False


def shown(name: str) -> str:
    """A member's name for a message: short, and without characters that act."""
    cut = name if len(name) <= 120 else f"{name[:117]}..."
    return "".join(char if char.isprintable() else "\ufffd" for char in cut)


def members(file: IO[bytes]) -> tuple[list[Member], Refusal | None]:
    """What is in the file, in order of its directory, and what is wrong with the file as a whole."""
    size = file.seek(0, io.SEEK_END)
    try:
        found = _listed(file, size)
    except (struct.error, ValueError, OverflowError) as error:
        found = None
        detail = f"the zip file's directory is damaged: {error}"
    else:
        detail = "the zip file ends before its directory"
    if found is not None:
        return found
    return _walked(file, size), Refusal(
        Reason.CUT_STREAM, f"{detail}; members were looked for from the front"
    )


def content(file: IO[bytes], member: Member, limit: int) -> bytes | Refusal:
    """The bytes of a member, at most `limit` of them."""
    name = shown(member.name)
    if member.is_encrypted:
        return Refusal(Reason.UNREADABLE, f"member {name} is encrypted")
    if member.packed > limit:
        return Refusal(
            Reason.TOO_LARGE, f"member {name} of {member.packed} packed bytes; at most {limit} are read"
        )
    file.seek(member.offset)
    head = file.read(_LOCAL.size)
    if len(head) < _LOCAL.size or not head.startswith(MAGIC[0]):
        return Refusal(Reason.CUT_STREAM, f"member {name} does not begin where the directory says")
    *_, name_size, extra_size = _LOCAL.unpack(head)
    file.seek(name_size + extra_size, io.SEEK_CUR)
    packed = file.read(member.packed)
    if len(packed) < member.packed:
        return Refusal(Reason.CUT_STREAM, f"the file ends inside member {name}")
    found = _unpacked(packed, member.method, limit)
    if found is None:
        return Refusal(Reason.CUT_STREAM, f"member {name} is damaged (method {member.method})")
    if len(found) > limit:
        return Refusal(Reason.TOO_LARGE, f"member {name} unpacks to more than {limit} bytes")
    if zlib.crc32(found) != member.crc:
        return Refusal(Reason.CUT_STREAM, f"member {name} is damaged: its checksum is another")
    return found


def _unpacked(packed: bytes, method: int, limit: int) -> bytes | None:
    """At most one byte more than `limit`; null for what cannot be unpacked."""
    if method == STORED:
        return packed
    if method == DEFLATED:
        stream = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            found = stream.decompress(packed, limit + 1)
        except zlib.error:
            return None
        return found if stream.eof or len(found) > limit else None
    if method == ZSTD:
        import pyarrow as pa

        try:
            with pa.CompressedInputStream(pa.BufferReader(packed), "zstd") as stream:
                return bytes(stream.read(limit + 1))
        except (OSError, pa.ArrowException):
            return None
    return None


def _listed(file: IO[bytes], size: int) -> tuple[list[Member], Refusal | None] | None:
    """By the directory; null where there is none."""
    start = max(size - _TAIL - _END.size, 0)
    file.seek(start)
    tail = file.read()
    at = tail.rfind(b"PK\x05\x06")
    if at < 0:
        return None
    _, _, _, _, _, length, offset, _ = _END.unpack_from(tail, at)
    end = start + at
    if at >= _LOCATOR.size:
        mark, _, end64, _ = _LOCATOR.unpack_from(tail, at - _LOCATOR.size)
        if mark == b"PK\x06\x07":
            file.seek(end64)
            *_, length, offset = _END64.unpack(file.read(_END64.size))
            end = end64
    shift = end - length - offset
    if shift < 0 or length > size:
        raise ValueError("its place lies outside of the file")
    if length > MAX_DIRECTORY:
        raise ValueError(f"it has {length} bytes; at most {MAX_DIRECTORY} are read")
    file.seek(offset + shift)
    found: list[Member] = []
    for one in _entries(file, length, shift):
        if len(found) == MAX_MEMBERS:
            return found, Refusal(Reason.TOO_LARGE, f"a zip file of more than {MAX_MEMBERS} members")
        found.append(one)
    return _apart(found)


def _entries(file: IO[bytes], length: int, shift: int) -> Iterator[Member]:
    while length > 0:
        head = file.read(_CENTRAL.size)
        mark, _, _, flags, method, _, _, crc, packed, full, name_size, extra_size, note_size, *_, offset = (
            _CENTRAL.unpack(head)
        )
        if mark != b"PK\x01\x02":
            raise ValueError("an entry does not begin as one")
        name, extra = file.read(name_size), file.read(extra_size)
        file.seek(note_size, io.SEEK_CUR)
        length -= _CENTRAL.size + name_size + extra_size + note_size
        packed, offset = _large(extra, packed, full, offset)
        yield Member(_name(name, flags), offset + shift, packed, method, crc, bool(flags & _ENCRYPTED))


def _large(extra: bytes, packed: int, full: int, offset: int) -> tuple[int, int]:
    """Packed size and offset, which stand in the extra field where they need more than 32 bits."""
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<2H", extra, at)
        if kind == 1:
            values = iter(struct.unpack_from(f"<{min(length, len(extra) - at - 4) // 8}Q", extra, at + 4))
            if full == _FULL:
                next(values, None)
            packed = next(values, packed) if packed == _FULL else packed
            offset = next(values, offset) if offset == _FULL else offset
            break
        at += 4 + length
    return packed, offset


def _apart(found: list[Member]) -> tuple[list[Member], Refusal | None]:
    """Without members that lie in the bytes of others: a way to make much out of little."""
    end, kept, overlapping = 0, set[int](), list[str]()
    for index, one in sorted(enumerate(found), key=lambda numbered: numbered[1].offset):
        if one.offset < end:
            overlapping.append(one.name)
        else:
            kept.add(index)
            end = one.offset + _LOCAL.size + one.packed
    if not overlapping:
        return found, None
    detail = f"{len(overlapping)} members of the zip file overlap others, as {shown(overlapping[0])}"
    return [one for index, one in enumerate(found) if index in kept], Refusal(Reason.CUT_STREAM, detail)


def _walked(file: IO[bytes], size: int) -> list[Member]:
    """By the members' own headers, up to the first that does not say how long it is or is none."""
    found: list[Member] = []
    at = named = 0
    while len(found) < MAX_MEMBERS and named < MAX_DIRECTORY:
        file.seek(at)
        head = file.read(_LOCAL.size)
        if len(head) < _LOCAL.size or not head.startswith(MAGIC[0]):
            break
        _, _, flags, method, _, _, crc, packed, full, name_size, extra_size = _LOCAL.unpack(head)
        name, extra = file.read(name_size), file.read(extra_size)
        data = at + _LOCAL.size + name_size + extra_size
        named += name_size
        packed, _ = _large(extra, packed, full, 0)
        if flags & _SIZES_BEHIND:
            measured = _measured(file, data) if method == DEFLATED else None
            if measured is None:
                break
            packed, crc = measured
        found.append(Member(_name(name, flags), at, packed, method, crc, bool(flags & _ENCRYPTED)))
        at = data + packed
        if at > size:
            break
        at = _next(file, at)
    return found


def _measured(file: IO[bytes], at: int) -> tuple[int, int] | None:
    """How long a deflated stream is and its checksum, where its header does not say."""
    file.seek(at)
    stream, length, crc = zlib.decompressobj(-zlib.MAX_WBITS), 0, 0
    while not stream.eof and (block := stream.unconsumed_tail or file.read(_SCAN)):
        before = len(block)
        try:
            crc = zlib.crc32(stream.decompress(block, 1 << 20), crc)
        except zlib.error:
            return None
        length += before - len(stream.unconsumed_tail) - len(stream.unused_data)
    return (length, crc) if stream.eof else None


def _next(file: IO[bytes], at: int) -> int:
    """Where the next header begins: sizes may stand between."""
    file.seek(at)
    ahead = file.read(64)
    found = ahead.find(MAGIC[0])
    return at + max(found, 0)


def _name(name: bytes, flags: int) -> str:
    return name.decode("utf-8" if flags & _UTF8 else "cp437", "replace")
