"""A verdict: text in a terminal, HTML in a notebook, both from the same parts."""

import contextlib
import html
import os
import re
import sys
from dataclasses import dataclass, field, replace
from typing import Any

from torch import Tensor

from attn_lib.checks.difference_picture import difference_picture
from attn_lib.checks.language import colon, translated
from attn_lib.checks.places import link_to

# A sign and a color for each status; the color only marks the edge, so that the text keeps the
# contrast of the theme, light, dark or printed.
LOOK = {
    "passed": ("✓", "Passed", "#2e7d32"),
    "wrong": ("✗", "Not yet", "#c62828"),
    "error": ("!", "Error", "#b26a00"),
    "not attempted": ("○", "Not attempted", "#757575"),
}


# A verdict that opens below the window's edge comes into view: while its cell runs, not when a notebook is opened.
IN_VIEW = """<script>{
const here = document.currentScript;
const cell = here.closest(".jp-Cell");
const isRunning = cell?.querySelector(".jp-InputPrompt")?.textContent.includes("*");
const isChosen = [cell, cell?.nextElementSibling].some((one) => one?.classList.contains("jp-mod-active"));
if (isRunning && isChosen) setTimeout(() => here.closest(".jp-OutputArea").scrollIntoView({ block: "nearest" }), 100);
}</script>"""


@dataclass(frozen=True)
class Verdict:
    """The judgment of one answer.

    Attributes:
        task: the task's name.
        status: "passed", "wrong", "error" or "not attempted".
        mistake: the id of the recognized mistake, or None.
        second: the id of another one, which waits behind it, or None.
        where: the input on which the answer fails.
        evidence: how it fails there.
        question: leads to the recognized mistake, or is empty.
        printed: what the answer itself printed, and its warnings.
        inputs: the tensors it failed on, by name, to try by hand.
        setup: lines of code that make what else is needed for that.
        points: the points earned.
        max_points: the points the task is worth.
        note: anything to add about keeping the answer.
        first: the name of an earlier answer that this one uses, and that does not pass itself.
    """

    task: str
    status: str
    mistake: str | None = None
    where: str = ""
    evidence: str = ""
    question: str = ""
    printed: str = ""
    inputs: dict[str, Tensor] = field(default_factory=dict, repr=False)
    expected: Tensor | None = field(default=None, repr=False)
    actual: Tensor | None = field(default=None, repr=False)
    points: float = 0
    max_points: float = 0
    note: str = ""
    second: str | None = None
    setup: str = ""
    first: str = ""
    _shown_in: tuple | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def message(self) -> str:
        """Everything the learner is told, as plain text."""
        if self.status == "passed":
            unit = "point" if self.max_points == 1 else "points"
            worth = f"{self.points:g} of {self.max_points:g} {unit}." * bool(
                self.max_points
            )
            told = "\n".join(p for p in (worth, self.note) if p) or "Right."
            return translated(told)
        parts = [self._mend_first, self.where and f"Input: {self.where}", self.evidence]
        parts += [self.question and f"Think: {self.question}", self.note]
        return translated("\n".join(part for part in parts if part))

    @property
    def _mend_first(self) -> str:
        return self.first and (
            f"Mend `{self.first}` first: your `{self.task}` uses it, and it does not pass its own "
            "check. If you have just mended it, run its cell again."
        )

    @property
    def heading(self) -> str:
        """The first line: "✓ Passed: attention"."""
        sign, word, _ = LOOK[self.status]
        return f"{sign} {translated(word)}{colon()}{self.task}"

    @property
    def by_hand(self) -> str:
        """Lines of code that make a small input; empty if it is large."""
        small = small_inputs(self.inputs, made=self.setup)
        return f"{self.setup}\n{small}".strip() if small else ""

    def __str__(self) -> str:
        text = f"{self.heading}\n" + "".join(
            f"  {line}\n" for line in self.message.splitlines()
        )
        small = self.by_hand if self.status in ("wrong", "error") else ""
        if small:
            text += f"  {translated('To try it by hand')}{colon().rstrip()}\n" + "".join(
                f"    {x}\n" for x in small.splitlines()
            )
        if self.printed:
            text += f"  {translated('Your code printed')}{colon().rstrip()}\n"
            text += "".join(f"    {line}\n" for line in self.printed.splitlines()[:20])
        return text.rstrip()

    def _repr_html_(self) -> str:
        color = LOOK[self.status][2]
        body = [f"<strong>{html.escape(self.heading)}</strong>"]
        if self.status == "passed":
            body[0] += f" &nbsp;{inline(self.message.partition(chr(10))[0])}"
            body += (
                [with_links(_paragraph(self.note), r"(?<=<code>)(\w+)(?=</code>)")]
                if self.note and self.max_points
                else []
            )
        else:
            if self.first:
                body.append(_paragraph(self._mend_first, weight="bold"))
            if self.where:
                body.append(_paragraph(f"Input: {self.where}"))
            first, *rest = translated(self.evidence).split("\n")
            body.append(_paragraph(first))
            body += [_code("\n".join(rest))] if rest else []
            body.append(difference_picture(self.expected, self.actual))
            if self.question:
                body.append(_paragraph(self.question, weight="bold"))
            body += [_paragraph(self.note)] if self.note else []
            body.append(_fold("To try it by hand", self.by_hand))
        body.append(_fold("Your code printed", "\n".join(self.printed.splitlines()[:40])))
        return framed("".join(body), color, self.status, self.mistake)

    def show(self) -> None:
        """Show the verdict, once in a cell: `check` shows it, and it is the cell's value too."""
        shell = _shell()
        cell = (id(shell), shell.execution_count) if shell else None
        if cell is None or cell != self._shown_in:
            object.__setattr__(self, "_shown_in", cell)
            show(str(self), self._repr_html_())

    _ipython_display_ = show

    def with_note(self, note: str) -> "Verdict":
        """Return the same verdict with something to add about keeping the answer."""
        return replace(self, note=note)


