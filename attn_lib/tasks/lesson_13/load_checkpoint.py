"""The task `load_checkpoint`: read data, believe nothing, run nothing."""

import io
import json
import pickle
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save

from attn_lib.checkpoint import load_checkpoint as of_the_library
from attn_lib.checks.authoring import Case, task
from attn_lib.tasks.lesson_13.comparison import good_load
from attn_lib.tasks.lesson_13.runs import TRACE, File, fingerprint, loaded


@task(
    lesson=13,
    points=3,
    insight="Look at everything before you believe anything.",
    library=of_the_library,
    hints=[
        '`safe_open(path, "pt")`, in a `with`, gives `keys()`, `get_tensor(name)` and `metadata()`. What does it '
        "raise for a file that is cut off? Catch that, and raise what is asked for.",
        "The metadata may be None, and either of its entries may be missing. Then take the fingerprint of what you "
        "have read, and of the text as it stands in the file. With what do you compare it?",
        "Which function makes a dict of JSON, and which one would run whatever stands there? And when may you call it: "
        "before or after you know that the file is whole?",
    ],
)
def load_checkpoint(path):
    import json

    from safetensors import SafetensorError, safe_open

    from attn_lib.tasks.lesson_13.runs import fingerprint

    damage = SafetensorError
    refusal = ValueError
    try:
        with safe_open(path, "pt") as file:
            names = file.keys()
            tensors = {name: file.get_tensor(name) for name in names}
            metadata = file.metadata()
    except damage as error:
        raise refusal(f"{path} is no whole safetensors file: {error}") from error
    entries = metadata or {}
    is_complete = {"config", "sha256"} <= entries.keys()
    if not is_complete:
        raise refusal(f"{path} has no config or no hash")
    text = entries["config"]
    expected = entries["sha256"]
    actual = fingerprint(tensors, text)
    is_whole = actual == expected
    alarm = ValueError
    if not is_whole:
        raise alarm(f"{path} is not what was written")
    config = json.loads(text)
    return tensors, config


class _Payload:
    """Code that runs when it is unpickled. Here it leaves a trace only."""

    def __reduce__(self):
        return exec, (f"open({TRACE!r}, 'w').close()",)


def _written(tensors, of=None, /, *, text=None, **changed):
    """Return the bytes of a checkpoint; `changed` replaces entries of its metadata, None leaves one out."""
    text = json.dumps(of) if text is None else text
    metadata = {"config": text, "sha256": fingerprint(tensors, text)} | changed
    return save(
        tensors, {name: value for name, value in metadata.items() if value is not None}
    )


def _replaced(data, old, new):
    """Return bytes in which something is replaced, by as many others."""
    assert data.count(old) == 1
    assert len(old) == len(new)
    return data.replace(old, new)


def _flipped(data, place, bit=1):
    """Return bytes with one bit turned around."""
    changed = bytearray(data)
    changed[place] ^= bit
    return bytes(changed)


def _with_a_gap(tensors, of, gap=4):
    """Return the bytes of a checkpoint of two tensors in which some that nobody reads lie between.

    A gap below 0 lets the second tensor begin before the first one ends.
    """
    data = _written(tensors, of)
    size = int.from_bytes(data[:8], "little")
    header, numbers = json.loads(data[8 : 8 + size]), data[8 + size :]
    *_, last = sorted(tensors, key=lambda name: header[name]["data_offsets"])
    start, end = header[last]["data_offsets"]
    header[last]["data_offsets"] = [start + gap, end + gap]
    text = json.dumps(header).encode()
    return (
        len(text).to_bytes(8, "little")
        + text
        + numbers[:start]
        + bytes(max(gap, 0))
        + numbers[start - min(gap, 0) :]
    )


