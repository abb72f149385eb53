"""What a child process gives away before it runs anything: standard library only, no way back.

In order: resource limits; Landlock (Linux 5.13), so that files can be read below the interpreter, the system's
libraries and the own folder only, written in the own folder only, and ``/proc`` not at all; a seccomp filter
(x86-64 and ARM64), under which sockets, new processes, new programs, signals and tracing fail with EPERM. Neither needs
a privilege, and both hold for root. Where one of them is missing, an audit hook refuses the same things as Python sees
them: that keeps out accidents and simple tricks, and not code that sets out to break it.
"""

import ctypes
import os
import platform
import resource
import struct
import sys
from collections.abc import Sequence
from typing import NamedTuple

LANDLOCK, SECCOMP, HOOK = "landlock", "seccomp", "audit hook"

_EPERM, _ENOSYS, _ALLOW = 0x00050001, 0x00050026, 0x7FFF0000
_NO_NEW_PRIVS, _SET_SECCOMP, _SET_DUMPABLE, _FILTER = 38, 22, 4, 2
_CLONE_THREAD = 0x00010000
_LOAD, _EQUAL, _SET, _RETURN = 0x20, 0x15, 0x45, 0x06
"""Instructions of classic BPF: load a word, jump if equal, jump if a bit is set, return."""
_ARCHES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
_CLONE, _CLONE3 = (56, 220), 435
_DENIED: dict[str, tuple[tuple[int | None, int | None], ...]] = {
    "network": ((41, 198), (53, 199), (42, 203), (49, 200), (50, 201), (43, 202), (288, 242)),
    "processes": ((57, None), (58, None), (59, 221), (322, 281), (112, 157), (109, 154)),
    "signals": ((62, 129), (200, 130), (234, 131), (129, 138), (297, 240), (424, 424)),
    "other processes": ((101, 117), (310, 270), (311, 271), (434, 434), (438, 438), (302, 261), (160, 164)),
    "namespaces and mounts": ((308, 268), (272, 97), (165, 40), (166, 39), (155, 41), (161, 51), (428, 428)),
    "kernel": ((321, 280), (298, 241), (425, 425), (426, 426), (427, 427), (323, 282), (175, 105), (313, 273)),
    "keys": ((250, 219), (248, 217), (249, 218)),
    "shared memory": ((29, 194), (64, 190), (68, 186), (240, 180), (319, 279)),
    "machine": ((246, 104), (169, 142), (164, 170), (227, 112), (159, 171), (170, 161), (163, 89), (179, 60)),
    "owners and modes": (
        (90, None), (91, 52), (268, 53), (452, 452), (92, None), (93, 55), (94, None), (260, 54), (188, 5), (189, 6),
        (190, 7), (197, 14), (198, 15), (199, 16), (280, 88), (132, None), (235, None), (261, None), (304, 265),
    ),
    "scheduling": ((141, 140), (203, 122), (144, 119)),
}  # fmt: skip
"""System calls by number on x86-64 and ARM64."""
_HOOKED = (
    "socket.",
    "subprocess.",
    "os.fork",
    "os.exec",
    "os.posix_spawn",
    "os.system",
    "os.kill",
    "ctypes.",
)


class Limits(NamedTuple):
    """Bounds of one process."""

    cpu_seconds: int = 5
    memory: int = 1 << 30
    """Bytes of address space."""
    file: int = 1 << 20
    """Bytes of the largest file it may write."""
    files: int = 64
    """Open at once."""
    readable: tuple[str, ...] = ()
    """Folders that may be read beside the interpreter's."""


def confine(folder: str, limits: Limits) -> list[str]:
    """Give everything away but `folder`; the guards that are in force."""
    for what, bound in (
        (resource.RLIMIT_CPU, limits.cpu_seconds),
        (resource.RLIMIT_FSIZE, limits.file),
        (resource.RLIMIT_NOFILE, limits.files),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (bound, bound))
    guards = ["limits"]
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (limits.memory, limits.memory))
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(_SET_DUMPABLE, 0, 0, 0, 0)
        libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
        guards += [LANDLOCK] if _landlock(libc, folder, limits.readable) else []
        guards += [SECCOMP] if _seccomp(libc) else []
    if len(guards) < 3:
        guards.append(HOOK)
        sys.addaudithook(lambda event, arguments: _hook(event, arguments, folder))
    return guards


def _landlock(libc: ctypes.CDLL, folder: str, more: Sequence[str]) -> bool:
    abi = libc.syscall(444, 0, 0, 1)
    if abi < 1:
        return False
    rights = (1 << (16 if abi >= 5 else 15 if abi >= 3 else 14 if abi == 2 else 13)) - 1
    attributes = struct.pack("=QQQ", rights, 3, 3)[: 24 if abi >= 6 else 16 if abi >= 4 else 8]
    rules = libc.syscall(444, attributes, len(attributes), 0)
    if rules < 0:
        return False
    run, read_file, read_folder = 1, 4, 8
    readable = {sys.base_prefix, os.path.dirname(__file__), "/usr", "/lib", "/lib64", *more}  # noqa: PTH120
    given = dict.fromkeys(readable, run | read_file | read_folder) | {folder: rights & ~run}
    given |= dict.fromkeys(("/etc/ld.so.cache", "/etc/localtime", "/dev/urandom"), read_file)
    given["/dev/null"] = read_file | 2
    for path, allowed in given.items():
        if os.path.exists(path):  # noqa: PTH110
            handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
            libc.syscall(445, rules, 1, struct.pack("=Qi", allowed, handle), 0)
            os.close(handle)
    done = libc.syscall(446, rules, 0) == 0
    os.close(rules)
    return bool(done)


def _seccomp(libc: ctypes.CDLL) -> bool:
    if platform.machine() not in _ARCHES or sys.maxsize < 1 << 32:
        return False
    arch, column = _ARCHES[platform.machine()]
    code = [
        (_LOAD, 0, 0, 4), (_EQUAL, 1, 0, arch), (_RETURN, 0, 0, _EPERM),
        (_LOAD, 0, 0, 0), (_SET, 0, 1, 0x40000000), (_RETURN, 0, 0, _EPERM),
        (_EQUAL, 0, 1, _CLONE3), (_RETURN, 0, 0, _ENOSYS),
        (_EQUAL, 0, 4, _CLONE[column]), (_LOAD, 0, 0, 16), (_SET, 0, 1, _CLONE_THREAD), (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _EPERM),
    ]  # fmt: skip
    for calls in _DENIED.values():
        for numbers in calls:
            number = numbers[column]
            if number is not None:
                code += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _EPERM)]
    code.append((_RETURN, 0, 0, _ALLOW))
    program = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *one) for one in code))
    header = struct.pack("@HP", len(code), ctypes.addressof(program))
    return bool(libc.prctl(_SET_SECCOMP, _FILTER, header, 0, 0) == 0)


def _hook(event: str, arguments: tuple[object, ...], folder: str) -> None:
    if event.startswith(_HOOKED):
        raise PermissionError(f"{event} is refused")
    if event == "open" and len(arguments) > 2 and isinstance(arguments[2], int) and arguments[2] & 3:
        path = os.path.realpath(str(arguments[0]))
        if not path.startswith(folder + os.sep):
            raise PermissionError("writing is refused outside the folder")