def framed(body: str, color: str, status: str, mistake: str | None = None) -> str:
    """Return HTML in the frame of a verdict, with what programs look for."""
    named = f' data-mistake="{mistake}"' if mistake else ""
    return (
        f'<div class="attn-verdict" data-status="{status}"{named} '
        f'style="border:1px solid {color};border-left:6px solid {color};border-radius:4px;'
        "padding:0.5em 0.9em;margin:0.4em 0;color:var(--jp-ui-font-color1, inherit);"
        "word-break:normal;overflow-wrap:break-word;"  # never inside a name, if it has room
        f'max-width:48em;overflow-x:auto">{body}</div>'
    )


def show(text: str, markup: str, *, stays: bool = False) -> Any:
    """Show HTML where a notebook is listening, and text elsewhere.

    Returns:
        What stays in a notebook and can be shown anew, by its `update`; else None.
    """
    if _shell() is None:
        print(text)
        return None
    from IPython.display import display

    if in_jupyter():
        markup += IN_VIEW
    bundle = {"text/plain": text, "text/html": markup}
    return display(bundle, raw=True, **{"display_id": True} if stays else {})


def in_jupyter() -> bool:
    """Say whether JupyterLab or Notebook runs this: what is stored elsewhere has nothing that is only for them."""
    return "JPY_SESSION_NAME" in os.environ


def _shell() -> Any:
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython else None


def small_inputs(inputs: dict[str, Tensor], *, made: str = "") -> str:
    """Write small inputs as lines of code that make them; an empty string if they are large.

    Args:
        inputs: tensors by name.
        made: lines that come before, and set a module's parameters.
    """
    few = 100 if made else 30  # most of them the weights of a module, row by row
    if sum(t.numel() for t in inputs.values()) > few:
        return ""
    parameters = re.findall(r"\.([\w.]+)\.data = ", made)
    shown = (name for name in inputs if "." not in name and name not in parameters)
    return "\n".join(_made(name, inputs[name]) for name in shown)


def made_by_hand(name: str, call: str, parameters: dict[str, Tensor]) -> str:
    """Write the lines of code that make a module with some parameters."""

    def place(path: str) -> str:  # ff.0.weight is ff[0].weight in code
        return re.sub(r"\.(\d+)(?=\.)", r"[\1]", f"{name}.{path}.data")

    lines = [_made(place(path), tensor) for path, tensor in parameters.items()]
    return "\n".join([f"{name} = {call}", *lines])


def _made(target: str, tensor: Tensor) -> str:
    dtype = f", dtype={tensor.dtype}" if str(tensor.dtype) not in _DEFAULTS else ""
    order = sorted(range(tensor.ndim), key=tensor.stride, reverse=True)  # as in memory
    moved, in_memory = "", tensor.permute(order)
    if in_memory.is_contiguous() and not tensor.is_contiguous():
        moved = f".permute({', '.join(str(order.index(i)) for i in range(tensor.ndim))})"
        tensor = in_memory
    line = f"{target} = torch.tensor({_rounded(tensor.tolist())}{dtype}){moved}"
    return line.replace("inf", "torch.inf")


_DEFAULTS = ("torch.float32", "torch.int64", "torch.bool")


def _rounded(values: list | float) -> list | float:
    if isinstance(values, list):
        return [_rounded(v) for v in values]
    return float(f"{values:.5g}") if isinstance(values, float) else values


def inline(text: str) -> str:
    """Escape text for HTML, with `code` in backquotes."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))


def with_links(markup: str, names: str) -> str:
    """Make links of the names of tasks, by a pattern, where a notebook runs that can follow them."""
    link = lambda m: f'<a href="{to}">{m[0]}</a>' if (to := link_to(m[0])) else m[0]  # noqa: E731
    if in_jupyter():
        # Odd files beside the notebook lose no verdict.
        with contextlib.suppress(Exception):
            return re.sub(names, link, markup)
    return markup


def _paragraph(text: str, weight: str = "normal") -> str:
    return f'<p style="margin:0.4em 0;font-weight:{weight}">{inline(translated(text))}</p>'


def _code(text: str) -> str:
    return (
        '<pre style="margin:0.3em 0;white-space:pre-wrap;word-break:inherit;overflow-wrap:inherit;'
        'background:transparent;color:inherit">'
        f"{html.escape(text)}</pre>"
    )


def _fold(title: str, text: str) -> str:
    summary = f"<summary>{translated(title)}</summary>"
    return f"<details>{summary}{_code(text)}</details>" if text else ""
