"""Messages between judge and worker: what is sent arrives, and nonsense is refused."""

import io
import struct

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attn_lib.checks.observe import Frame, Outcome, Raised
from attn_lib.grading.wire import (
    DTYPES,
    HEADER_LIMIT,
    NAME_LIMIT,
    BadMessage,
    Odd,
    pack,
    pack_outcome,
    receive,
    send,
    unpack,
    unpack_outcome,
)


def there_and_back(value):
    blobs = []
    packed = pack(value, blobs)
    stream = io.BytesIO()
    send(stream, packed, blobs)
    stream.seek(0)
    return unpack(*receive(stream))


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
@pytest.mark.parametrize("shape", [(), (1,), (0, 3), (2, 3, 4)])
def test_tensors_arrive_with_shape_and_dtype(dtype, shape):
    sent = torch.randn(shape, generator=torch.Generator().manual_seed(0)).to(dtype)
    got = there_and_back(sent)
    assert (got.shape, got.dtype) == (sent.shape, sent.dtype)
    assert torch.equal(got.to(torch.complex64), sent.to(torch.complex64))


@given(order=st.permutations(range(4)))
@settings(max_examples=24, deadline=None)
def test_the_layout_in_memory_arrives_too(order):
    sent = torch.arange(120.0).view(2, 3, 4, 5).permute(order)
    got = there_and_back(sent)
    assert torch.equal(got, sent)
    assert got.stride() == sent.stride()


@pytest.mark.parametrize("tensor", [
    torch.tensor(3).expand(1, 1), torch.tensor([[3.0]]).expand(4, 1), torch.ones(2, 3)[:, :1],
])  # fmt: skip
def test_an_axis_of_one_number_may_have_any_stride(tensor):
    assert torch.equal(there_and_back(tensor), tensor)


def test_nested_arguments_arrive():
    sent = (
        {"mask": torch.ones(2).bool()},
        [1, 2.5, None, "x", True],
        torch.float16,
        -float("inf"),
    )
    got = there_and_back(sent)
    assert torch.equal(got[0]["mask"], sent[0]["mask"])
    assert got[1:] == sent[1:]


def test_what_cannot_be_sent_is_named():
    with pytest.raises(TypeError, match="a case may not hold Generator"):
        pack(torch.Generator(), [])


def test_an_outcome_arrives():
    error = Raised("ValueError", "text", "ValueError: text", (Frame("f", 3),), True)
    strange = "long" * NAME_LIMIT, torch.ones(2).to_sparse()
    values = [torch.tensor([1.0, 2.0]), 3, None, ..., "a \ud800 text", *strange]
    gradients, after = {"q": torch.ones(2), "k": None}, {"0": torch.zeros(3)}
    sent = Outcome(values, True, gradients, error, after=after, printed="hi")
    blobs = []
    packed = pack_outcome(sent, blobs)
    got = unpack_outcome(packed, memoryview(bytearray().join(blobs)), ["q", "k", "v"])
    assert torch.equal(got.values[0], sent.values[0])
    assert got.values[1:5] == [3, None, ..., "a \ud800 text"]
    assert all(isinstance(value, Odd) for value in got.values[5:])
    assert torch.equal(got.gradients["q"], torch.ones(2))
    assert got.gradients["k"] is got.gradients["v"] is None
    assert torch.equal(got.after["0"], torch.zeros(3))
    assert (got.error, got.printed) == (error, "hi")


GOOD = {
    "values": [], "count": 0, "is_sequence": False, "gradients": {}, "error": None,
    "untouched": False, "after": {}, "printed": "",
}  # fmt: skip


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        [],
        {},
        {"values": 3},
        {"values": [{"tensor": ["float32", [2], [0], 0]}]},  # no bytes for it
        {"values": [{"tensor": ["float32", [-1], [0], 0]}]},
        {"values": [{"tensor": ["float32", [2], [0], -8]}]},
        {"values": [{"tensor": ["float32", [1 << 40, 1 << 40], [0, 1], 0]}]},
        {"values": [{"tensor": ["float32", [0, 1 << 62, 1 << 62], [0, 1, 2], 0]}]},
        {"values": [{"tensor": ["float32", [1], [0, 1], 0]}]},
        {"values": [{"tensor": ["object", [1], [0], 0]}]},
        {"values": [{"tensor": [[], {}, None, "x"]}]},
        {"gradients": [1]},
        {"error": "text"},
        {"error": ["a", "b", "c", [["f", "not a line"]], True]},
        {"after": 3},
        {"after": dict.fromkeys(map(str, range(2000)))},
        {"count": "many"},
        {"count": float("inf")},
        {"error": ["a", "b", "c", [["f", float("inf")]], True]},
        {"values": [{"tensor": ["float32", [float("inf")], [0], 0]}]},
        {"values": [{"tensor": ["float32", [0, *[1 << 22] * 9], list(range(10)), 0]}]},
    ],
)
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
    with pytest.raises(BadMessage, match="too large"):
        receive(io.BytesIO(struct.pack("<II", HEADER_LIMIT + 1, 0)))


def test_deeply_nested_json_is_refused():
    text = b"[" * 100_000
    with pytest.raises(BadMessage):
        receive(io.BytesIO(struct.pack("<II", len(text), 0) + text))
