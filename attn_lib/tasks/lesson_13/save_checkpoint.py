"""The task `save_checkpoint`: a module as data, with what is needed to build it anew."""

import torch

from attn_lib.checkpoint import save_checkpoint as of_the_library
from attn_lib.checks.authoring import Case, task
from attn_lib.tasks.lesson_13.comparison import good_file
from attn_lib.tasks.lesson_13.runs import Module, PathTo, saved


@task(
    lesson=13,
    points=3,
    insight="Numbers and a text, no code: to open such a file can run nothing.",
    library=of_the_library,
    hints=[
        "Which method of a module gives all that must be stored, by name? `save_file` of `safetensors.torch` "
        "writes such a dict, and takes a dict of texts as `metadata`.",
        "Metadata are texts: `json.dumps` makes one of the config. Keep it in a variable: the very text that you "
        "store is what `fingerprint` must be given, with the very tensors.",
        "safetensors refuses a tensor that is not contiguous, or that shares its memory with another one. Which "
        "argument of `clone` makes a copy that lies in order?",
    ],
)
def save_checkpoint(module, config, path):
    import json

    from safetensors.torch import save_file

    from attn_lib.tasks.lesson_13.runs import fingerprint

    state = module.state_dict()
    tensors = {name: tensor.contiguous().clone() for name, tensor in state.items()}
    text = json.dumps(config)
    digest = fingerprint(tensors, text)
    metadata = {"config": text, "sha256": digest}
    return save_file(tensors, path, metadata)


@save_checkpoint.cases
def _(rng):
    def randn(*shape):
        return torch.randn(*shape, generator=rng)

    def case(kind, tensors, config, path="model.safetensors", also=""):
        args = (Module(kind, tensors), config, path)
        return Case(kind + also, args, saved, grad=False, finish=good_file)

    nested = {
        "name": 'Größe → 大 😀 "klein"',
        "steps": 2**53 + 1,
        "layers": [{"num_heads": 4, "dropout": 0.1}, {"num_heads": 2, "dropout": None}],
        "is_causal": True,
        "learning_rate": 0.123456789,
    }
    linear, sizes = "an `nn.Linear(3, 2)`", {"in_features": 3, "out_features": 2}
    weight = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    yield case(linear, {"weight": weight, "bias": torch.zeros(2)}, sizes)
    drawn = {"weight": randn(2, 3), "bias": randn(2)}
    yield case(linear, drawn, nested, also=", a nested config")
    yield case(linear, drawn, {}, also=", an empty config")
    for path, also in (
        (PathTo("model.safetensors"), "a `Path`"),
        (PathTo("model"), "a `Path` without an ending"),
        ("models/small.v2", "in a folder"),
        ("my models/small model", "blanks in its path"),
        (PathTo("old.safetensors"), "an old file is there"),
        ("trained.safetensors", "an old checkpoint of it is there"),
    ):
        yield case(linear, drawn, sizes, path, f", {also}")
    pointed = {"note": "a, b: c;  {d} \n", "marks": [", ", ": ", "'", "null", "1"]}
    yield case(linear, drawn, pointed, also=", a config with marks and blanks in its texts")
    odd = torch.tensor([[torch.nan, -0.0, 0.0], [1e-40, 1.0, -1.0]])
    endless = {"weight": odd, "bias": torch.tensor([-torch.inf, torch.inf])}
    yield case(linear, endless, sizes, also=" with inf, nan and -0.0")
    half = {name: tensor.bfloat16() for name, tensor in drawn.items()}
    yield case(linear, half, sizes, also=", bfloat16")
    double = {"weight": randn(2, 3).half(), "bias": randn(2).double()}
    yield case(linear, double, sizes, also=", float16 and float64")
    norm = {
        "0.weight": randn(3, 2), "1.weight": randn(3), "1.running_mean": randn(3),
        "1.running_var": randn(3).exp(), "1.num_batches_tracked": torch.tensor(2**53 + 1),
    }  # fmt: skip
    yield case("a linear layer and an `nn.BatchNorm1d(3)`", norm, {"width": 3})
    yield case(f"{linear} with a buffer of `persistent=False`", drawn, sizes)
    heads = {f"{x}_proj.weight": randn(4, 4) for x in "qkvo"}
    yield case(
        "an `attn_lib.MultiHeadAttention(4, 2)`", heads, {"d_model": 4, "num_heads": 2}
    )
    wrapped = {f"module.{name}": tensor for name, tensor in drawn.items()}
    yield case("an `nn.Linear(3, 2)` in a wrapper, under the name `module`", wrapped, sizes)
    compiled = {f"_orig_mod._orig_mod.{name}": tensor for name, tensor in drawn.items()}
    about = "an `nn.Linear(3, 2)` in two wrappers, under the name `_orig_mod`"
    yield case(about, compiled, sizes)
    yield case(f"{linear} in eval mode", drawn, sizes)
    about = "a linear layer, and an `nn.BatchNorm1d(3)` in eval mode"
    yield case(about, norm, {"width": 3})
    yield case(f"{linear} whose bias needs no gradient", drawn, sizes)
    seen = torch.ones(5, 4).tril().bool()
    of_bytes = {
        "weight": torch.tensor([[-127, 3, 0], [1, 127, -5]], dtype=torch.int8),
        "places": torch.tensor([0, 2**31 - 1, -5], dtype=torch.int32),
        "pixels": torch.tensor([[0, 255], [128, 1]], dtype=torch.uint8),
        "mask": seen[:4],
        "later": seen[1:],
    }
    yield case("an int8 weight and two masks, slices of one", of_bytes, sizes)
    one = {"weight": randn(1, 3), "bias": randn(1)}
    yield case("an `nn.Linear(3, 1)`", one, {"in_features": 3, "out_features": 1})
    yield case("an `nn.ReLU()`", {}, {})
    empty = {"weight": torch.zeros(0, 3), "bias": torch.zeros(0)}
    yield case("an `nn.Linear(3, 0)`", empty, {"in_features": 3, "out_features": 0})
    turned = drawn | {"weight": randn(3, 2).T}
    yield case(f"{linear} whose weight is a transposed matrix", turned, sizes)
    last = {"weight": randn(2, 2, 2, 3).permute(0, 3, 1, 2), "bias": randn(2)}
    yield case("an `nn.Conv2d(3, 2, 2)` whose channels lie last", last, sizes)
    tied = {"read.weight": randn(4, 3)}
    about = "an embedding and an output layer with one weight, the layer under two names"
    yield case(about, tied, {"tied": True})
    slices = {f"{x}_proj.weight": randn(2, 3) for x in "qkv"}
    yield case("three matrices that are slices of one", slices, {"d_model": 3})
    rows = randn(6, 3)
    overlapping = {"k_proj.weight": rows[:4], "v_proj.weight": rows[2:]}
    yield case("two overlapping slices of one matrix", overlapping, {"d_model": 3})


