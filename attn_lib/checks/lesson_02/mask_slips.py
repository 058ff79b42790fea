"""The mistakes that the masks of this lesson share."""

from attn_lib.checks.task import Task

EMPTY = (
    "Take 5 queries and 3 keys. Query 0 stands before the first key: which keys may it see? A row "
    "with nothing to see is the softmax's concern, not the mask's."
)
TRUTH = (
    "`not`, `and`, `or` and `a < b < c` ask whether a whole tensor is true. What turns, or joins, "
    "conditions entry by entry? It binds tighter than `<`: where do you need parentheses?"
)


def add_mistakes_of_entries(task: Task) -> None:
    """Add the mistakes about what an entry is: the same for every mask."""
    task.wrong(
        "not-boolean",
        "Print the dtype of your result. Which one do `~mask` and `masked_fill` need?",
        {"return": "_.float()"},
        {"return": "_.long()"},
        {"return": "_.int()"},
    )
    task.wrong(
        "additive",
        "You return numbers to be added to the scores. What is asked for: numbers, or True and False?",
        {"return": "torch.where(_, 0.0, -torch.inf)"},
        {"return": "torch.where(_, 0.0, -1e9)"},
    )
    task.wrong(
        "list-returned",
        "The rows may be right, but it is a list. Which function makes a tensor of it?",
        {"return": "_.tolist()"},
    )


def add_mistakes_of_places(task: Task) -> None:
    """Add the mistakes about rows, columns and where a query stands: the same with a window."""
    task.wrong(
        "offset-backwards",
        "With 2 queries and 5 keys, by how many columns must the triangle move, and to which side?",
        dict(offset="q_len - kv_len"),
    )
    task.wrong(
        "offset-clipped",
        "Take 5 queries and 3 keys. The last query sees the last key. How many keys lie before query "
        "0?",
        dict(offset="max(_, 0)"),
    )
    task.wrong(
        "distance-instead-of-offset",
        "Take 5 queries and 3 keys: is S - L positive or negative there? What does your code use?",
        dict(offset="abs(_)"),
    )
    task.wrong(
        "queries-not-a-column",
        "You compare (L,) with (S,), entry by entry. Every query must meet every key: which of the "
        "two index ranges has to stand upright, as a column?",
        dict(i="[:, None] => "),
    )
    task.wrong(
        "always-square",
        "Where do you use `kv_len`? How many columns do 2 queries and 5 keys need?",
        dict(j="kv_len => q_len", offset="0"),
    )
    task.wrong(
        "always-square",
        "Where do you use `q_len`? How many rows do 2 queries and 5 keys need?",
        dict(i="q_len => kv_len", offset="0"),
    )
    task.wrong(
        "shape-transposed",
        "Each query has a row, each key a column. Which size stands first in your shape?",
        dict(output="_.T"),
        dict(i="q_len => kv_len", j="kv_len => q_len", offset="q_len - kv_len"),
    )
    task.wrong(
        "extra-axes",
        "The mask has one axis for queries and one for keys. Who adds B and H, if they are needed?",
        dict(output="_[None, None]"),
        dict(output="_[None]"),
    )
