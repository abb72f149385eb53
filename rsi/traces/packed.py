"""The bytes of a file, decompressed where its first bytes say gzip or zstd, whatever its name says.

A cut or damaged stream gives everything before the damage, then a flaw.
"""

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from rsi.traces.rows import Reason
from rsi.traces.values import Flaw

GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"
_ZSTD_BLOCK = 1 << 16


def blocks(path: Path, size: int) -> Iterator[bytes | Flaw]:
    """Blocks of at most `size` bytes; a flaw is the last. Never raises for what is in the file."""
    packed = False
    try:
        with path.open("rb") as file:
            head = file.read(len(ZSTD))
            file.seek(0)
            packed = _is_packed(head)
            if not packed:
                yield from iter(lambda: file.read(size), b"")
            elif head.startswith(GZIP):
                yield from _gzip(file, size)
            else:
                yield from _zstd(path)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        yield Flaw(0, 0, Reason.CUT_STREAM, f"the compressed stream is damaged or ends early: {error}")
    except OSError as error:
        # What Arrow says of a damaged stream has no error number.
        damaged = packed and error.errno is None
        said = (str(error).splitlines() or ["unknown error"])[0]
        yield Flaw(0, 0, Reason.CUT_STREAM if damaged else Reason.UNREADABLE, said)


def _is_packed(head: bytes) -> bool:
    """A zstd stream may begin with frames to be skipped, whose mark has sixteen forms."""
    skipped = head[1:] == b"\x2a\x4d\x18" and 0x50 <= head[0] <= 0x5F
    return head.startswith((GZIP, ZSTD)) or skipped


def _gzip(file: IO[bytes], size: int) -> Iterator[bytes]:
    # `read1` gives what there is before it finds that the rest is missing.
    stream = gzip.GzipFile(fileobj=file, mode="rb")
    yield from iter(lambda: stream.read1(size), b"")


def _zstd(path: Path) -> Iterator[bytes]:
    """Arrow loses the bytes of the read that meets the damage: that read is made again, byte by byte."""
    import pyarrow as pa

    done = 0
    stream = pa.input_stream(str(path), compression="zstd")
    try:
        while block := stream.read(_ZSTD_BLOCK):
            done += len(block)
            yield block
    except OSError:
        yield from _bytewise(path, done)


def _bytewise(path: Path, skipped: int) -> Iterator[bytes]:
    import pyarrow as pa

    stream = pa.input_stream(str(path), compression="zstd")
    while skipped:
        skipped -= len(stream.read(min(skipped, _ZSTD_BLOCK)))
    part = bytearray()
    try:
        while one := stream.read(1):
            part += one
    finally:
        if part:
            yield bytes(part)
