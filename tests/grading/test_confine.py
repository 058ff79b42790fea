"""The filter of system calls, interpreted for every number: what it refuses, and on which machine."""

import ctypes
import errno
import platform
import resource
import struct
import sys

import pytest

from attn_lib.grading import confine
from attn_lib.grading.confine import system_call_filter

X86, ARM, OTHER = 0xC000003E, 0xC00000B7, 0x40000028
ALLOWED, KILLED = "allowed", "killed"
# From <asm/unistd.h>: mounts, namespaces, others' memory, keys, io_uring, memory that no limit counts, what is
# counted for each user.
NEW = {*range(425, 434), 442}  # the same on both; 434 is pidfd_open, which is harmless
UNKNOWN = {*range(443, 600)}  # Landlock's, statmount, listmount, and what comes after them
REFUSED = {
    "x86_64": {40, 46, 49, 50, 54, 57, 58, 64, 68, 73, 101, 103, 155, 161, 162, 165, 166, 188, 189, 190, 206, 222, 240, 248, 249, 250, 253, 272, 275, 276, 278, 294, 298, 300, 306, 307, 308, 310, 311, 317, 319, 321, 323, *NEW, 29},
    "aarch64": {0, 5, 6, 7, 26, 32, 39, 40, 41, 51, 71, 75, 76, 77, 81, 97, 107, 116, 117, 180, 186, 190, 194, 200, 201, 208, 211, 217, 218, 219, 241, 262, 267, 268, 269, 270, 271, 277, 279, 280, 282, *NEW},
}  # fmt: skip
CLONE, CLONE3 = {"x86_64": 56, "aarch64": 220}, 435
SOCKET = {"x86_64": 41, "aarch64": 198}
SOCKETPAIR = {"x86_64": 53, "aarch64": 199}


def outcome(program, machine, number, *arguments):
    """Run a filter as the kernel does; return what becomes of one system call."""
    six = [*arguments, *[0] * 6][:6]
    data = struct.pack("=IIQ6Q", number, machine, 0, *six)
    place = value = 0
    while True:
        code, yes, no, k = struct.unpack_from("=HBBI", program, 8 * place)
        place += 1
        if code == 0x20:
            [value] = struct.unpack_from("=I", data, k)
        elif code == 0x06:
            said = {0x7FFF0000: ALLOWED, 0x80000000: KILLED}
            return said.get(k) or errno.errorcode[k & 0xFFFF]
        else:
            is_so = {0x15: value == k, 0x35: value >= k, 0x45: bool(value & k)}[code]
            place += yes if is_so else no


@pytest.fixture(params=[("x86_64", X86), ("aarch64", ARM)], ids=["x86_64", "aarch64"])
def machine(request, monkeypatch):
    """The filter of a kind of processor, and the kernel's number of that kind."""
    name, architecture = request.param
    monkeypatch.setattr(platform, "machine", lambda: name)
    return name, architecture, system_call_filter()


def test_just_these_system_calls_are_refused(machine):
    name, architecture, program = machine
    handled = {CLONE[name], CLONE3, SOCKET[name], SOCKETPAIR[name]}
    answers = {n: outcome(program, architecture, n) for n in range(600) if n not in handled}
    refused = {n for n, answer in answers.items() if answer != ALLOWED}
    assert refused == REFUSED[name] | UNKNOWN
    assert {answers[n] for n in REFUSED[name]} == {"EPERM"}
    assert {answers[n] for n in UNKNOWN} == {"ENOSYS"}  # who calls does it in the old way


def test_threads_are_allowed_and_processes_are_not(machine):
    name, architecture, program = machine
    thread, process = 0x3D0F00, 0x1200011  # the flags that glibc gives
    assert outcome(program, architecture, CLONE[name], thread) == ALLOWED
    assert outcome(program, architecture, CLONE[name], process) == "EPERM"
    assert outcome(program, architecture, CLONE3) == "ENOSYS"  # glibc takes clone then


def test_memory_that_could_be_shared_is_refused(machine):
    name, architecture, program = machine
    mmap = {"x86_64": 9, "aarch64": 222}[name]
    said = {
        flags: outcome(program, architecture, mmap, 0, 4096, 3, flags)
        for flags in (0x01, 0x02, 0x22, 0x21, 0x23, 0x8021)
    }
    assert [*said.values()] == [*3 * [ALLOWED], *3 * ["EPERM"]]


