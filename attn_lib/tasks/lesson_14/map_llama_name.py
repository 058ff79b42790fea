"""The task `map_llama_name`: what the file calls a tensor, and what our model calls it."""

import re

import torch

from attn_lib import smollm2
from attn_lib.checks.authoring import Case, task
from attn_lib.tasks.lesson_14.runs import all_refused, refused


@task(
    lesson=14,
    points=2,
    insight="A table of names was all that stood between your modules and weights that others trained.",
    library=smollm2.map_llama_name,
    hints=[
        "A name is words with points between them: `split` cuts them apart. How many words has the name of a tensor in a "
        "block, and how many has one outside of the blocks?",
        "A dict from the word of the file to ours says nearly all. Which words of a name are not in it, and what must "
        "they be, so that the name is known?",
        "Look before you translate. What must be true of each of the words of a known name, and how many are there? A "
        "name that fails in one of these things is unknown, whatever the others are.",
    ],
)
def map_llama_name(name):
    block = "blocks"
    outside = {"token_embd": "embed", "output_norm": "norm"}
    norms = {"attn_norm": "norm1", "ffn_norm": "norm2"}
    attention = {
        "attn_q": "attn.q_proj",
        "attn_k": "attn.k_proj",
        "attn_v": "attn.v_proj",
        "attn_output": "attn.o_proj",
    }
    feed_forward = {
        "ffn_gate": "ff.gate_proj",
        "ffn_up": "ff.up_proj",
        "ffn_down": "ff.down_proj",
    }
    parts = {**norms, **attention, **feed_forward}
    words = name.split(".")
    is_outside = len(words) == 2 and words[0] in outside
    is_numbered = len(words) == 4 and words[0] == "blk" and words[1].isdecimal()
    is_inside = is_numbered and words[2] in parts
    is_weight = words[-1] == "weight"
    is_known = (is_outside or is_inside) and is_weight
    error = ValueError
    if not is_known:
        raise error(name)
    number = words[1]
    path = outside[words[0]] if is_outside else f"{block}.{number}.{parts[words[2]]}"
    ending = ".weight"
    ours = path + ending
    return ours


PARTS = {
    "attn_norm": "the norm before attention",
    "attn_q": "the queries",
    "attn_k": "the keys",
    "attn_v": "the values",
    "attn_output": "the layer after the heads",
    "ffn_norm": "the norm before the feed-forward network",
    "ffn_gate": "the gate",
    "ffn_up": "the way up",
    "ffn_down": "the way down",
}


def by_a_word(words, i):
    """Yield what is left of a name if one of its words is another one, is missing, or one more stands there."""
    word = words[i]
    for one in ("bias", "scale", "x", "", word + "s", word + "_2", word + "_norm"):
        yield [*words[:i], one, *words[i + 1 :]]
    for one in (word + "_exps", "x" + word, "cross_" + word, word.replace("_", "-")):
        yield [*words[:i], one, *words[i + 1 :]]
    for n in range(1, len(word)):
        yield [*words[:i], word[:n], *words[i + 1 :]]
    for one in ("x", "0", "", word):
        yield [*words[:i], one, *words[i:]]
        yield [*words[: i + 1], one, *words[i + 1 :]]
    yield [*words[:i], *words[i + 1 :]]


def differing(name, kind):
    """Yield names that differ from a name of the file at one place: by a word, a letter, or a sign."""
    words = name.split(".")
    if kind == "word":
        for i in range(len(words)):
            yield from map(".".join, by_a_word(words, i))
    if kind == "letter":
        for i, letter in enumerate(name):
            for one in ("", letter.upper()):
                yield name[:i] + one + name[i + 1 :]
        yield from (words[0].upper() + name[len(words[0]) :], name.upper())
        yield name.replace("weight", "WEIGHT")
    if kind == "sign":
        for i in range(len(name) + 1):
            if "." in f".{name}."[i : i + 2]:
                yield from (name[:i] + sign + name[i:] for sign in "\n\r \0")


