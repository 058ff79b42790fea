"""Put what happened into words for a learner, and into a `Verdict`."""

import inspect
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from attn_lib.checks.case import Case, call
from attn_lib.checks.compare import Difference, compare
from attn_lib.checks.experiments import EMPTY, LARGER, ONE_PIECE, SMALLER, WIDE
from attn_lib.checks.module_runs import MODULE_RUNS
from attn_lib.checks.observe import Outcome, named_tensors
from attn_lib.checks.recognize import Recognized
from attn_lib.checks.say import describe, shown
from attn_lib.checks.task import Task
from attn_lib.checks.verdict import Verdict, made_by_hand

NO_GRADIENT = (
    "no-gradient",
    "Which line cuts the result, or a part of it, off from its input? Look for `.detach()`, `.item()`, "
    "`.tolist()`, `.data`, `.numpy()`, `torch.tensor(...)`, `requires_grad`, `nn.Parameter(...)`, "
    "`torch.no_grad()`, a `clamp`, and a `backward` of your own.",
)

KEEPS = (
    "keeps-something",
    "Asked for this input alone, your answer is right; after the inputs before it, it is not. What does it keep from "
    "one call to the next?",
)

CALLED_AGAIN = (
    "keeps-something",
    "Called once, your answer is right. Called again, with the same tensors that hold other numbers by now, it is not, "
    "or what it returned before has changed. What does it keep from one call to the next?",
)

# What an answer lacks that is right under another condition, by that condition.
LACKS = {
    ONE_PIECE: (
        "memory-order",
        "With the same numbers in memory one behind the other, in the order of their indices, yours is right. Which line "
        "reads them as if they stood so?",
    ),
    EMPTY: (
        "empty-not-filled",
        "What stands in a tensor of `torch.empty`, or another one of its kind, before you write? With zeros there, yours is right: "
        "is every place written before it is read or returned?",
    ),
    LARGER: (
        "bound-too-small",
        "With a larger number in the place of one that stands in your code, yours is right here. Which of your numbers is a "
        "bound, or the size of a block, and what of this input goes past it? What happens to that?",
    ),
    SMALLER: (
        "tiny-number-too-large",
        "With a smaller number in the place of a tiny one that stands in your code, yours is right here. Next to which "
        "numbers of this input is it not tiny?",
    ),
    WIDE: (
        "dtype-too-narrow",
        "If each number had more digits, and room for larger ones, yours would be right here. Which of your steps is in a dtype "
        "that rounds them, or ends before them? Or does one do something else for this dtype?",
    ),
}

OTHER_ERROR = (
    "another-error",
    "The task asks for a ValueError. Which line raises this one, and where should you look before it?",
)
NOT_REFUSED = (
    "not-refused",
    "What sets this input apart from those that your answer should take? Which line of yours looks at that?",
)
DRAWS = (
    "random-numbers",
    "Your answer draws random numbers: called twice with the same input, it gives two results. Which line draws "
    "them, and what should stand there?",
)

TAKEN_OUT = (
    "changes-input",
    "What came in is not yours. Which line takes something out of it, or puts something in?",
)

