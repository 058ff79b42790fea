"""The mistakes that the function and the module of grouped-query attention share."""

from attn_lib.checks.task import Task


def add_shared_mistakes(task: Task) -> None:
    """Add the mistakes of both tasks: of groups, masks, and what is mixed and returned.

    Every fill is one mistake here, "empty-row-uniform": the tasks are without the shared "fill-1e9".
    """
    _add_mistakes_of_groups(task)
    _add_mistakes_of_masks(task)
    _add_mistakes_of_attention(task)


def _add_mistakes_of_groups(task: Task) -> None:
    """Add the mistakes about which query head reads which K/V head."""
    task.wrong(
        "heads-tiled",
        "Which K/V head do query heads 0 and 1 read in your code? Neighbors share one: 0 0 1 1, "
        "not 0 1 0 1.",
        dict(which="torch.arange(H) % Hkv"),
    )
    task.wrong(
        "keys-and-values-of-different-heads",
        "Do the key and the value of query head 1 come from the same K/V head? Compare how you copy "
        "k and how you copy v.",
        dict(k="which => torch.arange(H) % Hkv"),
        dict(v="which => torch.arange(H) % Hkv"),
    )
    task.wrong(
        "divided-by-num-kv-heads",
        "How many query heads share one K/V head: Hkv, or H / Hkv? By which of the two do you divide?",
        dict(which="torch.arange(H) // Hkv"),
    )
    task.wrong(
        "all-read-head-0",
        "Change the last K/V head. Which query heads notice?",
        dict(which="_ * 0"),
    )


def _add_mistakes_of_masks(task: Task) -> None:
    """Add the mistakes about a mask that may be None, and may differ from head to head."""
    task.wrong(
        "mask-inverted",
        "What does True promise here: 'may look' or 'hidden'? And which cells does `masked_fill` "
        "fill?",
        dict(allowed="_ if mask is None else ~mask"),
        dict(
            hidden="scores if mask is None else scores.masked_fill(mask, -torch.inf)",
            kept="weights",
        ),
    )
    task.wrong(
        "mask-none-forgotten",
        "The mask may be missing: then it is None. What does your code make of None?",
        dict(allowed="mask"),
        dict(allowed="mask & everything"),
    )
    task.wrong(
        "mask-as-condition",
        "Is a mask of many cells true or false? How do you ask whether there is one at all?",
        dict(allowed="mask if mask else everything"),
    )
    task.wrong(
        "mask-as-a-number",
        "Which score has a hidden key after your mask, and what does softmax make of it?",
        dict(hidden="scores * allowed", kept="weights"),
        dict(hidden="scores + allowed", kept="weights"),
    )
    task.wrong(
        "mask-after-the-softmax",
        "What do the weights of one query add up to after you have hidden some?",
        dict(hidden="scores"),
    )
    task.wrong(
        "mask-of-one-head",
        "Can the mask be different for each query head? Which of its heads do you use?",
        dict(allowed="_[..., :1, :, :] if _.ndim > 2 else _"),
    )
    task.wrong(
        "mask-axis-added",
        "The mask can already be broadcast to (B, H, L, S). Which axis does your code add to it?",
        dict(allowed="_ if mask is None else mask.unsqueeze(1)"),
        dict(
            allowed="_ if mask is None else mask.unsqueeze(1)",
            heads="torch.einsum('bhls,bhsd->bhld', kept, v)",
        ),
    )
    task.wrong(
        "empty-row-uniform",
        "What does softmax make of a row of equal numbers? What should a query get that may see "
        "nothing?",
        dict(hidden="-torch.inf => torch.finfo(q.dtype).min", kept="weights"),
        dict(hidden="-torch.inf => -1000000000.0", kept="weights"),
        dict(hidden="-torch.inf => -10000.0", kept="weights"),
    )
    task.wrong(
        "causal",
        "Without a mask everything is allowed. Who hides keys in your code?",
        dict(allowed="_ & attn_lib.causal_mask(q.shape[2], k.shape[2])"),
    )


def _add_mistakes_of_attention(task: Task) -> None:
    """Add the mistakes about what is compared, mixed and returned."""
    task.wrong(
        "keys-and-values-swapped",
        "What is compared with the query, and what is mixed?",
        dict(products="q @ v.mT", heads="kept @ k"),
    )
    task.wrong(
        "hard-argmax",
        "How much weight does your query give to its second-best key? What is left of softmax?",
        dict(weights="F.one_hot(hidden.argmax(-1), hidden.shape[-1]).to(hidden.dtype)"),
    )
    task.wrong(
        "weights-returned-too",
        "This task asks for one thing: which one?",
        {"return": "(_, kept)"},
    )
    task.wrong(
        "dropout-left-in",
        "Call it twice with the same input. Is the answer the same?",
        dict(kept="F.dropout(_, 0.1)"),
        {"return": "F.dropout(_, 0.1)"},
    )
