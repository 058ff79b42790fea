"""The model of `generate` is elsewhere: it answers as a model with caches does, and refuses what costs too much."""

import contextlib

import pytest
import torch

from attn_lib.checks import judge
from attn_lib.checks.case import Case, Wrong
from attn_lib.checks.observe import observe
from attn_lib.checks.served import calls
from attn_lib.generation import generate
from attn_lib.tasks.lesson_14.elsewhere import Elsewhere
from attn_lib.tasks.lesson_14.runs import Layers, Model, generated

PROMPT = torch.tensor([[3, 1, 4], [1, 5, 2]])


def elsewhere(max_new_tokens=4, **options):
    return Elsewhere(tuple(PROMPT.shape), max_new_tokens, 2, 6, seed=0, **options)


@pytest.fixture
def model():
    # What was refused, is so once more at the end.
    with contextlib.suppress(Wrong), calls(elsewhere(), is_ours=False) as (call,):
        yield Model(2, call)


def test_the_script_is_what_it_writes():
    said = {(3, 1, 4): 1, (3, 1, 4, 1): 5, (1, 5, 2): 0, (1, 5, 2, 0): 0}
    case = Case("", (Layers(2), PROMPT, 2), generated, serves=elsewhere(2, script=said))
    (got,) = observe(generate, case).values
    assert got[:, 3:].tolist() == [[1, 5], [0, 0]]


def test_logits_depend_on_all_that_was_read_in_the_row_and_on_nothing_else(model):
    caches = model.new_caches(2, 10)
    prompt = model(PROMPT, caches=caches)
    assert prompt.shape == (2, 3, 6)
    then = model(torch.tensor([[0], [0]]), caches=caches)
    assert not torch.equal(then[0], then[1])
    model.start()
    other = model.new_caches(2, 10)
    assert torch.equal(model(PROMPT.flip(0), caches=other).flip(0), prompt)
    assert not torch.equal(model(torch.tensor([[1], [0]]), caches=other)[0], then[1])
    assert [cache.length for cache in caches] == [4, 4]


def test_the_likeliest_is_ahead_and_not_the_same_everywhere(model):
    best = model(PROMPT, caches=model.new_caches(2, 10)).topk(2)
    assert (best.values[..., 0] - best.values[..., 1] > 0.3).all()
    assert len(best.indices[..., 0].unique()) > 1


def ones(*shape):
    return torch.ones(shape, dtype=torch.int64)


REFUSED = {
    "no caches": lambda model, caches: model(PROMPT),
    "other rows": lambda model, caches: (model.start(), model.new_caches(1, 10)),
    "made twice": lambda model, caches: model.new_caches(2, 10),
    "old caches": lambda model, caches: (model.start(), model(PROMPT, caches=caches)),
    "not the prompt": lambda model, caches: model(PROMPT[:, :1], caches=caches),
    "not one token": lambda model, caches: [model(PROMPT, caches=caches) for _ in "12"],
    "too many calls": lambda model, caches: [
        model(PROMPT if i == 0 else ones(2, 1), caches=caches) for i in range(6)
    ],
    "caches full": lambda model, caches: (
        model.start(),
        model(PROMPT, caches=model.new_caches(2, 2)),
    ),
}
for name, caches in {
    "all but one": lambda caches: caches[:1],
    "in another order": lambda caches: caches[::-1],
    "one": lambda caches: caches[0],
    "none": lambda caches: [],
    "a text": lambda caches: "caches",
}.items():
    REFUSED[f"not the caches: {name}"] = lambda model, caches, of=caches: model(
        PROMPT, caches=of(caches)
    )
for name, ids in {
    "floats": PROMPT.float(),
    "one axis": PROMPT[0],
    "none": PROMPT[:, :0],
    "too large": PROMPT + 2,
    "negative": -PROMPT,
    "a list": PROMPT.tolist(),
}.items():
    REFUSED[f"not ids: {name}"] = lambda model, caches, ids=ids: model(ids, caches=caches)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_allowed_is_refused_with_a_reason(model, name):
    caches = model.new_caches(2, 20)
    with pytest.raises(Wrong, match=r"\w") as refused:
        REFUSED[name](model, caches)
    assert refused.value.kind == name.partition(":")[0]


def test_as_many_calls_as_tokens_and_one_more_are_allowed(model):
    caches = model.new_caches(2, 3 + 4)
    for i in range(5):
        model(PROMPT if i == 0 else ones(2, 1), caches=caches)
    assert caches[0].length == 7


def test_every_run_has_a_model_that_remembers_no_other():
    serves = elsewhere(3)
    case = Case("", (Layers(2), PROMPT, 3), generated, serves=serves)
    first, second = (observe(generate, case) for _ in "12")
    assert first.error is second.error is None
    assert torch.equal(first.values[0], second.values[0])
    assert serves.texts == []


@pytest.mark.slow
def test_the_text_anew_for_every_token_is_refused_past_the_model_too():
    """Whoever takes the call itself makes new caches as often as they like: a prompt is read, and no more."""
    seen = []

    def dear(model, ids, max_new_tokens):
        written = ids
        for _ in range(max_new_tokens):
            number = int(model._call(torch.tensor([len(ids), 10_000])))
            places = torch.tensor([[number, layer] for layer in range(model.num_layers)])
            try:
                logits = model._call(written, places)
            except Wrong as error:
                seen.append(error.kind)
                raise
            written = torch.cat([written, logits[:, -1:].argmax(-1)], dim=1)
        return written

    assert judge("generate", dear).points == 0
    assert set(seen) == {"not the prompt"}