# What is asked about a `Wrong` of some kinds, whose message is told before.
OF_KIND = {
    "keeps something": ("keeps-something", "What does it keep from one call to the next?"),
    "another with gradients": (
        "gradients-change-the-result",
        "Which line of yours asks whether gradients are recorded, or lets that decide what it does?",
    ),
    "wrong in training": (
        "wrong-in-training",
        "Which line of yours asks for `self.training`, or which layer does so by itself?",
    ),
    "nothing to train": (
        "weights-not-trained",
        "Which line cuts the weights off: by `.data`, `.detach()`, `.tolist()`, `torch.no_grad()`, `requires_grad`? Or does one ask "
        "whether the input needs a gradient?",
    ),
    "draws": (
        "random-numbers",
        "Which line draws them, and what should it do after training?",
    ),
    "vast cache": (
        "tokens-kept-twice",
        "What of the earlier calls is in the cache already, and what do you add to it in this one?",
    ),
    "no norm": (
        "norms-named-otherwise",
        "Compare this name with those of your module. Which norm has another name, no bias, or no weight? Does `nn.Module` see "
        "what lies in a plain list, or what `forward` makes?",
    ),
    "size of a norm": (
        "norm-of-another-size",
        "Over how many numbers does each norm go? What stands in its parentheses?",
    ),
    "no parameter": (
        "parameters-named-otherwise",
        "Compare this name with those of your module: which layer, or which bias, has another name or none?",
    ),
    "words changed": TAKEN_OUT,
    "merges changed": TAKEN_OUT,
    "neighbor": (
        "another-file-written",
        "Which file beside the one that was asked for does yours write, move or remove? Whose may it be?",
    ),
    "not refused": NOT_REFUSED,
    "rows tied": (
        "rows-tied",
        "Two rows of one batch: does yours draw for each of them, or does the first one tell what the second is?",
    ),
    "one token": (
        "one-token-for-all",
        "Does one draw serve for all rows? Or is it no draw at all here, or one in which a single token can come?",
    ),
    "few batches": (
        "few-batches",
        "How many different batches can yours give? Does a small number stand between the generator and the rows?",
    ),
    "other state": (
        "more-names-kept",
        "Each parameter should be there once, under its own name. What does each line of your class keep in `self`, and which names "
        "does that give it?",
    ),
    "other shape": (
        "shape-changed-on-the-way",
        "Which line hands this tensor on, and can that change its shape? How many axes has a single number?",
    ),
    "another shape": (
        "parameter-of-another-shape",
        "How many numbers go into this layer in the task, and how many come out?",
    ),
}

NAN = (
    "nan-made",
    "There is a nan or an inf where a number should be. In which line does the first one arise? 0 / 0, inf - inf and 0 · inf give nan; "
    "what gives inf?",
)
REFUSED = (
    "refuses-too-much",
    "This input is one that should be taken. Which line of yours refuses it, and for what does it take it?",
)
NAN_GRADIENT = (
    "nan-gradient",
    "The result is finite, its gradient is not. Where does your code make a nan or an inf, and "
    "paint over it or divide by it afterwards? On the way back, 0 times nan is nan: it must never arise. Or which of your "
    "functions has no slope here, as a root has none at 0?",
)


class Failure(NamedTuple):
    """A case that an answer did not pass."""

    case: Case
    outcome: Outcome
    difference: Difference


def is_harder(failure: Failure) -> tuple[bool, int]:
    """Return a key to sort failures by: first those with a plain difference, then the smallest inputs."""
    numbers = sum(t.numel() for t in named_tensors(failure.case.args).values())
    return not failure.difference.is_plain, numbers


def difference(task: Task, case: Case, want: Outcome, got: Outcome) -> Difference | None:
    """Say how an outcome differs from what was wanted, or return None."""
    if want.error is not None:
        return _no_value_error(case, got)
    if got.error is not None and got.error.is_wrong:
        return Difference(got.error.text)
    if got.error is not None:
        text = f"It raised {got.error.explanation}"
        if got.error.kind == "TypeError" and not got.error.frames:
            text += f"\nThe task calls it as `{task.signature}`"
            text += f", and then `{forward}`." if (forward := _forward(task)) else "."
        return Difference(text)
    if len(got.values) == 1 and got.is_sequence and not want.is_sequence:
        more = f": {describe(got.values[0])}."
        if isinstance(got.values[0], Tensor):
            more = ". Is there a comma or a bracket too many, or was it a function that returned it?"
        text = "It should return the value itself, but it returned a tuple or list of one"
        return Difference(text + more)
    if len(got.values) == 1:
        value = got.values[0]
        if value is None or value is Ellipsis:
            return Difference(f"It returned {value}. Does every path end in `return`?")
        if inspect.isgenerator(value):
            return Difference("It returned a generator: is there a `yield` for a `return`?")
        if isinstance(value, nn.Module):
            text = "the task asks for a function, not for a class"
            return Difference(f"It returned {describe(value)}: {text}.")
    names = task.returns
    if len(names) < len(want.values):  # of several calls
        names = tuple(
            f"{names[n % len(names)]} of call {n // len(names) + 1}"
            for n in range(len(want.values))
        )
    return compare(want.values, got.values, names, case.tolerance)


