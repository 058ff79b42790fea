"""Lines over steps, lengths, layers or time.

Everywhere here `xlabel` and `ylabel` name an axis with its unit, `title` stands above, and a
ValueError says what was expected and what was given.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain

from attn_lib.plotting.figure import (
    Figure,
    Line,
    Look,
    Mark,
    Panel,
    Rule,
    Runs,
    Scale,
    Shade,
    Text,
    expect,
    expect_few,
    expect_lengths,
)
from attn_lib.plotting.picture import Picture
from attn_lib.plotting.style import COLORS, GRAY, styled

Curves = Mapping[str, Sequence[Sequence[float]]]  # for each setting, its runs


def ends(y: Sequence[float], digits: str) -> str:
    """Name the first and the last value of a line."""
    return f"from {y[0]:{digits}} to {y[-1]:{digits}}"


def powers_of_two(x: Sequence[float], label: str, every: int = 1, **ends) -> Scale:
    """Return a scale spaced by powers of 2, with ticks at the given places."""
    places = x[::every]
    return Scale(label, log=2, ticks=places, names=[f"{n:g}" for n in places], **ends)


def every_run(curves: Curves) -> list[Sequence[float]]:
    return list(chain.from_iterable(curves.values()))


def runs_of(
    curves: Curves,
    place: Callable[[Sequence[float]], Sequence[float]],
    look: Callable[[int], dict],
    digits: str = "",
) -> list[Runs]:
    """Return a mark for each setting.

    Args:
        curves: the settings.
        place: gives the x of a run.
        look: gives the look of the n-th setting.
        digits: of the ends of a run in the description; without, it says where a run ends.
    """

    def runs(n: int, name: str, several: Sequence[Sequence[float]]) -> Runs:
        said = ", ".join(ends(y, digits) if digits else f"{y[-1]:.2f}" for y in several)
        said = f"{name}, {len(several)} runs, {'' if digits else 'ends at '}{said}"
        return Runs(name, [Line(place(y), y, look=look(n)) for y in several], says=said)

    return [runs(n, *setting) for n, setting in enumerate(curves.items())]


def lines(
    x: Sequence[float],
    curves: Mapping[str, Sequence[float]],
    *,
    xlabel: str,
    ylabel: str,
    title: str = "",
    x_log: bool = False,
    y_log: bool = False,
) -> Picture:
    """Draw up to four curves over x; the values begin at 0, or are spaced by powers of 10.

    Args:
        x: the common places, spaced by powers of 2 if x_log.
        curves: a label and as many values as x for each curve.
    """
    expect_few(curves, "curves")
    expect_lengths(curves, len(x))
    marks = [
        Line(x, y, name, styled(n, marked=True, ms=4), says=f"{name} {ends(y, '.3g')}")
        for n, (name, y) in enumerate(curves.items())
    ]
    across = powers_of_two(x, xlabel) if x_log else Scale(xlabel)
    up = Scale(ylabel, log=10) if y_log else Scale(ylabel, low=0)
    return Figure(
        [Panel(marks, x=across, y=up, grid="both", legend="best" * (len(curves) > 1))],
        (5.4, 3.2),
        f"Lines of {ylabel} over {xlabel}, {x[0]:g} to {x[-1]:g}: ",
        title=title,
    ).picture()


def line_panels(
    x: Sequence[float],
    panels: Mapping[str, Mapping[str, Sequence[float]]],
    *,
    xlabel: str,
    ylabel: str,
    title: str = "",
) -> Picture:
    """Draw a panel of up to four lines for each thing, all on one scale.

    Args:
        x: the common places, increasing.
        panels: a title, and for each line its label and as many values as x.
    """
    for curves in panels.values():
        expect_few(curves, "lines")
        expect_lengths(curves, len(x))

    def panel(name: str, curves: Mapping[str, Sequence[float]], ylabel: str) -> Panel:
        # Later lines are thinner and dashed: one on top of another leaves both visible.
        looks = [styled(n, dashed=True, lw=3.2 - 0.7 * n) for n in range(len(curves))]
        marks = [
            Line(x, y, label, look, says=f"{label} {ends(y, '.2f')}")
            for look, (label, y) in zip(looks, curves.items(), strict=True)
        ]
        return Panel(marks, name, y=Scale(ylabel), grid="both", title_look={"fontsize": 10})

    several = max(map(len, panels.values())) > 1
    return Figure(
        [panel(name, c, "" if i else ylabel) for i, (name, c) in enumerate(panels.items())],
        (0.9 + 2.6 * len(panels), 2.7),
        f"Lines of {ylabel} over {xlabel}, {x[0]:g} to {x[-1]:g}. ",
        title=title,
        xlabel=xlabel,
        shared="y",
        legend="outside upper center" * several,
    ).picture()


def runs(
    curves: Curves,
    *,
    ylabel: str,
    xlabel: str = "step",
    every: int = 1,
    lowest: float = 0.0,
    title: str = "",
) -> Picture:
    """Draw one curve for each run: does a difference survive another seed?

    Args:
        curves: for each setting, its runs; each run has a value for each step.
        every: draw the mean of so many steps as one point, so that noise does not hide the curve.
        lowest: where the vertical axis begins.
    """
    expect_few(curves, "settings")
    shortest = min(map(len, every_run(curves)))
    expect(1 <= every <= shortest, f"every from 1 to {shortest} steps", every)

    def means(run: Sequence[float]) -> list[float]:
        starts = range(0, len(run) - every + 1, every)
        return [sum(run[i : i + every]) / every for i in starts]

    marks = runs_of(
        {name: [means(run) for run in several] for name, several in curves.items()},
        lambda run: [every * (i + 0.5) for i in range(len(run))],
        lambda n: styled(n, dashed=True, lw=1.5),
    )
    up = Scale(ylabel, low=lowest)
    return Figure(
        [Panel(marks, x=Scale(xlabel), y=up, grid="both", legend="best")],
        (5.0, 2.7),
        f"Lines of {ylabel} over {xlabel}: ",
        title=title,
    ).picture()


def stacked_runs(panels: Mapping[str, Curves], *, steps: int, title: str = "") -> Picture:
    """Draw several measures of the same runs, one panel below the other.

    Args:
        panels: for each measure, named with its unit, its settings; for each setting, its runs.
            The values of a run stand in the middle of equal parts of the steps.
        steps: the number of steps of all runs.
    """

    def panel(measure: str, curves: Curves, xlabel: str) -> Panel:
        expect_few(curves, "settings")
        marks = runs_of(
            curves,
            lambda run: [steps / len(run) * (i + 0.5) for i in range(len(run))],
            lambda n: styled(n, dashed=True, lw=1.5),
        )
        return Panel(
            marks,
            x=Scale(xlabel),
            y=Scale(measure, low=0),
            grid="both",
            legend="best" * (len(curves) > 1),
            says=f"{measure}: {'; '.join(mark.says for mark in marks)}",
        )

    last = list(panels)[-1]
    return Figure(
        [panel(name, c, "step" if name == last else "") for name, c in panels.items()],
        (5.0, 0.5 + 2.1 * len(panels)),
        f"Lines over {steps} steps. ",
        title=title,
        columns=1,
        shared="x",
        raster=32,
    ).picture()


def repeated(
    x: Sequence[float],
    curves: Curves,
    *,
    xlabel: str,
    ylabel: str,
    x_log: bool = False,
    lowest: float = 0.0,
) -> Picture:
    """Draw a line over x for each run; the runs of one setting look alike.

    Args:
        x: the common places, from left to right: evenly spaced, or by powers of 2 if x_log.
        curves: for each setting, its runs; each run has as many values as x.
        lowest: where the vertical axis begins.
    """
    expect_few(curves, "settings")
    for name, several in curves.items():
        for run in several:
            expect_lengths({name: run}, len(x))
    places = list(x) if x_log else list(range(len(x)))
    marks = runs_of(
        curves,
        lambda run: places,
        # Later lines are thinner: one on top of another leaves both visible.
        lambda n: styled(n, dashed=True, marked=True, ms=5.6 - 0.6 * n, lw=2.6 - 0.6 * n),
        ".2f",
    )
    across = Scale(xlabel, ticks=places, names=[f"{value:g}" for value in x])
    across = powers_of_two(places, xlabel) if x_log else across
    up, legend = Scale(ylabel, low=lowest), "best" * (len(curves) > 1)
    return Figure(
        [Panel(marks, x=across, y=up, grid="both", legend=legend)],
        (5.4, 3.0),
        f"Lines of {ylabel} over {xlabel}, {x[0]:g} to {x[-1]:g}: ",
    ).picture()


def by_layer(
    panels: Mapping[str, Curves], *, ylabel: str, first: int = 1, log: bool = False
) -> Picture:
    """Draw a panel for each moment on one scale; a curve over the layers for each run.

    Args:
        panels: for each moment, its settings; for each setting, its runs; each run has a value for
            each layer. The title of a single panel may be empty.
        first: the number of the first layer; 0 if the first value is that of the input.
        log: space the values by powers of 10, at least two of them, else from 0.
    """
    names = list(dict.fromkeys(chain.from_iterable(panels.values())))
    expect_few(dict.fromkeys(names), "settings")
    every = [run for curves in panels.values() for run in every_run(curves)]
    lengths = {len(run) for run in every}
    expect(len(lengths) == 1, "runs of one length", sorted(lengths))
    layers = range(first, first + lengths.pop())
    up = Scale(low=0)
    if log:
        low, high = min(map(min, every)), max(map(max, every))
        around = max(1.3, (100 * low / high) ** 0.5)
        up = Scale(low=low / around, high=high * around, log=10, marks="powers")

    def panel(title: str, curves: Curves) -> Panel:
        look: Look = {"dashed": True, "marked": True, "ms": 4, "lw": 1.3}
        looks = [styled(names.index(name), **look) for name in curves]
        marks = runs_of(curves, lambda run: layers, looks.__getitem__, ".2g")
        across = Scale("layer, from the input on", ticks=layers, size=9)
        return Panel(marks, title, across, up, grid="both")

    return Figure(
        [panel(title, curves) for title, curves in panels.items()],
        (5.4 if len(panels) == 1 else 1.0 + 3.4 * len(panels), 3.1),
        f"Lines of {ylabel} over layers {layers[0]} to {layers[-1]}. ",
        ylabel=ylabel,
        shared="y",
        legend="outside lower center" * (len(names) > 1),
        raster=32,
    ).picture()


def by_length(
    lengths: Sequence[int],
    curves: Curves,
    *,
    trained: int,
    ylabel: str,
    xlabel: str = "length",
    columns: int = 4,
    top: float | None = None,
    title: str = "",
) -> Picture:
    """Draw a panel for each model, all on one scale; what is longer than in training is shaded.

    Args:
        lengths: increasing; they are spaced by powers of 2.
        curves: for each model its runs, and for each run one value for each length.
        trained: the longest length of the training.
        columns: how many panels stand side by side.
        top: where the scale ends; curves may leave it. As high as the highest value if None.
    """
    for name, several in curves.items():
        for run in several:
            expect_lengths({name: run}, len(lengths))
    values = list(chain.from_iterable(every_run(curves)))
    low, high = min(values), max(values) if top is None else top
    margin = 0.06 * (high - low) or 1.0
    edge = lengths[-1] * 1.4
    longer = lengths[-1] > trained
    columns = min(columns, len(curves))
    at = lengths.index(trained) if trained in lengths else 0

    def panel(name: str, several: Sequence[Sequence[float]]) -> Panel:
        shade = [Shade(trained, edge)] if longer else []
        said = [f"{y[0]:.2f} to {y[at]:.2f} to {y[-1]:.2f}" for y in several]
        return Panel(
            [*shade, *(Line(lengths, run, look=styled(0, lw=1.3)) for run in several)],
            name,
            powers_of_two(lengths, "", every=2, low=lengths[0] / 1.4, high=edge, size=8),
            Scale(low=low - margin, high=high + margin, size=8),
            grid="both",
            title_look={"fontsize": 10},
            says=", ".join(said),
        )

    return Figure(
        [panel(name, several) for name, several in curves.items()],
        (0.7 + 1.75 * columns, 0.9 + 1.55 * -(-len(curves) // columns)),
        f"Lines of {ylabel} over {xlabel} {lengths[0]}, {lengths[at]} and {lengths[-1]}, "
        f"trained at {trained}. ",
        "; ",
        title=title,
        xlabel=xlabel + " (gray: longer than in training)" * longer,
        ylabel=ylabel,
        columns=columns,
        shared="xy",
        raster=128,
    ).picture()


def by_lag(
    lags: Sequence[float],
    runs: Mapping[str, Sequence[float]],
    *,
    xlabel: str,
    ylabel: str,
    even: float | None = None,
    mark: tuple[float, str] | None = None,
    title: str = "",
) -> Picture:
    """Draw a line for each run over the time that lies back.

    Args:
        lags: common to all runs.
        runs: a label and as many values as lags for each run.
        even: the value of every lag if nothing were preferred.
        mark: a lag, and what stands there.
    """
    expect_few(runs, "runs")
    expect_lengths(runs, len(lags))
    marks: list[Mark] = []
    for n, (name, y) in enumerate(runs.items()):
        said = f"{name} is highest at {lags[list(y).index(max(y))]:g}"
        marks.append(Line(lags, y, name, styled(n, dashed=True, lw=1.8), says=said))
    if even is not None:
        look = {"color": GRAY, "lw": 1, "ls": (0, (1, 3))}
        marks.append(Rule(even, name="even", look=look))
    if mark is not None:
        marks.append(Rule(mark[0], "x", look={"color": GRAY, "lw": 1}))
        look = {"ha": "left", "va": "baseline", "fontsize": 9}
        marks.append(Text(mark[0], 0.03, mark[1], (4, 0), ("data", "axes fraction"), look))
    return Figure(
        [Panel(marks, x=Scale(xlabel), y=Scale(ylabel, low=0), grid="both", legend="best")],
        (6.0, 2.7),
        f"Lines of {ylabel} over {xlabel}: ",
        title=title,
        raster=32,
    ).picture()


def forecasts(
    past: tuple[Sequence[float], Sequence[float]],
    future: tuple[Sequence[float], Sequence[float]],
    guesses: Mapping[str, Sequence[float]],
    *,
    xlabel: str,
    ylabel: str,
    title: str = "",
) -> Picture:
    """Draw the past in gray, what really came in black, and forecasts as lines.

    Args:
        past: dates and values that were known.
        future: dates and values that came.
        guesses: for each method, one value for each date of the future.
    """
    expect(len(guesses) <= len(COLORS), f"at most {len(COLORS)} methods", len(guesses))
    dates = future[0]
    expect_lengths(guesses, len(dates))
    few = len(dates) <= 40  # dots can be told apart from the lines of forecasts
    came = {"ls": "", "marker": "o", "ms": 3.5} if few else {"lw": 1.2}
    marks: list[Mark] = [
        Line(*past, "past", {"color": "#777777", "lw": 1.2}),
        Line(*future, "what came", {"color": "black", **came}),
    ]
    for n, (name, y) in enumerate(guesses.items()):
        look, said = styled(n, dashed=True, lw=2), f"{name} ends at {y[-1]:.1f}"
        marks.append(Line(dates, y, name, look, says=said))
    return Figure(
        [
            Panel(
                [*marks, Rule((past[0][-1] + dates[0]) / 2, "x")],
                x=Scale(xlabel),
                y=Scale(ylabel),
                grid="both",
            )
        ],
        (6.0, 2.9),
        f"{ylabel} over {xlabel}: the past to {past[0][-1]:.1f}, and what came to "
        f"{dates[-1]:.1f}, where it was {future[1][-1]:.1f}; ",
        title=title,
        legend="outside lower center",
        legend_columns=5,
        raster=32,
    ).picture()