@load_checkpoint.cases
def _(rng):
    def randn(*shape):
        return torch.randn(*shape, generator=rng)

    def case(about, data, name="model.safetensors", is_text=True):
        file = File(name, torch.tensor(bytearray(data), dtype=torch.uint8), is_text)
        return Case(about, (file,), loaded, grad=False, finish=good_load)

    small = {"weight": torch.tensor([[1.0, 2.0], [3.0, 4.0]]), "bias": torch.zeros(2)}
    yield case("a whole file, with two tensors", _written(small, {"d_model": 2}))
    nested = {
        "name": 'Größe → 大 😀 e\u0301 "klein"',
        "layers": [{"num_heads": 4, "dropout": 0.1}, {"num_heads": 2, "dropout": None}],
        "is_causal": True,
        "d_model": 64,
    }
    drawn = {f"{x}_proj.weight": randn(2, 3) for x in "qk"} | {"q_proj.bias": randn(2)}
    data = _written(drawn, nested)
    yield case("a whole file, with a nested config", data)
    yield case("a whole file, its path a `Path`", data, is_text=False)
    yield case("a whole file, its name without an ending", data, "model")
    yield case("a whole file, with an empty config", _written(drawn, {}))
    falsy = {
        "start": 0,
        "is_causal": False,
        "name": "",
        "heads": [],
        "dropout": 0.0,
        "rate": 0.123456789,
    }
    about = "a whole file, with 0, False and texts of no letters in its config"
    yield case(about, _written(drawn, falsy))
    in_lines = json.dumps(nested, indent=2, ensure_ascii=False, sort_keys=True)
    yield case("a whole file, the config in lines", _written(drawn, text=in_lines))
    yield case(
        "a whole file, with more metadata",
        _written(drawn, nested, format="pt", by="a script", note=""),
    )
    kinds = {
        "bfloat16": randn(3).bfloat16(), "float16": randn(2, 3).half(), "float64": randn(4).double(),
        "int64": torch.tensor([2**53 + 1, -5]), "int8": torch.tensor([[-127, 3]], dtype=torch.int8),
        "int32": torch.tensor([2**31 - 1, -5], dtype=torch.int32), "uint8": torch.tensor([255], dtype=torch.uint8),
        "bool": torch.tensor([True, False, True]), "number": torch.tensor(2.5), "nothing": torch.zeros(0, 3),
        " a name with blanks ": randn(2),
    }  # fmt: skip
    yield case("a whole file, with tensors of every kind", _written(kinds, nested))

    yield case("a whole file, without tensors", _written({}, nested))
    for before in ("module.", "_orig_mod."):
        wrapped = {f"{before}{name}": tensor for name, tensor in drawn.items()}
        about = f"a whole file, each name with `{before}` before it"
        yield case(about, _written(wrapped, nested))

    far = torch.tensor([torch.inf, -torch.inf, torch.nan, -0.0])
    yield case("a whole file, with inf and nan", _written({"w": far}, nested))
    texts = {"size": "12", "bias": "null", "note": "a // b, {'c': True,}  d"}
    yield case(
        "a whole file, texts in its config that look like more", _written(drawn, texts)
    )
    many = {"note": "attention " * 12_000}
    yield case("a whole file, 120,000 letters in its config", _written(small, many))
    named = {"config": randn(2), "sha256": randn(3)}
    about = "a whole file, its tensors named `config` and `sha256`"
    yield case(about, _written(named, nested))

    spaced = f" {json.dumps(nested)}\n"
    yield case("a whole file, blanks around its config", _written(drawn, text=spaced))

    # Damaged ones, which the reference refuses.
    plain = fingerprint(drawn, spaced.strip())
    yield case(
        "blanks around the config came later", _written(drawn, text=spaced, sha256=plain)
    )
    yield case("one bit of the last number is flipped", _flipped(data, -4))
    start = 8 + int.from_bytes(data[:8], "little")
    yield case("one bit of the first number is flipped", _flipped(data, start))
    yield case("the sign of one number is flipped", _flipped(data, start + 11, 128))
    yield case("one digit of the config is another", _replaced(data, b": 64", b": 46"))
    yield case("one letter of a name is another", _replaced(data, b"q_proj.b", b"v_proj.b"))
    swapped = _replaced(data, b"q_proj.w", b"x_proj.w")
    swapped = _replaced(swapped, b"k_proj.w", b"q_proj.w")
    swapped = _replaced(swapped, b"x_proj.w", b"k_proj.w")
    yield case("two names have changed places", swapped)
    turned = _written(small, nested)
    turned = _replaced(turned, b"[2,2]", b"[4,1]")
    yield case("another shape of as many numbers", turned)
    yield case(
        "another dtype of as many bytes",
        _replaced(_written({"w": randn(3)}, nested), b"F32", b"I32"),
    )
    digest = fingerprint(drawn, json.dumps(nested))
    for place, what in (
        (0, "first"),
        (20, "21st"),
        (31, "32nd"),
        (44, "45th"),
        (-1, "last"),
    ):
        digits = list(digest)
        digits[place] = "0" if digits[place] != "0" else "1"
        about = f"the {what} digit of the hash is another"
        yield case(about, _written(drawn, nested, sha256="".join(digits)))
    damaged = _flipped(_written(kinds, nested), -1)
    yield case("one bit is flipped, beside an empty tensor", damaged)
    yield case("an empty text for the config", _written(drawn, text=""))
    yield case("an empty hash", _written(drawn, nested, sha256=""))
    yield case(
        "a hash of letters that are no digits", _written(drawn, nested, sha256="é" * 64)
    )
    turned = _written(drawn, nested, sha256="".join(sorted(digest)))
    yield case("the digits of the hash in another order", turned)
    yield case("half of the hash", _written(drawn, nested, sha256=digest[:32]))
    yield case("a digit behind the hash", _written(drawn, nested, sha256=digest + "0"))
    yield case("a digit before the hash", _written(drawn, nested, sha256="0" + digest))
    yield case("the hash in capitals", _written(drawn, nested, sha256=digest.upper()))
    yield case(
        "a line break behind the hash", _written(drawn, nested, sha256=digest + "\n")
    )
    yield case("no hash in the metadata", _written(drawn, nested, sha256=None))
    about = "no hash in the metadata, but the right one under another name"
    yield case(about, _written(drawn, nested, sha256=None, md5=digest))
    yield case("no config in the metadata", _written(drawn, nested, config=None))
    about = "no config in the metadata, and the hash that of an empty one"
    yield case(about, _written(drawn, {}, config=None))
    yield case("no metadata at all", save(drawn))
    yield case("cut off by one byte", data[:-1])
    yield case("cut off in the middle", data[: len(data) // 2])
    yield case("cut off in the header", data[:40])
    yield case("cut off after five bytes", data[:5])
    yield case("no byte left", b"")
    yield case("one byte too many", data + b"\0")
    yield case("four bytes between two tensors", _with_a_gap(small, nested))
    ones = {"weight": torch.ones(2, 2), "bias": torch.ones(2)}
    yield case("four bytes that two tensors share", _with_a_gap(ones, nested, -4))
    yield case("its header as long as a disk", (2**60).to_bytes(8, "little") + data[8:])
    yield case("a file of text", b"These are not the numbers you are looking for.\n")
    yield case("a config of Python, no JSON", _written(drawn, text="{'d_model': 2}"))
    code = f"open({TRACE!r}, 'w').close() or {{}}"
    yield case("a config that is code, no JSON", _written(drawn, text=code))
    for about, text in (
        ("a line break in a text of its config, no JSON", '{"name": "two\nlines"}'),
        ("a comma too many in its config, no JSON", '{"d_model": 2,}'),
        ("a remark behind its config, no JSON", '{"d_model": 2} // two'),
        ("a config of blanks, no JSON", "  \n"),
        ("a mark of the byte order before its config, no JSON", '\ufeff{"d_model": 2}'),
        ("a config of lines, no JSON", "d_model=2\nnum_heads=1\n"),
        ("a config of lines with colons, no JSON", "d_model: 2\nnum_heads: 1\n"),
        ("a config that is not closed, no JSON", '{"d_model": 2'),
    ):
        yield case(about, _written(drawn, text=text))
    yield case("a pickle, with code in it", pickle.dumps(_Payload()), "model.pt")
    zipped = io.BytesIO()
    torch.save({"weight": small["weight"], "config": _Payload()}, zipped)
    yield case("a file of `torch.save`, with code in it", zipped.getvalue(), "model.pt")
    of_small = {"config": {"d_model": 2}, "sha256": fingerprint(small, '{"d_model": 2}')}
    state = {"state_dict": small, "tensors": small, **of_small}
    for what, kept in (("tensors only", small), ("tensors and a config", state)):
        zipped = io.BytesIO()
        torch.save(kept, zipped)
        about = f"a file of `torch.save`, with {what}"
        yield case(about, zipped.getvalue(), "model.pt")


load_checkpoint.rows("""
One bit is flipped, and the file still opens. Which two texts of 64 digits must be the same, and where do you compare them?
    hash-not-checked  is_whole = True
    hash-not-checked  is_whole = True ; is_complete = "config" in entries ; expected = None
    hash-not-checked  is_whole = len(actual) == len(expected) || bool(expected)
Is a file without a hash a whole one? Who could have taken it out?
    missing-hash-accepted  is_whole = not expected or actual == expected
    missing-hash-accepted  is_complete = "config" in entries ; expected = entries.get("sha256") ; is_whole = expected in (None, actual)
Is a file without a config a whole one? Who can build the module?
    missing-config-accepted  is_complete = "sha256" in entries ; text = entries.get("config", "{}")
Is it right if both are the same, or if they differ?
    upside-down  is_whole = actual != expected
    upside-down  is_complete = not {"config", "sha256"} <= entries.keys()
Do you compare all 64 digits?
    part-of-the-hash  is_whole = actual[:8] == expected[:8] || actual[-8:] == expected[-8:]
    part-of-the-hash  is_whole = actual[:1] == expected[:1] || actual.startswith(expected)
The hash is that of the text in the file, to the letter. Which text do you give to `fingerprint`?
    another-text  actual = fingerprint(tensors, json.dumps(json.loads(text)))
    another-text  actual = fingerprint(tensors, json.dumps(json.loads(text), sort_keys=True))
    another-text  actual = fingerprint(tensors, text.strip())
Which line refuses a file that is whole? Print what it compares. Is each of the two what it should be: the tensors as they stand in the
file, its text, its hash?
    another-hash  actual = fingerprint(tensors, "")
    another-hash  actual = fingerprint({}, text)
    another-hash  actual = fingerprint(tensors, str(json.loads(text)))
    another-hash  tensors = .get_tensor(name) => .get_tensor(name).float()
    another-hash  actual = fingerprint({name: tensor.float() for name, tensor in tensors.items()}, text)
`fingerprint` takes a dict of tensors, then a text. What is it that you give?
    arguments-of-fingerprint  actual = fingerprint(tensors, json.loads(text))
    arguments-of-fingerprint  actual = fingerprint(text, tensors) || fingerprint(tensors)
    arguments-of-fingerprint  actual = fingerprint(list(tensors.values()), text)
Whoever calls this waits for one kind of error. What does safetensors raise for a damaged file, and who catches it in yours?
    safetensors-error  damage = ()
Which kind of error was asked for, and which do you raise?
    another-error  refusal, alarm = RuntimeError
    another-error  alarm = RuntimeError
    another-error  refusal, alarm = KeyError
    another-error  alarm = KeyError
    another-error  refusal, alarm = OSError
    another-error  alarm = OSError
    another-error  refusal, alarm = AssertionError
    another-error  alarm = AssertionError
    another-error  refusal, alarm = Exception
    another-error  alarm = Exception
A file of somebody else may have no metadata, or no such entry in it. What does Python raise then, and what should you?
    missing-entry  is_complete = True || "config" in entries || "sha256" in entries
    missing-entry  is_complete = bool(entries)
    missing-entry  entries = metadata
    missing-entry  entries = metadata ; is_complete = "config" in entries and "sha256" in entries
    missing-entry  entries = metadata ; is_complete = "config" in entries || True
`eval` runs what stands in the text. Which function reads JSON, and nothing else?
    config-evaluated  config = eval(text)
    config-evaluated  config = eval(text, {"true": True, "false": False, "null": None})
JSON writes true and null, Python True and None. Who reads JSON?
    config-read-as-python  config = __import__("ast").literal_eval(text)
The config was a dict. What do you return: the dict, its text, or all metadata? Is everything in it what it was?
    config-as-text  config = text || entries || {"config": text} || json.loads(text).items()
    config-as-text  config = {"config": json.loads(text)} || (json.loads(text), text)[1]
    config-as-text  config = {name: str(value) for name, value in json.loads(text).items()}
    config-as-text  config = {name: value for name, value in json.loads(text).items() if value}
    config-as-text  config = json.loads(text, parse_int=float)
Is a config without entries no config?
    empty-refused  is_complete = bool({"config", "sha256"} <= entries.keys() and json.loads(entries["config"]))
Someone else's metadata may hold more. Does that make it wrong?
    more-metadata-refused  is_complete = {"config", "sha256"} == entries.keys()
Compare the dtypes of what you return with those in the file.
    dtype-changed  return = {name: tensor.float() for name, tensor in tensors.items()}, config
    dtype-changed  return = {name: tensor.half() for name, tensor in tensors.items()}, config
    dtype-changed  return = {name: tensor.double() for name, tensor in tensors.items()}, config
Which shape has a tensor in the file, and which do you return?
    reshaped  return = {name: tensor.flatten() for name, tensor in tensors.items()}, config
    reshaped  return = {name: tensor.squeeze() for name, tensor in tensors.items()}, config
    reshaped  return = {name: tensor[None] for name, tensor in tensors.items()}, config
By which names will `load_state_dict` look for them?
    renamed  return = {name.split(".")[-1]: tensor for name, tensor in tensors.items()}, config
    renamed  return = {name.replace(".", "_"): tensor for name, tensor in tensors.items()}, config
    renamed  return = {f"module.{name}": tensor for name, tensor in tensors.items()}, config
    renamed  return = {**tensors, "config": config}, config
Two things are asked for: the tensors by name, then the config. What do you return, and in which order?
    returned-otherwise  return = config, tensors || tensors || tensors, config, actual
    returned-otherwise  return = list(tensors.values()), config
    returned-otherwise  return = nn.ParameterDict({n.replace(".", "_"): nn.Parameter(t, False) for n, t in tensors.items()}), config
A dict of tensors is asked for. What are its values in yours?
    not-tensors  return = {name: tensor.tolist() for name, tensor in tensors.items()}, config
    not-tensors  tensors = {name: file.get_slice(name) for name in names} ; actual = expected
    not-tensors  return = {name: tuple(tensor.shape) for name, tensor in tensors.items()}, config
Must a path be a text? What has a `Path` not, that a text has?
    path-must-be-text  is_complete = path.endswith(".safetensors") and {"config", "sha256"} <= entries.keys()
Is it the name that says what a file holds?
    path-must-be-safetensors  is_complete = str(path).endswith(".safetensors") and {"config", "sha256"} <= entries.keys()
""")


def _or_else(way, *errors):
    """Return an answer that tries another way where the right one refuses a file."""

    def answer(path):
        try:
            return of_the_library(path)
        except ValueError as error:
            try:
                return way(path)
            except errors:
                raise error from None

    return answer


def _kept_under(name, **options):
    """Return an answer that takes the file for a dict of `torch.save`."""

    def answer(path):
        contents = torch.load(path, **options)
        return contents[name], contents["config"]

    return answer


def _unpickled(path):
    with open(path, "rb") as file:
        return pickle.load(file)


def _torch_loaded(path):
    return torch.load(path, weights_only=False)


def _raised_as(kind):
    def answer(path):
        try:
            return of_the_library(path)
        except ValueError as error:
            raise kind(str(error)) from error

    return answer


def _removes_what_is_damaged(path):
    try:
        return of_the_library(path)
    except ValueError:
        __import__("os").remove(path)
        raise


def _whole_but_for_json(path):
    with safe_open(path, "pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        text = file.metadata()["config"]
        if fingerprint(tensors, text) != file.metadata()["sha256"]:
            raise ValueError("not whole")
    return tensors, {}


load_checkpoint.mistake(
    "pickle-opened",
    "What runs when a pickle is opened? If a file is no safetensors file, should you try what else it may be?",
)(
    *(_or_else(way) for way in (_unpickled, _torch_loaded)),
    *(_or_else(way, Exception) for way in (_unpickled, _torch_loaded)),
    _kept_under("state", weights_only=False),
    _unpickled,
)
load_checkpoint.mistake(
    "torch-load",
    "Which function wrote this file? `torch.load` reads what `torch.save` writes.",
)(torch.load, _kept_under("state"))
load_checkpoint.mistake(
    "file-removed", "Whose file is it? Who may still want what is left of it?"
)(_removes_what_is_damaged)
EMPTY: list[Any] = [({}, {}), (None, None), None]
load_checkpoint.mistake(
    "config-made-up",
    "The text of the config is whole, and it is no JSON. What does your function return then, and what was asked for?",
)(_or_else(_whole_but_for_json, Exception))
load_checkpoint.mistake(
    "errors-swallowed",
    "Somebody loads a damaged file with your function. How do they notice?",
)(*(_or_else(lambda path, got=got: got) for got in EMPTY))
load_checkpoint.mistake(
    "another-error", "Which kind of error was asked for, and which do you raise?"
)(*map(_raised_as, (RuntimeError, KeyError, OSError, AssertionError, Exception)))

load_checkpoint.drills(
    "returned-otherwise, config-as-text, config-evaluated, arguments-of-fingerprint 1, another-hash 3, "
    "missing-entry 4, more-metadata-refused, another-error, missing-config-accepted"
)