def _no_value_error(case: Case, got: Outcome) -> Difference | None:
    """Say what an answer did instead of raising a ValueError, or return None."""
    if got.error is None:
        text = "It should raise a ValueError here, but it returned"
        if case.run is call:  # else the values are what `run` has made of them
            text += f" {', '.join(map(shown, got.values)) or 'nothing'}"
        return Difference(f"{text}.")
    if got.error.kind == "ValueError":
        return None
    if got.error.is_wrong:
        return Difference(f"It should raise a ValueError here. {got.error.text}")
    text = f"It should raise a ValueError here, but it raised {got.error.explanation}"
    return Difference(text)


def to_refuse(got: Outcome) -> tuple[str, str] | None:
    """Return an id and a question for an answer that should have raised a ValueError."""
    if got.error is None:
        return NOT_REFUSED
    return None if got.error.is_wrong else OTHER_ERROR


def refuses(got: Outcome) -> bool:
    """Say whether an answer raised a ValueError of its own."""
    return (
        got.error is not None and got.error.kind == "ValueError" and not got.error.is_wrong
    )


def _forward(task: Task) -> str:
    """Return the signature of a module's forward: "forward(x, mask=None)"; "" for a function."""
    if not isinstance(task.reference, type) or not issubclass(task.reference, nn.Module):
        return ""
    parameters = list(inspect.signature(task.reference.forward).parameters.values())[1:]
    return f"forward({', '.join(map(str, parameters))})"


def failed(task: Task, failure: Failure, mistake: tuple[str, str] | None) -> Verdict:
    """Make the verdict on an answer that failed; `mistake` is an id and its question."""
    case, outcome, found = failure
    is_error = outcome.error is not None and not outcome.error.is_wrong
    made, told = _served_by_hand(case)
    return Verdict(
        task.name,
        "error" if is_error else "wrong",
        mistake=mistake[0] if mistake else None,
        where=_describe_input(task, case),
        evidence=found.text,
        question=mistake[1] if mistake else "",
        printed=outcome.printed,
        setup=_setup(task, case) or made,
        inputs={
            argument_name(task, path): t.clone()
            for path, t in named_tensors(case.args).items()
        }
        | told,
        expected=found.expected,
        actual=found.actual,
        max_points=task.points,
    )


def _setup(task: Task, case: Case) -> str:
    """Return the lines of code that make the module that a case needs; "" if it needs none."""
    if case.run in MODULE_RUNS:
        init, parameters, *_ = case.args
        made = made_by_hand("module", f"{task.name}{init}", parameters)
        if any(name.endswith("bias") for name in parameters):
            return made
        return f"{made}\n# A bias, which the task does not ask for, has random numbers in the check."
    for name, value in zip(
        inspect.signature(task.reference).parameters, case.args, strict=False
    ):
        if hasattr(value, "by_hand"):
            return made_by_hand(name, *value.by_hand())
    return ""


def _served_by_hand(case: Case) -> tuple[str, dict[str, Tensor]]:
    """Return the lines that make a function like the one that a case serves, and their tensors, if it says so."""
    return case.serves.by_hand() if hasattr(case.serves, "by_hand") else ("", {})


def recognized(task: Task, failure: Failure, found: Recognized) -> Verdict:
    """Make the verdict on an answer of which a mistake was recognized, or two."""
    question = found.mistake.question
    if not found.is_sure:
        question = f"On this input, yours looks like a common mistake. {question}"
    elif found.second is not None:
        question += " (A second thing may wait behind this one.)"
    elif not found.is_all:
        question += " (Something else may wait behind this one.)"
    verdict = failed(task, failure, (found.mistake.id, question))
    return replace(verdict, second=found.second and found.second.id)


def changes_input(task: Task, path: str) -> tuple[str, str]:
    """Return the mistake of writing into an argument: its id and question."""
    of_lists = ", or `.append`, `.pop` and `.reverse` of a list" if "." in path else ""
    return "changes-input", (
        f"The argument `{argument_name(task, path)}` is not the same after the call. Which line "
        f"writes into it? Look for `+=`, `-=`, `*=`, `/=`, `|=`, names that end in `_`, and `x[...] = `{of_lists}."
    )


