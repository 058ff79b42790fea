"""Answers to make_windows that no row makes."""

import torch

from tests.checks.answers import Answers

answers = Answers(
    "make_windows",
    spelled=dict(
        T=["series.shape[0]", "series.numel()"],
        N=["len(range(T - context_len - horizon + 1))"],
        starts=["torch.arange(N).unsqueeze(1)", "torch.arange(N).view(-1, 1)"],
        past=["torch.arange(context_len) + starts"],
        future=["torch.arange(context_len, context_len + horizon) + starts"],
        contexts=["series.unfold(0, context_len, 1)[:N]", "series[past].clone()"],
        targets=["series.unfold(0, horizon, 1)[context_len:]"],
    ),
    survivors=[
        dict(futures="[series[i:j] for i, j in zip(begins, ends)]"),
        dict(futures="[series[i:j] for i, j in zip(begins, ends, strict=False)]"),
    ],
)


@answers.right
def unfolded(series, context_len, horizon):
    windows = series.unfold(0, context_len + horizon, 1)
    return windows.split([context_len, horizon], dim=1)


@answers.right
def as_list(series, context_len, horizon):
    contexts, targets = [], []
    i = 0
    while i + context_len + horizon <= len(series):
        contexts.append(series[i : i + context_len])
        targets.append(series[i + context_len : i + context_len + horizon])
        i += 1
    return [torch.stack(contexts), torch.stack(targets)]


@answers.wrong
def one_step_at_a_time(series, context_len, horizon):
    contexts, targets = unfolded(series, context_len, 1)
    return contexts, targets.expand(-1, horizon)


@answers.wrong
def as_if_nothing_lay_between(series, context_len, horizon):
    size = len(series) - context_len - horizon + 1, context_len + horizon
    return series.as_strided(size, (1, 1)).tensor_split([context_len], dim=1)


@answers.wrong
def at_most_fifty(series, context_len, horizon):
    contexts, targets = unfolded(series, context_len, horizon)
    return contexts[:50], targets[:50]


@answers.wrong
def around_the_end(series, context_len, horizon):
    windows = torch.stack(
        [series.roll(-i)[: context_len + horizon] for i in range(len(series))]
    )
    return windows[:, :context_len], windows[:, context_len:]


@answers.wrong
def places_in_int16(series, context_len, horizon):
    places = torch.arange(len(series)).to(torch.int16)
    windows = series[places.unfold(0, context_len + horizon, 1).long()]
    return windows[:, :context_len], windows[:, context_len:]