@map_llama_name.cases
def _(rng):
    def upto(first, last):
        return int(torch.randint(first, last + 1, (), generator=rng))

    def case(about, name):
        return Case(about, (name,), grad=False)

    yield case("the embedding", "token_embd.weight")
    yield case("the norm after the last block", "output_norm.weight")
    for part, about in PARTS.items():
        yield case(f"{about} of the first block", f"blk.0.{part}.weight")
    for part, about in PARTS.items():
        number = upto(1, 9)
        yield case(f"{about} of block {number}", f"blk.{number}.{part}.weight")
    for part, about in PARTS.items():
        number = 10 * upto(1, 2) + upto(3, 9)
        yield case(f"{about} of block {number}", f"blk.{number}.{part}.weight")
    yield case("a number of four digits", f"blk.{upto(1000, 9999)}.attn_q.weight")
    yield case("block 10", f"blk.10.attn_{'qkv'[upto(0, 2)]}.weight")
    for number in (31, 99, 125):
        yield case(f"block {number} of a larger model", f"blk.{number}.ffn_down.weight")
    # Names of other models, which the reference refuses.
    yield case("the head of a model that has one of its own", "output.weight")
    yield case("a table for RoPE", "rope_freqs.weight")
    yield case("a norm of the keys", f"blk.{upto(0, 9)}.attn_k_norm.weight")
    yield case("a layer that chooses experts", "blk.0.ffn_gate_inp.weight")
    yield case("queries, keys and values in one", "blk.12.attn_qkv.weight")
    yield case("a bias of the queries", f"blk.{upto(10, 29)}.attn_q.bias")
    yield case("a bias of a norm", "output_norm.bias")
    yield case("the embedding, without its last word", "token_embd")
    yield case("no last word", "blk.5.ffn_up")
    yield case("one word more", "blk.4.attn_v.weight.scale")
    yield case("one word more at the end of the embedding's", "token_embd.weight.scale")
    yield case("a number in the embedding's name", "token_embd.0.weight")
    yield case("no number", "blk.attn_q.weight")
    yield case("an empty number", "blk..attn_q.weight")
    yield case("a fraction for the number", "blk.½.ffn_down.weight")
    for letter in ("x", "N", "n", "i", "{}", "{i}", "%d", "#", "*", "?"):
        yield case(f"{letter} for the number", f"blk.{letter}.ffn_down.weight")
    yield case("a number and letters", "blk.2nd.ffn_down.weight")
    yield case("another first word", "enc.3.attn_q.weight")
    yield case("a word before the first", "model.blk.3.attn_q.weight")
    yield case("a name that was there before", "output_norm.weight")
    yield case("the first block's keys, once more", "blk.0.attn_k.weight")
    yield case("one of our names", "blocks.0.attn.q_proj.weight")
    yield case("another of our names", "embed.weight")
    yield case("an embedding in a block", "blk.3.token_embd.weight")
    yield case("a part without a block", "attn_q.weight")
    yield case("the last norm in a block", "blk.3.output_norm.weight")
    yield case("a gate of attention", "blk.0.attn_gate.weight")
    yield case("queries of the feed-forward network", "blk.0.ffn_q.weight")
    yield case("a way up in attention", "blk.7.attn_up.weight")
    yield case("a last word that ends like weight", "blk.0.attn_q.qweight")
    yield case("the last word twice", "blk.0.attn_q.weight.weight")
    yield case("a first word that begins like blk", "blks.0.attn_q.weight")
    yield case("capital letters", "BLK.0.attn_q.weight")
    yield case("a point too many", "blk.0..attn_q.weight")
    yield case("a number below zero", "blk.-1.attn_q.weight")
    yield case("a sign before the number", "blk.+1.attn_q.weight")
    yield case("a number as Python writes it", "blk.1_0.attn_q.weight")
    yield case("a blank before the number", "blk. 1.attn_q.weight")
    yield case("another sign for the first point", "blk_0.attn_q.weight")
    for part, about in PARTS.items():
        yield case(f"{about}, another sign for the second point", f"blk.0_{part}.weight")
        yield case(f"{about}, another sign for the last point", f"blk.0.{part}_weight")
    yield case("another sign for the embedding's point", "token_embd_weight")
    yield case("a space before it", " output_norm.weight")
    yield case("a line break after it", "blk.0.attn_q.weight\n")
    yield case("a line break after the last norm's", "output_norm.weight\n")
    yield case("a line break before it", "\nblk.0.attn_q.weight")
    yield case("a line break after the number", "blk.0\n.attn_q.weight")
    yield case("another line before it", "blk.0.attn_k.weight\nblk.0.attn_q.weight")
    yield case("a space after it", "blk.0.attn_q.weight ")
    yield case("a space after the part", "blk.0.attn_q .weight")
    yield case("a point before it", ".blk.0.attn_q.weight")
    yield case("a point after it", "blk.0.attn_q.weight.")
    yield case("a dash in the part", "blk.0.attn-q.weight")
    yield case("a capital letter in the part", "blk.0.attn_Q.weight")
    yield case("a letter after the last word", "blk.0.attn_q.weights")
    yield case("the first word only", "blk")
    yield case("the first word and the last", "blk.weight")
    yield case("no part", "blk.0.weight")
    yield case("an empty part", "blk.0..weight")
    yield case("the first half of a part", "blk.0.attn.weight")
    yield case("the first half of a part and its sign", "blk.0.attn_.weight")
    yield case("the second half of a part", "blk.0.q.weight")
    yield case("the second half of a norm", "blk.0.norm.weight")
    yield case("a part in short", "blk.0.attn_out.weight")
    yield case("a word before a part", "blk.0.cross_attn_q.weight")
    yield case("queries of something else", "blk.0.cross_q.weight")
    yield case("a gate of something else", "blk.0.mlp_gate.weight")
    yield case("a norm of something else", "blk.0.mlp_norm.weight")
    yield case("nothing", "")
    number = upto(2, 9)
    right = ["token_embd.weight", "output_norm.weight"]
    right += [f"blk.{number}.{part}.weight" for part in PARTS]
    for kind in ("word", "letter", "sign"):
        others = dict.fromkeys(other for name in right for other in differing(name, kind))
        names = tuple(name for name in others if name not in right)
        about = f"{len(names)} names, each of which is one of the table but for one {kind}"
        yield Case(about, (names,), refused, grad=False, finish=all_refused, is_slow=True)


