"""Messages between judge and worker: what is sent arrives, and nonsense is refused."""

import io
import json
import math
import struct
from itertools import permutations
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attn_lib.checks.observe import Frame, Outcome, Raised
from attn_lib.grading.wire import (
    DTYPES,
    HEADER_LIMIT,
    NAME_LIMIT,
    NO_ROWS,
    TENSORS_LIMIT,
    BadMessage,
    Odd,
    pack,
    pack_call,
    pack_outcome,
    receive,
    send,
    unpack,
    unpack_call,
    unpack_outcome,
)


def there_and_back(value):
    blobs = []
    packed = pack(value, blobs)
    stream = io.BytesIO()
    send(stream, packed, blobs)
    stream.seek(0)
    return unpack(*receive(stream))


def arrived(outcome, gradients=()):
    """Return an outcome as it comes out of a message, and the bytes of its tensors."""
    blobs = []
    packed = json.loads(json.dumps(pack_outcome(outcome, blobs)))
    data = bytearray().join(blobs)
    return unpack_outcome(packed, memoryview(data), gradients), data


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_tensors_arrive_as_they_lie_in_memory(dtype):
    random = torch.Generator().manual_seed(0)
    for shape in [(), (2,), (2, 3, 4)]:
        drawn = torch.randn(shape, generator=random).to(dtype)
        for order in permutations(range(len(shape))):
            sent = drawn.permute(order)
            got = there_and_back(sent)
            assert (got.dtype, got.shape) == (dtype, sent.shape)
            assert got.stride() == sent.stride()
            assert torch.equal(got.to(torch.complex64), sent.to(torch.complex64))
    assert there_and_back(torch.ones(0, 3, dtype=dtype)).shape == (0, 3)


def test_an_axis_of_one_number_may_have_any_stride():
    one = torch.tensor([[3.0]])
    for tensor in (one[0, 0].expand(1, 1), one.expand(4, 1), torch.ones(2, 3)[:, :1]):
        assert torch.equal(there_and_back(tensor), tensor)


def test_whatever_a_case_needs_arrives_and_nothing_else_is_sent():
    raised = Raised("ValueError", "text", "", (("f", 3),), True)
    sent = {"mask": torch.ones(2).bool()}, [1, 2.5, None, "x", True], torch.float16, raised
    got = there_and_back(sent)
    assert torch.equal(got[0]["mask"], sent[0]["mask"])
    assert got[1:] == sent[1:]
    with pytest.raises(TypeError, match="a case may not hold Generator"):
        pack(torch.Generator(), [])


def test_an_outcome_arrives():
    error = Raised("ValueError", "text", "ValueError: text", (Frame("f", 3),), True)
    strange = "x" * NAME_LIMIT, torch.ones(2).to_sparse(), 1 << 200, torch.Generator()
    plain = [3, None, ..., "a \ud800 text", "x" * (NAME_LIMIT - 1), True, 1e300, math.inf]
    values = [torch.tensor([1.0, 2.0]), *plain, *strange]
    gradients, after = {"q": torch.ones(2), "k": None}, {"0": torch.zeros(3)}
    sent = Outcome(values, True, gradients, error, True, after=after, printed="hi")
    got, _ = arrived(sent, ["q", "k", "v"])
    assert torch.equal(got.values[0], sent.values[0])
    assert got.values[1:9] == plain
    assert all(isinstance(value, Odd) for value in got.values[9:])
    assert len(got.values) == len(values)
    assert torch.equal(got.gradients["q"], torch.ones(2))
    assert got.gradients["k"] is got.gradients["v"] is None
    assert torch.equal(got.after["0"], torch.zeros(3))
    assert (got.error, got.printed) == (error, "hi")
    assert (got.is_sequence, got.untouched) == (True, True)


