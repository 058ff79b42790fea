"""Limits that a process sets itself before it runs a stranger's code: memory, time, system calls.

Threads stay possible; further processes, other namespaces, mounts and the like do not. Nor does
memory that no limit counts, such as that of memfd_create and of System V, or a socket that a network
namespace does not hold, such as one to the host of a virtual machine. What is newer than this list is not
there: a kernel brings calls that nobody here has looked at. The numbers of
the system calls are those of Linux on x86-64 and arm64. Source: seccomp(2), capset(2), and
<asm/unistd.h>, <linux/filter.h>.
"""

import contextlib
import ctypes
import errno
import platform
import resource
import struct
import sys

MEMORY = 4 << 30  # bytes of address space; torch alone takes 3
JUDGE_MEMORY = (
    16 << 30
)  # the same, of a process that judges: what it hears is bounded, and this holds the rest
FILE = 16 << 20  # bytes of one file
CPU = 600  # seconds
DISK = 16 << 20  # bytes of each folder that can be written; set by what mounts them
WRITABLE = "/tmp", "/home", "/dev/shm"
OPEN_FILES = 512  # sockets and pipes hold memory too
SIGNALS = 64  # that wait, counted for each user
THREADS = 4096  # before Linux 5.14 it counts all of a user's; it does not bind root: sandbox.py has a bound of its own

# (x86-64, arm64); the first four are clone and what else makes processes, handled one by one below.
CLONE, CLONE3, FORK, VFORK = (56, 220), (435, 435), (57, None), (58, None)
DENIED = {
    "unshare": (272, 97), "setns": (308, 268), "ptrace": (101, 117),
    "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432),
    "fspick": (433, 433), "mount_setattr": (442, 442),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "memfd_create": (319, 279),
    "shmget": (29, 194), "semget": (64, 190), "msgget": (68, 186), "mq_open": (240, 180),
    "io_setup": (206, 0),
    # What the kernel counts for each user, so that a learner could take the teacher's.
    "inotify_init": (253, None), "inotify_init1": (294, 26), "fanotify_init": (300, 262), "timer_create": (222, 107),
    "sendmsg": (46, 211), "sendmmsg": (307, 269),  # with open files, which are counted while they are on their way
    "bind": (49, 200), "listen": (50, 201),  # what waits there unread is memory that no limit counts
    "seccomp": (317, 277),  # more filters: their programs are counted for the whole machine
    "setsockopt": (54, 208),  # larger buffers, of memory that no limit counts
    "flock": (73, 32),  # on a file of the teacher's
    "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7),  # lists of rights, which no limit counts
    # A byte in a pipe or socket holds its whole page, which no limit counts once it is unmapped or cut off.
    "splice": (275, 76), "tee": (276, 77), "vmsplice": (278, 75), "sendfile": (40, 71),
    "syslog": (103, 116), "sync": (162, 81), "syncfs": (306, 267),  # the machine's log, and all of its disks
    "fork": FORK, "vfork": VFORK,
}  # fmt: skip
NEWER = 443  # this and what follows came with Linux 5.14 and later, the same on both: nothing needs it
MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}  # AUDIT_ARCH
FCNTL = (72, 25)
# Its commands that keep a file of the teacher's from others (four lock it), watch it, or make a pipe of more memory.
FCNTL_DENIED = 6, 7, 37, 38, 1024, 1026, 1031
PRCTL = (157, 167)
CLONE_THREAD = 0x10000
MMAP = (9, 222)
MAP_SHARED, MAP_ANONYMOUS = 0x01, 0x20
IOCTL = (16, 29)
TIOCSETD = 0x5423  # a terminal's discipline: the kernel loads a module for it, which stays
SOCKETS = (41, 198), (53, 199)  # one, and a pair
FAMILIES = 1, 2, 10  # of sockets: AF_UNIX, AF_INET, AF_INET6
# SOCK_STREAM and SOCK_DGRAM, closed on exec and without waiting or not; then the usual protocol, TCP and UDP. For what
# is none of these, the kernel loads a module, which stays.
TYPES = tuple(kind | flags for kind in (1, 2) for flags in (0, 0x800, 0x80000, 0x80800))
PROTOCOLS = 0, 6, 17
LOAD, EQUAL, AT_LEAST, HAS_BITS, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, KILL, ERROR = 0x7FFF0000, 0x80000000, 0x00050000
# Offsets in struct seccomp_data.
NUMBER, ARCHITECTURE = 0, 4
FIRST_ARGUMENT, SECOND_ARGUMENT, THIRD_ARGUMENT, FOURTH_ARGUMENT = 16, 24, 32, 40
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, FILTER = 22, 38, 2
CAPABILITIES_3 = 0x20080522