map_llama_name.rows("""
Which of the two norms stands before attention, and which before the feed-forward network?
    norms-exchanged  norms = {"attn_norm": "norm2", "ffn_norm": "norm1"}
    norms-exchanged  norms = {"attn_norm": "norm1", "ffn_norm": "norm1"}
What does the table call the two norms of a block?
    norms-named-otherwise  norms = {"attn_norm": "norm_1", "ffn_norm": "norm_2"}
    norms-named-otherwise  norms = {"attn_norm": "attn_norm", "ffn_norm": "ffn_norm"}
    norms-named-otherwise  norms = {"attn_norm": "attn.norm1", "ffn_norm": "ff.norm2"}
    norms-named-otherwise  norms = {"attn_norm": "norm0", "ffn_norm": "norm1"}
What comes after the heads is `attn_output` in the file. What is its name with us, and under which part?
    o-proj-named-otherwise  attention = attn.o_proj => attn.output_proj
    o-proj-named-otherwise  attention = attn.o_proj => attn.out_proj
    o-proj-named-otherwise  attention = attn.o_proj => attn_output || attn.o_proj => o_proj
Four layers of attention, four letters. Which two have changed places?
    letters-exchanged  attention = {"attn_q": "attn.k_proj", "attn_k": "attn.q_proj", "attn_v": "attn.v_proj", "attn_output": "attn.o_proj"}
    letters-exchanged  attention = {"attn_q": "attn.q_proj", "attn_k": "attn.v_proj", "attn_v": "attn.k_proj", "attn_output": "attn.o_proj"}
    letters-exchanged  attention = {"attn_q": "attn.q_proj", "attn_k": "attn.k_proj", "attn_v": "attn.o_proj", "attn_output": "attn.v_proj"}
    letters-exchanged  attention = {"attn_q": "attn.q_proj", "attn_k": "attn.k_proj", "attn_v": "attn.k_proj", "attn_output": "attn.o_proj"}
gate, up, down: does each keep its own name?
    gate-up-and-down-exchanged  feed_forward = {"ffn_gate": "ff.up_proj", "ffn_up": "ff.gate_proj", "ffn_down": "ff.down_proj"}
    gate-up-and-down-exchanged  feed_forward = {"ffn_gate": "ff.gate_proj", "ffn_up": "ff.down_proj", "ffn_down": "ff.up_proj"}
    gate-up-and-down-exchanged  feed_forward = {"ffn_gate": "ff.down_proj", "ffn_up": "ff.up_proj", "ffn_down": "ff.gate_proj"}
    gate-up-and-down-exchanged  feed_forward = {"ffn_gate": "ff.gate_proj", "ffn_up": "ff.gate_proj", "ffn_down": "ff.down_proj"}
With us, a layer belongs to a part, `attn` or `ff`, and ends in `_proj`. Compare letter by letter: points, underscores, endings.
    parts-spelled-otherwise  attention = attn. => attn_ ; feed_forward = ff. => ff_
    parts-spelled-otherwise  attention = _proj => ; feed_forward = _proj =>
    parts-spelled-otherwise  feed_forward = _proj =>
    parts-spelled-otherwise  attention = _proj =>
    parts-spelled-otherwise  feed_forward = ff. => ffn.
    parts-spelled-otherwise  attention = attn. => ; feed_forward = ff. =>
    parts-spelled-otherwise  attention = attn. =>
    parts-spelled-otherwise  feed_forward = ff. =>
    parts-spelled-otherwise  parts = {word: word for word in _}
    parts-spelled-otherwise  parts = {word: word.replace("_", ".") for word in _}
Those are the names of another library. What does the table of this exercise say?
    names-of-another-library  block = "model.layers" ; outside = {"token_embd": "model.embed_tokens", "output_norm": "model.norm"} ; norms = {"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm"} ; attention = attn. => self_attn. ; feed_forward = ff. => mlp.
    names-of-another-library  attention = attn. => self_attn. ; feed_forward = ff. => mlp.
    names-of-another-library  attention = attn. => self_attn.
    names-of-another-library  feed_forward = ff. => mlp.
    names-of-another-library  norms = {"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm"}
    names-of-another-library  outside = {"token_embd": "embed_tokens", "output_norm": "norm"}
A list of blocks: what is it called in our model, with or without an s?
    blocks-named-otherwise  block = "blk" || "block" || "layers"
    blocks-named-otherwise  path = outside[words[0]] if is_outside else f"{block}{number}.{parts[words[2]]}"
    blocks-named-otherwise  path = outside[words[0]] if is_outside else f"{block}[{number}].{parts[words[2]]}"
How many blocks has the model, and how many digits has their largest number? Try block 12.
    one-digit-only  number = words[1][0] || words[1][-1]
    one-digit-only  is_numbered = _ and len(words[1]) == 1
Another Llama has 126 blocks. Does your function have to know how many there are?
    blocks-counted  is_numbered = _ and int(words[1]) < 30 || _ and int(words[1]) < 32
    blocks-counted  is_numbered = _ and int(words[1]) < 100
Block 3 of the file is block 3 of the model. Is it the same text in yours?
    another-number  number = str(int(words[1]) + 1) if is_inside else ""
    another-number  number = words[1].zfill(2)
    another-number  path = outside[words[0]] if is_outside else f"{block}.{parts[words[2]]}"
    another-number  path = outside[words[0]] if is_outside else f"{block}.{parts[words[2]]}.{number}"
What does the table call the embedding?
    embedding-named-otherwise  outside = {"token_embd": "token_embd", "output_norm": "norm"}
    embedding-named-otherwise  outside = {"token_embd": "embedding", "output_norm": "norm"}
    embedding-named-otherwise  outside = {"token_embd": "token_embed", "output_norm": "norm"}
There is one more norm, after the last block. What is its name in the table?
    last-norm-named-otherwise  outside = {"token_embd": "embed", "output_norm": "output_norm"}
    last-norm-named-otherwise  outside = {"token_embd": "embed", "output_norm": "final_norm"}
    last-norm-named-otherwise  outside = {"token_embd": "embed", "output_norm": "norm_f"}
    last-norm-named-otherwise  outside = {"token_embd": "embed", "output_norm": "norm1"}
    last-norm-named-otherwise  outside = {"token_embd": "embed", "output_norm": "norm2"}
    last-norm-named-otherwise  outside = {"token_embd": "embed", "output_norm": "o_norm"}
    last-norm-named-otherwise  outside = {"token_embd": "embed", "output_norm": "o_proj_norm"}
Not every tensor is in a block. What does yours do with the two that are not?
    outside-forgotten  outside = {}
    outside-forgotten  outside = {} ; is_known = True
    outside-forgotten  outside = {"token_embd": "embed"} || {"output_norm": "norm"}
How does a name end in `state_dict()`?
    ending-changed  ending = "" || "weight" || ".bias" || "" if is_outside else ".weight"
Which error comes out of yours for a name that it does not know, and which one does the task ask for?
    another-error  error = KeyError || RuntimeError || AssertionError || Exception
    another-error  error = IndexError
    another-error  is_known = True || is_weight
    another-error  is_outside = words[0] in outside ; is_known = True
    another-error  is_known = is_outside or is_numbered
    another-error  is_known = is_outside and is_weight or is_numbered and is_weight
    another-error  is_known = is_outside and is_weight or len(words) == 4 ; ending = "." + words[-1]
    another-error  is_known = is_outside and is_weight or words[2] in parts
    another-error  is_known = is_outside and is_weight or words[2] in parts ; ending = "." + words[-1]
A tensor of another model, which yours has no place for: what should happen?
    unknown-passed-on  is_known = True ; ours = _ if (is_outside or is_inside) and is_weight else name ; path = outside[words[0]] if is_outside else f"{block}.{number}.{parts[words[2]]}" if is_inside else "" ; number = words[1] if len(words) > 1 else ""
    unknown-passed-on  is_known = True ; ours = _ if (is_outside or is_inside) and is_weight else None ; path = outside[words[0]] if is_outside else f"{block}.{number}.{parts[words[2]]}" if is_inside else "" ; number = words[1] if len(words) > 1 else ""
    unknown-passed-on  is_known = True ; ours = _ if (is_outside or is_inside) and is_weight else "" ; path = outside[words[0]] if is_outside else f"{block}.{number}.{parts[words[2]]}" if is_inside else "" ; number = words[1] if len(words) > 1 else ""
    unknown-passed-on  is_inside = is_numbered ; path = outside[words[0]] if is_outside else f"{block}.{number}.{parts.get(words[2], words[2])}"
    unknown-passed-on  is_inside = is_numbered ; path = outside[words[0]] if is_outside else f"{block}.{number}.{parts.get(words[2])}"
    unknown-passed-on  is_known = True ; path = outside[words[0]] if is_outside else f"{block}.{number}.{parts.get(words[2])}"
    unknown-passed-on  is_known = True ; path = outside[words[0]] if is_outside else f"{block}.{number}.{parts.get(words[2], '')}"
    unknown-passed-on  is_known = True ; path = outside[words[0]] if is_outside else f"{block}.{number}.{parts.get(words[2], words[2])}"
Do you raise the error, or return it?
    error-returned  is_known = True ; ours = _ if (is_outside or is_inside) and is_weight else ValueError(name) ; path = outside[words[0]] if is_outside else f"{block}.{number}.{parts[words[2]]}" if is_inside else "" ; number = words[1] if len(words) > 1 else ""
Is that name in the table, or have you made it from parts of two others?
    not-in-the-table  parts = {**norms, **{f"{a}_{b}": f"{c}.{d}_proj" for a, c in (("attn", "attn"), ("ffn", "ff")) for b, d in (("q", "q"), ("k", "k"), ("v", "v"), ("output", "o"), ("gate", "gate"), ("up", "up"), ("down", "down"))}}
    not-in-the-table  parts = {**_, **outside}
Has our model a head of its own? Look for `output.weight` in the table.
    head-added  outside = {"token_embd": "embed", "output_norm": "norm", "output": "lm_head"}
    head-added  outside = {"token_embd": "embed", "output_norm": "norm", "output": "embed"}
    head-added  outside = {"token_embd": "embed", "output_norm": "norm", "output": "head"}
    head-added  outside = {"token_embd": "embed", "output_norm": "norm", "output": "output"}
`rstrip` takes letters away, not a word. What does it leave of `attn_output.weight`?
    letters-stripped  words = [*name.rstrip(".weight").split("."), "weight"]
    letters-stripped  words = [*name.rstrip(".weight").split("."), "weight"] ; is_outside = name in ("token_embd.weight", "output_norm.weight")
A name may begin as one that you know. Do you look at all of its words: the first, the number, the last, and how many they are? What may each of them be?
    not-all-words-read  is_weight = True
    not-all-words-read  is_weight = True ; ending = "." + words[-1]
    not-all-words-read  is_numbered = len(words) == 4 and words[1].isdigit()
    not-all-words-read  is_numbered = len(words) == 4 and words[0] == "blk"
    not-all-words-read  is_numbered = len(words) >= 4 and words[0] == "blk" and words[1].isdigit() ; is_weight = "weight" in words
    not-all-words-read  is_numbered = len(words) == 4 ; is_weight = True
    not-all-words-read  is_numbered = len(words) == 4
    not-all-words-read  is_numbered = len(words) > 2 ; is_weight = True
    not-all-words-read  is_numbered = len(words) > 2
    not-all-words-read  is_numbered = len(words) > 2 and words[0] == "blk" ; is_weight = True
    not-all-words-read  is_numbered = len(words) > 2 and words[0] == "blk"
    not-all-words-read  is_outside = words[0] in outside
    not-all-words-read  is_outside = words[0] in outside ; is_weight = True
    not-all-words-read  is_weight = words[-1] in ("weight", "bias") ; ending = "." + words[-1]
    not-all-words-read  is_numbered = len(words) == 4 and words[0] == "blk" and words[1] != ""
    not-all-words-read  words = name.split(".")[-4:]
    not-all-words-read  words = [*name.removesuffix(".weight").split("."), "weight"]
    not-all-words-read  is_known = is_outside and is_weight or is_inside
    not-all-words-read  is_known = is_outside and is_weight or is_inside ; ending = "." + words[-1]
    not-all-words-read  is_known = is_outside and is_weight or is_inside and words[-1] in ("weight", "bias") ; ending = "." + words[-1]
    not-all-words-read  is_known = is_outside or is_inside and is_weight
    not-all-words-read  is_known = is_outside or is_inside and is_weight ; ending = "." + words[-1]
    not-all-words-read  is_known = words[0] in outside or is_inside and is_weight
Are these words whole? Does yours only look at how they begin or end?
    word-begins-or-ends-so  is_weight = words[-1].endswith("weight")
    word-begins-or-ends-so  is_weight = name.endswith("weight") ; is_numbered = len(words) > 2 and words[0] == "blk" and words[1].isdigit()
    word-begins-or-ends-so  is_numbered = len(words) == 4 and words[0].startswith("blk") and words[1].isdigit()
What do you return: the text of one name?
    no-text-returned  ours = (_,) || words
""")


