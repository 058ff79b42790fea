import hashlib
import math
import os
import pickle
import re
import struct

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save
from torch import nn

from attn_lib.checkpoint import fingerprint, load_checkpoint, save_checkpoint

HOLDS_ITSELF: dict = {}
HOLDS_ITSELF["self"] = HOLDS_ITSELF
CONFIG = {"sizes": [2, 3], "name": "é", "nested": {"rate": 0.1, "none": None}}


class Odd(nn.Module):
    """All that a state may hold: tied, transposed, sliced, empty, single, and six dtypes."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(5, 2)
        self.head = nn.Linear(2, 5, bias=False)
        self.head.weight = self.embed.weight
        table = torch.randn(4, 6)
        for name, tensor in {
            "transposed": table.T,
            "sliced": table[1:3],
            "every_second": table[:, ::2],
            "expanded": torch.ones(1, 3).expand(2, 3),
            "empty": torch.zeros(0, 3),
            "single": torch.tensor(7),
            "brain": table.bfloat16(),
            "halves": table.half(),
            "small": torch.tensor([[-127, 127]], dtype=torch.int8),
            "flags": torch.tensor([True, False]),
            "complex": torch.randn(2, dtype=torch.complex64),
        }.items():
            self.register_buffer(name, tensor)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


@pytest.fixture
def small(path):
    """A checkpoint of a few hundred bytes."""
    module = nn.Linear(1, 2)
    with torch.no_grad():
        module.weight.copy_(torch.tensor([[1.0], [2.0]]))
        module.bias.zero_()
    save_checkpoint(module, {"d": 1}, path)
    return path.read_bytes()


def refused(path, data):
    """Whether loading these bytes raises a ValueError; nothing else may be raised."""
    path.write_bytes(data)
    try:
        load_checkpoint(path)
    except ValueError:
        return True
    return False


def test_what_was_saved_is_what_is_loaded(path):
    module = Odd()
    save_checkpoint(module, CONFIG, str(path))
    state, config = load_checkpoint(str(path))
    assert config == CONFIG
    assert state.keys() == module.state_dict().keys()
    for name, tensor in module.state_dict().items():
        assert state[name].dtype == tensor.dtype
        assert torch.equal(state[name], tensor), name
    again = Odd()
    again.expanded = again.expanded.clone()  # PyTorch writes into no expanded tensor
    again.load_state_dict(state)
    assert again.head.weight is again.embed.weight  # still tied


def test_the_hash_is_of_config_names_dtypes_shapes_and_bytes():
    state = {"b": torch.tensor([[1.0, 2.0]]), "a": torch.tensor(3, dtype=torch.int8)}
    text = "{}" + "atorch.int8()" + "\3" + "btorch.float32(1, 2)"
    data = text.encode() + struct.pack("<2f", 1, 2)
    assert fingerprint(state, "{}") == hashlib.sha256(data).hexdigest()
    every_other = {"a": torch.arange(6)[::2]}  # it lies in memory with holes
    assert fingerprint(every_other, "") == fingerprint({"a": torch.tensor([0, 2, 4])}, "")


def test_what_was_loaded_no_longer_hangs_on_the_file(path, small):
    state, _ = load_checkpoint(path)
    path.write_bytes(b"\xff" * len(small))
    assert state["weight"].tolist() == [[1.0], [2.0]]


def test_every_flipped_bit_and_every_cut_raises_a_value_error(path, small):
    assert len(small) < 500
    for place in range(len(small)):
        assert refused(path, small[:place]), place
        assert refused(path, small[place + 1 :]), place
        for bit in range(8):
            damaged = bytearray(small)
            damaged[place] ^= 1 << bit
            assert refused(path, damaged), (place, bit)
    for more in (b"\0", b" ", b"\n" * 4096):
        assert refused(path, small + more)
        assert refused(path, more + small)
    assert not refused(path, small)


WEIGHT = torch.tensor([[1.0], [2.0]])


@pytest.mark.parametrize(
    ("metadata", "tensors", "says"),
    [
        (lambda m: None, {}, r"got \[\]"),
        (lambda m: {"config": m["config"]}, {}, r"got \['config'\]"),
        (lambda m: {"sha256": m["sha256"]}, {}, r"got \['sha256'\]"),
        (lambda m: m | {"config": '{"d":1}'}, {}, "expected the hash"),
        (lambda m: m | {"sha256": m["sha256"].upper()}, {}, "expected the hash"),
        (lambda m: m, {"x": WEIGHT + 0}, "expected the hash"),
        (lambda m: m, {"weight": WEIGHT.view(torch.int32)}, "expected the hash"),
        (lambda m: m, {"weight": WEIGHT.view(1, 2)}, "expected the hash"),
    ],
)
def test_altered_metadata_and_tensors_raise_a_value_error(
    path, small, metadata, tensors, says
):
    state = {"weight": WEIGHT, "bias": torch.zeros(2)}
    with safe_open(path, "pt") as file:
        written = file.metadata()
    assert not refused(path, save(state, written))  # as it was, written by somebody else
    path.write_bytes(save(state | tensors, metadata(written)))
    with pytest.raises(ValueError, match=says):
        load_checkpoint(path)


@pytest.mark.parametrize("text", ["[1]", "null", "{", "[" * 100_000])
def test_a_config_that_is_no_dict_raises_a_value_error_though_its_hash_is_right(path, text):
    state = {"x": torch.zeros(1)}
    metadata = {"config": text, "sha256": fingerprint(state, text)}
    assert refused(path, save(state, metadata))


class Payload:
    """An object that makes a folder when it is unpickled."""

    def __init__(self, marker):
        self.marker = str(marker)

    def __reduce__(self):
        return os.mkdir, (self.marker,)


def test_a_pickle_is_never_run_and_raises_a_value_error(tmp_path, path):
    marker = tmp_path / "marker"
    data = pickle.dumps(Payload(marker))
    assert refused(path, data)
    torch.save({"x": Payload(marker)}, path)  # a zip with a pickle in it
    assert refused(path, path.read_bytes())
    # The header may promise a pickle; to safetensors it is a tensor like any other.
    state = {"x": torch.frombuffer(bytearray(data), dtype=torch.uint8)}
    metadata = {"config": "{}", "sha256": fingerprint(state, "{}")}
    assert not refused(path, save(state, metadata))
    assert not marker.exists()
    pickle.loads(data)  # the payload does work
    assert marker.exists()


class Buffer(nn.Module):
    def __init__(self, tensor):
        super().__init__()
        self.register_buffer("x", tensor)


class Extra(nn.Module):
    def get_extra_state(self):
        return {"text": "hello"}


@pytest.mark.parametrize(
    ("module", "config", "says"),
    [
        *(
            (nn.Linear(3, 3), config, "expected a config that JSON")
            for config in (
                *(None, [1], {1: 2}, HOLDS_ITSELF),
                *({"a": value} for value in ((1, 2), {1}, math.nan, math.inf)),
            )
        ),
        (Buffer(torch.zeros(2).to_sparse()), {}, "x: tensor"),
        (Buffer(torch.zeros(2, device="meta")), {}, "x: tensor"),
        (Buffer(torch.zeros(2, dtype=torch.complex128)), {}, "complex128"),
        (Extra(), {}, "_extra_state"),
    ],
)
def test_what_cannot_be_kept_raises_a_value_error_and_the_old_file_stays(
    path, small, module, config, says
):
    with pytest.raises(ValueError, match=says):
        save_checkpoint(module, config, path)
    assert path.read_bytes() == small


def test_a_failure_while_writing_leaves_the_old_file_and_nothing_else(
    path, small, monkeypatch
):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        save_checkpoint(nn.Linear(3, 3), {}, path)
    assert path.read_bytes() == small
    assert os.listdir(path.parent) == [path.name]


def test_saving_again_replaces_the_file_and_leaves_nothing_else(path, small):
    save_checkpoint(nn.Linear(3, 3), {"d": 3}, path)
    assert load_checkpoint(path)[1] == {"d": 3}
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_who_may_read_a_file_stays_when_it_is_written_again(path):
    save_checkpoint(nn.Linear(2, 2), {}, path)
    path.chmod(0o640)
    save_checkpoint(nn.Linear(2, 2), {}, path)
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_missing_file_or_a_folder_is_said_to_be_none(tmp_path):
    for path in (tmp_path / "missing", tmp_path):
        with pytest.raises(FileNotFoundError, match=re.escape(f"no file {path}")):
            load_checkpoint(path)
    with pytest.raises(OSError, match="directory"):
        save_checkpoint(nn.Linear(1, 1), {}, tmp_path)
    with pytest.raises(FileNotFoundError):
        save_checkpoint(nn.Linear(1, 1), {}, tmp_path / "missing" / "x")