def confine() -> None:
    """Set the limits of this process, drop its capabilities, and filter its system calls.

    It is to be called while there is one thread.

    Raises:
        OSError: the kernel refused.
    """
    for what, most in (
        (resource.RLIMIT_AS, MEMORY),
        (resource.RLIMIT_FSIZE, FILE),
        (resource.RLIMIT_CPU, CPU),
        (resource.RLIMIT_CORE, 1),  # not 0: a kernel that pipes dumps to a program would
        (resource.RLIMIT_NOFILE, OPEN_FILES),
        (resource.RLIMIT_NPROC, THREADS),
        (getattr(resource, "RLIMIT_SIGPENDING", -1), SIGNALS),
    ):
        limit(what, most)
    if not sys.platform.startswith("linux"):
        return
    call("capset", struct.pack("=Ii", CAPABILITIES_3, 0), bytes(24))
    call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    program = system_call_filter()
    if program is not None:
        lines = ctypes.create_string_buffer(program)
        head = struct.pack("@HP", len(program) // 8, ctypes.addressof(lines))
        call("prctl", PR_SET_SECCOMP, FILTER, head, 0, 0)


def limit(what: int, most: int) -> None:
    """Set one of this process's limits for good, as far as the system knows it."""
    with contextlib.suppress(ValueError):  # macOS does not know every limit
        resource.setrlimit(what, (most, most))


def call(name: str, *arguments: int | bytes) -> None:
    """Call a function of the C library that gives 0 if all is well.

    Raises:
        OSError: it did not.
    """
    wide = (ctypes.c_ulong(a) if isinstance(a, int) else a for a in arguments)
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*wide):
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {errno.errorcode.get(number, number)}")


def system_call_filter() -> bytes | None:
    """Return the filter as a program for the kernel; None on a processor we have no numbers for."""
    if platform.machine() not in MACHINES:
        return None
    column, architecture = MACHINES[platform.machine()]
    program = [
        (LOAD, 0, 0, ARCHITECTURE),
        (EQUAL, 1, 0, architecture),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER),
        (AT_LEAST, 0, 1, 0x40000000),  # another way to call, with other numbers
        (RETURN, 0, 0, ERROR | errno.EPERM),
        (AT_LEAST, 1, 0, NEWER),
        # glibc tries clone3 first, and takes clone if there is none.
        (EQUAL, 0, 1, CLONE3[column]),
        (RETURN, 0, 0, ERROR | errno.ENOSYS),
    ]
    for numbers in DENIED.values():
        if (number := numbers[column]) is not None:
            program += [(EQUAL, 0, 1, number), (RETURN, 0, 0, ERROR | errno.EPERM)]
    program += [
        *_if_argument(FCNTL[column], SECOND_ARGUMENT, FCNTL_DENIED, ERROR | errno.EPERM),
        *_if_argument(
            PRCTL[column], FIRST_ARGUMENT, (PR_SET_SECCOMP,), ERROR | errno.EPERM
        ),
        *_if_argument(IOCTL[column], SECOND_ARGUMENT, (TIOCSETD,), ERROR | errno.EPERM),
        *_sockets(SOCKETS[0][column]),
        *_sockets(SOCKETS[1][column]),
        # Of memory that can be shared all is kept while one page of it is mapped, and no limit counts the others.
        (EQUAL, 0, 5, MMAP[column]),
        (LOAD, 0, 0, FOURTH_ARGUMENT),
        (HAS_BITS, 0, 2, MAP_ANONYMOUS),
        (HAS_BITS, 0, 1, MAP_SHARED),
        (RETURN, 0, 0, ERROR | errno.EPERM),
        (RETURN, 0, 0, ALLOW),
        (EQUAL, 0, 3, CLONE[column]),
        (LOAD, 0, 0, FIRST_ARGUMENT),
        (HAS_BITS, 1, 0, CLONE_THREAD),
        (RETURN, 0, 0, ERROR | errno.EPERM),
        (RETURN, 0, 0, ALLOW),
    ]
    return b"".join(struct.pack("=HBBI", *line) for line in program)


def _sockets(call: int) -> list[tuple[int, int, int, int]]:
    """Return the lines that allow sockets of some families, types and protocols."""
    lines = [
        *_one_of(FIRST_ARGUMENT, FAMILIES, ERROR | errno.EAFNOSUPPORT),
        *_one_of(SECOND_ARGUMENT, TYPES, ERROR | errno.ESOCKTNOSUPPORT),
        *_one_of(THIRD_ARGUMENT, PROTOCOLS, ERROR | errno.EPROTONOSUPPORT),
        (RETURN, 0, 0, ALLOW),
    ]
    return [(EQUAL, 0, len(lines), call), *lines]


def _one_of(
    argument: int, values: tuple[int, ...], other: int
) -> list[tuple[int, int, int, int]]:
    """Return the lines that go on if an argument is one of these values, and answer if it is another."""
    jumps = [(EQUAL, len(values) - n, 0, value) for n, value in enumerate(values)]
    return [(LOAD, 0, 0, argument), *jumps, (RETURN, 0, 0, other)]


def _if_argument(
    call: int, argument: int, values: tuple[int, ...], then: int
) -> list[tuple[int, int, int, int]]:
    """Return the lines that answer a system call by one of its arguments, and allow it with another."""
    lines = [*_one_of(argument, values, ALLOW), (RETURN, 0, 0, then)]
    return [(EQUAL, 0, len(lines), call), *lines]
