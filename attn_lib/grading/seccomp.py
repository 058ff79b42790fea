"""A system call filter for the sandbox: threads, but no further processes.

The numbers are those of Linux (x86-64 and arm64). Source: seccomp(2), and <linux/filter.h>.
"""

import errno
import platform
import struct

# AUDIT_ARCH, then the numbers of clone, clone3, fork, vfork (arm64 has no fork and vfork).
MACHINES = {
    "x86_64": (0xC000003E, 56, 435, (57, 58)),
    "aarch64": (0xC00000B7, 220, 435, ()),
}
CLONE_THREAD = 0x10000
LOAD, EQUAL, AT_LEAST, HAS_BITS, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, KILL, ERROR = 0x7FFF0000, 0x80000000, 0x00050000
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data


def no_new_processes() -> bytes | None:
    """Return the filter as a program for bubblewrap's --seccomp; None on another processor."""
    machine = MACHINES.get(platform.machine())
    if machine is None:
        return None
    architecture, clone, clone3, forks = machine
    program = [
        (LOAD, 0, 0, ARCHITECTURE),
        (EQUAL, 1, 0, architecture),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER),
        (AT_LEAST, 0, 1, 0x40000000),  # another way to call, with other numbers
        (RETURN, 0, 0, ERROR | errno.EPERM),
        # glibc tries clone3 first, and takes clone if there is none.
        (EQUAL, 0, 1, clone3),
        (RETURN, 0, 0, ERROR | errno.ENOSYS),
    ]
    for fork in forks:
        program += [(EQUAL, 0, 1, fork), (RETURN, 0, 0, ERROR | errno.EPERM)]
    program += [
        (EQUAL, 0, 3, clone),
        (LOAD, 0, 0, FIRST_ARGUMENT),
        (HAS_BITS, 1, 0, CLONE_THREAD),
        (RETURN, 0, 0, ERROR | errno.EPERM),
        (RETURN, 0, 0, ALLOW),
    ]
    return b"".join(struct.pack("=HBBI", *line) for line in program)