def test_files_can_be_neither_locked_nor_leased(machine):
    name, architecture, program = machine
    number = {"x86_64": 72, "aarch64": 25}[name]
    said = {
        cmd: outcome(program, architecture, number, 3, cmd)
        for cmd in (*range(40), *range(1020, 1040))
    }
    assert {cmd for cmd, answer in said.items() if answer != ALLOWED} == {
        6,
        7,
        37,
        38,
        1024,
        1026,
        1031,
    }
    assert said[1024] == "EPERM"


def test_no_further_filter_can_be_added(machine):
    name, architecture, program = machine
    number = {"x86_64": 157, "aarch64": 167}[name]
    said = {what: outcome(program, architecture, number, what) for what in range(70)}
    assert {what for what, answer in said.items() if answer != ALLOWED} == {22}
    assert said[22] == "EPERM"


def test_sockets_are_of_the_families_that_a_namespace_holds(machine):
    name, architecture, program = machine
    made = {f: outcome(program, architecture, SOCKET[name], f, 1) for f in range(50)}
    assert {family for family, said in made.items() if said == ALLOWED} == {1, 2, 10}
    assert set(made.values()) == {ALLOWED, "EAFNOSUPPORT"}


@pytest.mark.parametrize("pair", [False, True])
def test_sockets_load_no_protocol_into_the_kernel(machine, pair):
    """DCCP is a type of its own, 6, with the usual protocol."""
    name, architecture, program = machine
    number = (SOCKETPAIR if pair else SOCKET)[name]
    flags = 0, 0x800, 0x80000, 0x80800
    for type in range(8):
        said = {outcome(program, architecture, number, 2, type | more) for more in flags}
        assert said == {ALLOWED if type in (1, 2) else "ESOCKTNOSUPPORT"}
    made = {p: outcome(program, architecture, number, 2, 1, p) for p in range(300)}
    assert {protocol for protocol, said in made.items() if said == ALLOWED} == {0, 6, 17}
    assert set(made.values()) == {ALLOWED, "EPROTONOSUPPORT"}


def test_a_terminal_keeps_its_discipline(machine):
    """A kernel loads a module for another one."""
    name, architecture, program = machine
    number = {"x86_64": 16, "aarch64": 29}[name]
    said = {
        what: outcome(program, architecture, number, 3, what)
        for what in range(0x5400, 0x5460)
    }
    assert {what for what, answer in said.items() if answer != ALLOWED} == {0x5423}


def test_other_ways_to_call_and_other_processors(machine, monkeypatch):
    name, architecture, program = machine
    for other in {X86, ARM, OTHER} - {architecture}:  # whose numbers mean other calls
        assert outcome(program, other, 0) == KILLED
    if name == "x86_64":
        assert outcome(program, architecture, 0x40000000 + 39) == "EPERM"  # the x32 numbers
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    assert system_call_filter() is None


@pytest.mark.skipif(sys.platform != "linux", reason="the limits of Linux")
def test_limits_rights_and_system_calls_are_given_up_in_this_order(monkeypatch):
    limits, called, filtered = {}, [], []

    def call(name, *given):
        called.append((name, *given))
        if given[:2] == (22, 2):  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER
            count, place = struct.unpack("@HP", given[2])
            filtered.append(ctypes.string_at(place, 8 * count))

    monkeypatch.setattr(resource, "setrlimit", limits.__setitem__)
    monkeypatch.setattr(confine, "call", call)
    confine.confine()
    assert limits == {
        resource.RLIMIT_AS: (4 << 30,) * 2, resource.RLIMIT_FSIZE: (16 << 20,) * 2,
        resource.RLIMIT_CPU: (600,) * 2, resource.RLIMIT_CORE: (1,) * 2,
        resource.RLIMIT_NOFILE: (512,) * 2, resource.RLIMIT_NPROC: (4096,) * 2,
        getattr(resource, "RLIMIT_SIGPENDING", -1): (64,) * 2,
    }  # fmt: skip
    of_this_process = struct.pack("=Ii", 0x20080522, 0)  # by _LINUX_CAPABILITY_VERSION_3
    nothing = bytes(24)  # effective, permitted, inheritable: 64 rights each
    assert called[:2] == [("capset", of_this_process, nothing), ("prctl", 38, 1, 0, 0, 0)]
    assert called[2][4:] == (0, 0)
    assert filtered == [system_call_filter()]


def test_a_refusal_of_the_kernel_is_an_error():
    with pytest.raises(OSError, match="prctl: EINVAL") as raised:
        confine.call("prctl", -1, 0, 0, 0, 0)
    assert raised.value.errno == errno.EINVAL