def another_shape(want: Outcome, got: Outcome) -> tuple[str, str] | None:
    """Return the mistake of a result of another shape, which no known mistake makes: its id and question."""
    both = zip(want.values, got.values, strict=False)
    tensors = ((x, y) for x, y in both if isinstance(x, Tensor) and isinstance(y, Tensor))
    for right, mine in tensors:
        if mine.shape == right.shape:
            continue
        if mine.ndim > right.ndim:
            return "axis-too-many", (
                "Print the shape after each line. Your result has an axis too many: which line should have "
                "taken it away, or has put it in?"
            )
        if mine.ndim < right.ndim:
            return "axis-too-few", (
                "Print the shape after each line. Your result has an axis too few: which line takes away one "
                "that should stay, or should have put one in?"
            )
        return "axis-of-another-size", (
            "Print the shape after each line. In which one is the first size that you did not expect, and what "
            "does each axis stand for there?"
        )
    return None


def not_attempted(task: Task, evidence: str) -> Verdict:
    """Make the verdict on an answer that is not there yet."""
    return Verdict(task.name, "not attempted", evidence=evidence, max_points=task.points)


def stub(task: Task, outcome: Outcome) -> Verdict:
    """Make the verdict on an answer that is not written, or not to its end."""
    if outcome.error is None:
        text = (
            "It returned None. If you have written something: is there a `return` at its end, and has "
            "what follows it a value?"
        )
        return not_attempted(task, text)
    frames = outcome.error.frames
    if "missing the required" in outcome.error.text:
        text = "There is no method `forward`. Is it spelled so, and inside the class?"
    elif not frames:
        text = "It still returns nothing. If you have written something: is there a `return` at its end?"
    elif len(frames) == 1 or frames[-1].function == task.name:
        text = f"`{frames[-1].function}` still raises NotImplementedError (line {frames[-1].line})."
    else:
        text = f"It calls `{frames[-1].function}`, which still raises NotImplementedError. Write that."
    return not_attempted(task, text)


def interrupted(task: Task, case: Case) -> Verdict:
    """Make the verdict on an answer that the learner stopped."""
    text = "You interrupted it. Is there a loop whose condition never becomes false?"
    where = _describe_input(task, case)
    return Verdict(task.name, "error", where=where, evidence=text, max_points=task.points)


def too_slow(task: Task, done: int, of: int, seconds: float) -> Verdict:
    """Make the verdict on an answer that takes too long on all inputs together."""
    text = f"After {seconds:g} seconds, it was done with {done} of {of} calls. Can it do with smaller tensors, or fewer calls?"
    return Verdict(task.name, "error", evidence=text, max_points=task.points)


def not_callable(task: Task, answer: Any) -> Verdict:
    """Make the verdict on something that is neither a function nor a class."""
    kind = "class" if inspect.isclass(task.reference) else "function"
    text = (
        f'`check` needs the {kind} itself, as in `check("{task.name}", {task.name})`, '
        f"without parentheses, but received {describe(answer)}."
    )
    return Verdict(task.name, "error", evidence=text, max_points=task.points)


def argument_name(task: Task, path: str) -> str:
    """Turn "0" into "q": the parameter's name in the task's signature."""
    head, _, rest = path.partition(".")
    if not head.isdigit():
        return path
    if isinstance(task.reference, type) and issubclass(task.reference, nn.Module):
        # A module's case holds the arguments of init, the parameters, and forward's inputs, at last
        # those that are given by name.
        names = list(inspect.signature(task.reference.forward).parameters)[1:]
        return rest or names[int(head) - 2]
    names = list(inspect.signature(task.reference).parameters)
    if int(head) >= len(names):  # what only the case's own `run` uses
        return rest or f"input {head}"
    return names[int(head)] + (f"[{rest}]" if rest else "")


def _describe_input(task: Task, case: Case) -> str:
    tensors = {argument_name(task, path): t for path, t in named_tensors(case.args).items()}
    if case.run in MODULE_RUNS:
        init, parameters, *_ = case.args
        first = [f"{task.name}{init}"]
        tensors = {name: t for name, t in tensors.items() if name not in parameters}
    else:
        names = inspect.signature(task.reference).parameters
        first = [
            f"{name} = {value!r}"
            for name, value in zip(names, case.args, strict=False)
            if isinstance(value, int | float | str | torch.dtype)
        ]
    parts = first + [f"{name} {tuple(t.shape)}" for name, t in tensors.items()]
    about = f"{case.about[0].upper()}{case.about[1:]}"
    return f"{about}: {', '.join(parts)}." if parts else f"{about}."
