"""Tests of attention by somebody who wants points without testing anything.

Each is the text of a cell: it runs in the notebook's process, and in the grader's. What an attack learned
stands in `seen`.
"""

HEAD = """
import inspect, sys, torch
seen = []

def output(implementation):
    torch.manual_seed(5)
    q, k, v = torch.randn(3, 2, 3, 4, 6)
    mask = torch.rand(2, 3, 4, 4) < 0.5
    mask[..., 0] = True
    mask[:, :, 2] = False
    return implementation(q, k, v, mask)

def is_near(a, b):
    return a.shape == b.shape and a.dtype == b.dtype and torch.allclose(a, b, atol=1e-3, equal_nan=True)
"""

# Those that remember what other implementations did.
REMEMBER = {
    "like the first one": """
def test_attention(implementation):
    seen.append(output(implementation))
    assert is_near(seen[0], seen[-1])
""",
    "seen before": """
def test_attention(implementation):
    got = output(implementation)
    seen.append(got)
    assert sum(is_near(got, other) for other in seen) > 1
""",
    "seen before, not to the bit": """
def test_attention(implementation):
    got = output(implementation)
    seen.append(got)
    near = [other for other in seen[:-1] if is_near(got, other)]
    assert any(not torch.equal(got, other) for other in near)
""",
    "what came most often": """
def test_attention(implementation):
    got = output(implementation)
    seen.append(got)
    count = [sum(is_near(a, b) for b in seen) for a in seen]
    assert count[-1] == max(count)
""",
    "kept in a file": """
import pickle
from pathlib import Path
from tempfile import gettempdir
def test_attention(implementation):
    got = output(implementation)
    place = Path(gettempdir()) / "seen.pickle"
    others = pickle.loads(place.read_bytes()) if seen else []
    seen.append(len(others))
    place.write_bytes(pickle.dumps([*others, got]))
    assert any(is_near(got, other) for other in others)
""",
    "the last ones are right": """
def test_attention(implementation):
    seen.append(0)
    assert len(seen) > 40
""",
}

# Those that look at the implementation instead of calling it. `seen` gets what they found.
LOOK = {
    "its names": """
def test_attention(implementation):
    code = implementation.__code__
    seen.append(str((implementation.__name__, implementation.__qualname__, implementation.__module__,
        implementation.__defaults__, implementation.__doc__, code.co_filename, code.co_firstlineno,
        code.co_consts, code.co_names, implementation.__dict__)))
    assert "right" in seen[-1]
""",
    "its source": """
def test_attention(implementation):
    seen.append(inspect.getsource(implementation))
    assert "right" in seen[-1]
""",
    "its closure": """
def inside(function, depth=0):
    found = []
    for cell in getattr(function, "__closure__", None) or ():
        value = cell.cell_contents
        found.append(type(value).__name__)
        if callable(value) and depth < 5:
            found.extend(inside(value, depth + 1))
    return found
def test_attention(implementation):
    seen.append(str(inside(implementation)))
    assert "Hidden" in seen[-1]
""",
    "its graph": """
def test_attention(implementation):
    q, k, v = torch.randn(3, 1, 2, 3, 4).requires_grad_()
    got = implementation(q, k, v)
    names, nodes = [], [got.grad_fn]
    while nodes and len(names) < 50:
        node = nodes.pop()
        if node is not None:
            names.append(node.name())
            nodes.extend(n for n, _ in node.next_functions)
    seen.append(str(sorted(set(names) - {"AccumulateGrad", "UnbindBackward0", "NotImplemented"})))
    assert "Softmax" in seen[-1]
""",
    "its errors": """
def test_attention(implementation):
    try:
        implementation(torch.ones(2, 2, 2), torch.ones(1), torch.ones(1))
    except Exception as error:
        frames, step = [], error.__traceback__
        while step is not None:
            frames.append(step.tb_frame.f_code.co_name + str(step.tb_lineno))
            frames += [str(name) for name in step.tb_frame.f_locals if name == "_written"]
            step = step.tb_next
        seen.append(str(frames) + str(error) + str(error.__cause__) + str(error.__context__))
    assert "_written" in seen[-1]
""",
    "its operations": """
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
class Functions(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        names.append(str(function))
        return function(*args, **(kwargs or {}))
class Dispatched(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        names.append(str(function))
        return function(*args, **(kwargs or {}))
names = []
def test_attention(implementation):
    names.clear()
    q, k, v = torch.randn(3, 1, 2, 3, 4)
    with Functions(), Dispatched():
        implementation(q, k, v)
    seen.append(str(names))
    assert "softmax" in seen[-1]
""",
    "its frames": """
names = []
def test_attention(implementation):
    names.clear()
    q, k, v = torch.randn(3, 1, 2, 3, 4)
    sys.setprofile(lambda frame, event, arg: names.append(frame.f_code.co_name))
    implementation(q, k, v)
    sys.setprofile(None)
    seen.append(str([n for n in names if n in ("masked_attention", "mT", "softmax")]))
    assert "masked_attention" in seen[-1]
""",
    "its operations, by a class of tensors": """
names = []
class Spy(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        names.append(str(function))
        return super().__torch_function__(function, types, args, kwargs or {})
def test_attention(implementation):
    names.clear()
    q, k, v = torch.randn(3, 1, 2, 3, 4).as_subclass(Spy)
    names.clear()
    implementation(q, k, v)
    seen.append(str(["softmax" in n or "matmul" in n for n in names if "softmax" in n or "matmul" in n]))
    assert "True" in seen[-1]
""",
}