LARGE = TENSORS_LIMIT // 4  # bytes


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_a_tensor_that_cannot_be_sent_is_named():
    for tensor in (
        torch.ones(2, device="meta"),
        torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
        torch.ones(1, dtype=torch.complex128),
        torch.ones(LARGE, dtype=torch.uint8),
        torch.ones(LARGE // 8, dtype=torch.float64),
    ):
        got, data = arrived(Outcome([tensor]))
        assert type(got.values[0]).__name__.startswith("tensor (")
        assert data == b""


def test_any_other_tensor_arrives():
    number = torch.tensor([1 + 2j])
    large = torch.ones(LARGE - 1, dtype=torch.uint8)
    for tensor in (
        large,
        number.conj(),
        number.conj().imag,
        torch.ones(2).requires_grad_(),
    ):
        got, _ = arrived(Outcome([tensor]))
        assert torch.equal(got.values[0], tensor)


def test_what_is_odd_stays_so_whatever_its_name_is():
    packed = GOOD | {"values": [{"odd": 3}, {"odd": "x"}, {"plain": [1]}], "count": 40_000}
    got = unpack_outcome(packed, memoryview(b""), []).values
    assert all(isinstance(value, Odd) for value in got)
    assert [type(value).__name__ for value in got[:4]] == ["3", "x", "[1]", "value"]
    assert len(got) == 1000


def test_a_call_is_packed_and_believed_nothing():
    blobs = []
    given = [torch.arange(6.0).view(2, 3).T, None, torch.ones(2, dtype=torch.bool)]
    packed = pack_call(given, None, blobs)
    back, gradient = unpack_call(packed, memoryview(bytearray().join(blobs)))
    assert gradient is back[1] is None
    assert torch.equal(back[0], given[0])
    for wrong in (3, [], [{"plain": 3}], [{"odd": "x"}]):
        with pytest.raises(BadMessage):
            unpack_call({"call": wrong}, memoryview(b""))


GOOD = {
    "values": [], "count": 0, "is_sequence": False, "gradients": {}, "error": None,
    "untouched": False, "after": {}, "printed": "",
}  # fmt: skip


def of_tensor(*described):
    return {"values": [{"tensor": described}]}


@pytest.mark.parametrize(
    "wrong",
    [
        None, [], {},
        {"values": 3}, {"gradients": [1]}, {"error": "text"}, {"after": 3}, {"count": "many"},
        {"count": math.inf},
        {"after": dict.fromkeys(map(str, range(2000)))},
        {"error": ["a", "b", "c", [["f", "not a line"]], True]},
        {"error": ["a", "b", "c", [["f", math.inf]], True]},
        of_tensor("float32", [2], [0], 0),  # no bytes for it
        of_tensor("float32", [-1], [0], 0),
        of_tensor("float32", [2], [0], -8),
        of_tensor("float32", [1 << 40, 1 << 40], [0, 1], 0),
        of_tensor("float32", [0, 1 << 62, 1 << 62], [0, 1, 2], 0),
        of_tensor("float32", [0, *[1 << 22] * 9], list(range(10)), 0),
        of_tensor("float32", [1], [0, 1], 0),
        of_tensor("float32", [math.inf], [0], 0),
        of_tensor("object", [1], [0], 0),
        of_tensor([], {}, None, "x"),
    ],
)  # fmt: skip
def test_an_outcome_that_is_none_is_refused(wrong):
    packed = GOOD | wrong if isinstance(wrong, dict) and wrong else wrong
    with pytest.raises(BadMessage):
        unpack_outcome(packed, memoryview(b""), ["0"])


def test_gradients_that_nobody_asked_for_are_not_looked_at():
    """Each is a little work, and a message has room for 18,000."""
    many = {str(i): {"tensor": "nonsense"} for i in range(18_000)} | {"0": {"none": True}}
    got = unpack_outcome(GOOD | {"gradients": many}, memoryview(b""), ["0"])
    assert got.gradients == {"0": None}


def test_bytes_that_are_described_often_are_there_once():
    data = memoryview(bytearray(1 << 20))
    same = {"tensor": ["uint8", [1 << 20], [0], 0]}
    names = [str(i) for i in range(1000)]
    got = unpack_outcome(GOOD | {"gradients": dict.fromkeys(names, same)}, data, names)
    assert len({gradient.data_ptr() for gradient in got.gradients.values()}) == 1


@given(noise=st.binary(max_size=200))
@settings(max_examples=100, deadline=None)
def test_noise_is_refused(noise):
    with pytest.raises((EOFError, BadMessage)):
        receive(io.BytesIO(struct.pack("<II", 100, 4) + noise[:90]))


def test_a_message_that_is_too_large_is_refused_before_it_is_read():
    for sizes in ((HEADER_LIMIT + 1, 0), (0, TENSORS_LIMIT + 1)):
        with pytest.raises(BadMessage, match="too large"):
            receive(io.BytesIO(struct.pack("<II", *sizes)))
    deep = b"[" * 100_000
    with pytest.raises(BadMessage, match="JSON"):
        receive(io.BytesIO(struct.pack("<II", len(deep), 0) + deep))


def test_a_message_as_large_as_may_be_arrives():
    text, data = b" " * (HEADER_LIMIT - 1) + b"3", bytes(TENSORS_LIMIT)
    stream = io.BytesIO(struct.pack("<II", len(text), len(data)) + text + data)
    assert receive(stream) == (3, data)


def test_a_message_that_comes_in_pieces_is_put_together():
    stream = io.BytesIO()
    for text in ("first", "second"):
        send(stream, text, [b"da", b"ta"])
    stream.seek(0)
    slow = SimpleNamespace(read=lambda size: stream.read(min(size, 3)))
    assert [receive(slow) for _ in range(2)] == [("first", b"data"), ("second", b"data")]


def test_what_is_sent_is_on_its_way_at_once():
    arrived = io.BytesIO()
    buffered = io.BufferedWriter(arrived)
    send(buffered, "now", [])
    assert arrived.getvalue().endswith(b'"now"')


def test_a_tensor_has_sixteen_axes_at_most_and_none_too_long():
    def unpacked(shape, start=0):
        tensor = ["float32", shape, list(range(len(shape))), start]
        return unpack({"tensor": tensor}, memoryview(bytearray(4)))

    assert unpacked([1] * 16).ndim == 16
    assert unpacked([0, NO_ROWS]).shape == (0, NO_ROWS)
    assert unpacked([1, 1]).shape == (1, 1)
    assert unpacked([0, 2]).dtype == torch.float32
    for wrong in ([1] * 17, [TENSORS_LIMIT, 0], [0, NO_ROWS + 1], [-1, -1], [2]):
        with pytest.raises(BadMessage):
            unpacked(wrong)
    with pytest.raises(BadMessage):
        unpacked([0], -1)