save_checkpoint.rows("""
What does `torch.save` write, and what happens when somebody opens it? Which function writes numbers only?
    pickled  return = torch.save(tensors, path)
    pickled  return = __import__("pathlib").Path(path).write_bytes(__import__("pickle").dumps(tensors))
With the tensors alone, who knows how many heads the module has? Where in the file is the config?
    config-forgotten  metadata = {"sha256": digest}
    config-forgotten  metadata = {"sha256": digest, **{name: str(value) for name, value in config.items()}}
    config-forgotten  metadata = {"sha256": digest, "configuration": text}
    config-forgotten  metadata = {"sha256": digest, "metadata": text} || {"format": "pt"}
    config-forgotten  metadata = {"metadata": json.dumps({"config": config, "sha256": digest})}
    config-forgotten  metadata = None
`str` writes Python, with 'quotes' and True. Who reads that without running it? Which function writes JSON?
    config-as-python  text = str(config) || str(list(config.items()))
What do you read back: a dict, or a text that holds one? Is everything in it what it was?
    another-config  text = json.dumps(json.dumps(config)) || json.dumps(str(config))
    another-config  text = json.dumps({name: str(value) for name, value in config.items()})
    another-config  text = json.dumps(list(config)) || json.dumps({"config": config})
    another-config  text = json.dumps(list(config.items()))
    another-config  text = json.dumps({**config, "name": "model"}) || json.dumps({})
One file is easily kept together, two are not. What of yours lies beside the file?
    two-files  return = [_, __import__("pathlib").Path(f"{path}.json").write_text(text)]
    two-files  return = [_, __import__("pathlib").Path("config.json").write_text(text)] ; metadata = {"sha256": digest}
    two-files  return = [_, __import__("pathlib").Path(f"{path}.sha256").write_text(digest)]
    two-files  return = [_, save_file(tensors, f"{path}.tmp", metadata)]
A bit of a number flips on the disk. Who notices? What is in the metadata beside the config?
    hash-forgotten  metadata = {"config": text} || {"config": text, "hash": digest}
    hash-forgotten  metadata = {"config": text, "fingerprint": digest}
Is what you give to `fingerprint` what you write: the same tensors, and the same text to the letter? And is what stands under
"sha256" what it returned, all of it?
    another-hash  digest = fingerprint(tensors, str(config)) || fingerprint(tensors, "")
    another-hash  digest = fingerprint(tensors, json.dumps(config, sort_keys=True))
    another-hash  digest = fingerprint(dict(module.named_parameters()), text)
    another-hash  digest = fingerprint({name: tensor.float() for name, tensor in tensors.items()}, text)
    another-hash  metadata = {"config": json.dumps(config, sort_keys=True, indent=1), "sha256": digest}
`fingerprint` takes a text and a dict of tensors, in which order, and which of yours is which?
    arguments-of-fingerprint  digest = fingerprint(tensors, config)
    arguments-of-fingerprint  digest = fingerprint(module, text) || fingerprint(tensors)
    arguments-of-fingerprint  digest = fingerprint(tensors.values(), text)
    arguments-of-fingerprint  digest = fingerprint(path, text)
Values of metadata are texts. What is the config, and what makes a text of it?
    metadata-not-text  metadata = {"config": config, "sha256": digest}
    metadata-not-text  metadata = {"config": text, "sha256": int(digest, 16)}
    metadata-not-text  metadata = {"config": text.encode(), "sha256": digest}
A module holds more than its parameters, and more than floats: what does a batch norm remember? Which method gives everything
that is stored, and what of that do you leave out?
    not-the-state  state = dict(module.named_parameters())
    not-the-state  state = dict(module.named_parameters(remove_duplicate=False))
    not-the-state  state = dict([*module.named_parameters(), *module.named_buffers()])
    not-the-state  state = dict([*module.named_parameters(remove_duplicate=False), *module.named_buffers()])
    not-the-state  state = {name: t for name, t in module.state_dict().items() if t.is_floating_point()}
A transposed matrix is a way to read the memory, and a file holds memory. Which method puts its numbers in order?
    not-contiguous  tensors = .contiguous() =>
Two names with one memory, or two slices of it that overlap. Does `contiguous` copy what lies in order already? What
copies it always?
    memory-shared  tensors = .clone() =>
    memory-shared  tensors = {n: t.clone() if t.data_ptr() in [u.data_ptr() for u in list(state.values())[:i]] else t.contiguous() for i, (n, t) in enumerate(state.items())}
What does safetensors ask of tensors: where must their numbers lie, and may two share them?
    no-copies  tensors = state
You leave out what shares its memory with another one. What does `load_state_dict` say to the name that is missing?
    tied-left-out  tensors = {n: t.contiguous().clone() for i, (n, t) in enumerate(state.items()) if all(t.data_ptr() != u.data_ptr() for u in list(state.values())[:i])}
    tied-left-out  return = __import__("safetensors.torch").torch.save_model(module, str(path), metadata)
Compare the dtypes in the module and in the file. Which one did you change?
    dtype-changed  tensors = .clone() => .clone().float() || .clone() => .clone().half()
    dtype-changed  tensors = .clone() => .clone().double()
    dtype-changed  tensors = .clone() => .clone().bfloat16()
    dtype-changed  tensors = {n: t.float().contiguous().clone() if t.is_floating_point() else t.clone() for n, t in state.items()}
By which names does `load_state_dict` look for its tensors? What are the names in your file?
    renamed  tensors = {name: => {f"module.{name}": || {name: => {name.replace(".", "_"):
    renamed  tensors = {name: => {name.split(".")[-1]: || {name: => {f"model.{name}":
Which shape has a tensor in the module, and which in the file?
    reshaped  tensors = .clone() => .clone().flatten()
    reshaped  tensors = .clone() => .clone().mT.contiguous() if tensor.ndim == 2 else tensor.clone()
    reshaped  tensors = .clone() => .clone()[None] || .clone() => .clone().squeeze()
safetensors writes tensors. What does `tolist` or `numpy` make of them?
    not-tensors  tensors = .clone() => .clone().tolist() || .clone() => .clone().numpy()
    not-tensors  return = save_file(module, path, metadata)
The path is the caller's. Where did you write, and who looks there?
    another-path  return = save_file(tensors, f"{path}.safetensors", metadata)
    another-path  return = save_file(tensors, "checkpoint.safetensors", metadata)
    another-path  return = save_file(tensors, __import__("pathlib").Path(path).with_suffix(".safetensors"), metadata)
    another-path  return = save_file(tensors, __import__("pathlib").Path(path).name, metadata)
What does `save_file` take first, and what second?
    arguments-of-save-file  return = save_file(path, tensors, metadata)
    arguments-of-save-file  return = save_file(tensors, metadata, path)
An old file lies at `path`. Which one should lie there after the call?
    old-file-kept  return = None if __import__("os").path.exists(path) else save_file(tensors, path, metadata)
Must a path be a text? What else can stand there, and what has it not?
    path-must-be-text  return = save_file(tensors, path if path.endswith(".safetensors") else path + ".safetensors", metadata)
    path-must-be-text  return = save_file(tensors, path + ".safetensors", metadata)
Your file is never written. Which call writes it, and where do its bytes go?
    not-written  return = __import__("safetensors.torch").torch.save(tensors, metadata)
Nothing is asked for but the file. What do you return?
    something-returned  return = [_, path][1] || [_, metadata][1] || [_, True][1] || [_, digest][1] || [_, tensors][1]
Does saving change what is saved? Look at the module, and at the config, after the call.
    input-changed  state = module.eval().state_dict()
    input-changed  state = module.requires_grad_(False).state_dict()
    input-changed  state = [setattr(p, "data", p.data.contiguous()) for p in module.parameters()] and module.state_dict()
    input-changed  return = [_, module.load_state_dict(tensors, assign=True)]
    input-changed  return = [_, module.zero_grad()] || [_, config.update(metadata)]
""")

save_checkpoint.drills(
    "arguments-of-save-file, config-forgotten, metadata-not-text, config-as-python, another-path, not-the-state, "
    "memory-shared, not-contiguous"
)