def _replaced(*pairs):
    """Return an answer that replaces one text after another, as one does first."""

    def answer(name):
        for old, new in pairs:
            name = name.replace(old, new)
        return name

    return answer


BLOCKS = ("blk", "blocks"), ("blk.", "blocks.")
EMBEDDING = ("token_embd", "embed")
NORMS = ("attn_norm", "norm1"), ("ffn_norm", "norm2"), ("output_norm", "norm")
LAYERS = (
    ("attn_q", "attn.q_proj"), ("attn_k", "attn.k_proj"), ("attn_v", "attn.v_proj"),
    ("attn_output", "attn.o_proj"), ("ffn_gate", "ff.gate_proj"), ("ffn_up", "ff.up_proj"),
    ("ffn_down", "ff.down_proj"),
)  # fmt: skip

map_llama_name.mistake(
    "replaced-without-looking",
    "`replace` changes what it finds, and says nothing about the rest. What comes out for a name that is not "
    "known, and who notices?",
)(*(_replaced(blocks, EMBEDDING, *NORMS, *LAYERS) for blocks in BLOCKS))
map_llama_name.mistake(
    "replaced-inside-another-word",
    "One name can stand inside of another one: `output` is in `attn_output` and in `output_norm`. Which "
    "names does each of your replacements meet? Words between points are safer.",
)(
    _replaced(BLOCKS[0], EMBEDDING, *LAYERS, ("output", "o_proj"), *NORMS),
    _replaced(BLOCKS[0], EMBEDDING, ("output", "o_proj"), *NORMS, *LAYERS),
    _replaced(
        BLOCKS[0], EMBEDDING, ("attn_", "attn."), ("ffn_", "ff."), ("attn.norm", "norm1"), ("ff.norm", "norm2"),
        ("output", "o_proj"), ("_norm", ""), (".q.", ".q_proj."), (".k.", ".k_proj."), (".v.", ".v_proj."),
        ("gate", "gate_proj"), ("up", "up_proj"), ("down", "down_proj"),
    ),
)  # fmt: skip


def _replaced_or_refused(*pairs):
    """Return an answer that replaces, and refuses what has not changed, as one does second."""

    def answer(name):
        ours = _replaced(*pairs)(name)
        if ours == name:
            raise ValueError(name)
        return ours

    return answer


map_llama_name.mistake(
    "replaced-without-looking",
    "A name that has changed is not yet a name that you know. Which part of this one was replaced, and which "
    "was never looked at?",
)(*(_replaced_or_refused(blocks, EMBEDDING, *NORMS, *LAYERS) for blocks in BLOCKS))


def _matched(match, pattern):
    """Return an answer that knows the names in blocks by a pattern."""
    inside = dict((*NORMS[:2], *LAYERS))
    pattern = pattern.replace("PART", f"({'|'.join(inside)})")
    outside = {"token_embd.weight": "embed.weight", "output_norm.weight": "norm.weight"}

    def answer(name):
        if name in outside:
            return outside[name]
        found = match(pattern, name)
        if found is None:
            raise ValueError(name)
        return f"blocks.{found[1]}.{inside[found[2]]}.weight"

    return answer


map_llama_name.mistake(
    "line-break-after-it",
    "What becomes of a line break at the end of a name in yours? (In a pattern, `$` also fits before one.)",
)(_matched(re.match, r"blk\.(\d+)\.PART\.weight$"))
map_llama_name.mistake(
    "point-is-any-sign",
    "In a pattern, a point stands for any sign. How do you write one that is a point?",
)(
    _matched(re.fullmatch, r"blk.(\d+).PART.weight"),
    _matched(re.match, r"blk.(\d+).PART.weight$"),
    _matched(re.match, r"blk.(\d+).PART.weight"),
)
map_llama_name.mistake(
    "not-all-words-read",
    "`match` looks at the beginning of a name only. What may come after it in yours?",
)(_matched(re.match, r"blk\.(\d+)\.PART\.weight"))
map_llama_name.mistake(
    "not-all-words-read",
    "`search` finds a pattern anywhere in a name. What may come before and after it in yours?",
)(
    _matched(re.search, r"blk\.(\d+)\.PART\.weight"),
    _matched(re.search, r"blk\.(\d+)\.PART\.weight$"),
)
map_llama_name.mistake(
    "not-all-words-read",
    "The number of a block is digits. What else fits in its place in your pattern?",
)(
    *(
        _matched(re.fullmatch, rf"blk\.({number})\.PART\.weight")
        for number in (r"\d*", r"\w+", "[^.]+", ".+")
    )
)

map_llama_name.drills(
    "blocks-named-otherwise 1, names-of-another-library 3, head-added, not-all-words-read 11, unknown-passed-on 3"
)
