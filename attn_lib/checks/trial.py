"""A task's cases for one seed, with what the reference and the known mistakes make of them.

Only what is asked for is computed, and it is kept: a second check of the same task is quicker, and
the tests, which judge every mistake against every other, take half the time.
"""

import random
from dataclasses import replace
from functools import cache, lru_cache

import torch
from torch import nn

from attn_lib.checks.again import more_cases
from attn_lib.checks.case import run_known
from attn_lib.checks.mistakes import known
from attn_lib.checks.module_runs import (
    built,
    inputs_and_options,
    known_run,
    run_known_module,
    run_known_module_in_eval,
    without_chance,
)
from attn_lib.checks.observe import Outcome, attempt, observe, walled_off
from attn_lib.checks.task import Task, find_task


class Trial:
    """The cases of one task and seed, and the outcomes on them, by the number of the case."""

    def __init__(self, task: Task, seed: int):
        self.task = task
        self.known = known(task.name)
        with walled_off():
            self.cases = list(task.make_cases(torch.Generator().manual_seed(seed)))
            self.cases += more_cases(task, self.cases, seed + 1)
        # A private seed mixes them: who counts the calls shall not know which one it is.
        later = range(1, len(self.cases))
        self.order = [
            0,
            *(random.Random(seed).sample(later, len(later)) if seed else later),
        ]
        self.expected = cache(self._expected)
        self.mistaken = cache(self._mistaken)
        self.module = cache(self._new_module)

    def _expected(self, case: int, *, gradients: bool = False) -> Outcome:
        """Run the reference on a case."""
        return observe(self.task.reference, self.cases[case], gradients=gradients)

    def _mistaken(
        self, mistakes: tuple[int, ...], case: int, gradients: bool = False
    ) -> Outcome:
        """Run a known mistake, or two in one answer, on a case; to be called within `walled_off`."""
        how, answer = self.cases[case], self.known.answer(*mistakes)
        if self.known.mistakes[mistakes[0]].lines and not gradients:
            how = replace(how, run=run_known(how.run))
            template = self.known.template(*mistakes)
            runs = {
                run_known_module: known_run,
                run_known_module_in_eval: lambda module: without_chance(known_run(module)),
            }
            if how.run in runs and template is not None:
                run = runs[how.run](self.module(case, template))
                how = replace(how, args=((), {}, *how.args[2:]), run=run)
        return attempt(answer, how, gradients=gradients, is_ours=True)

    def _new_module(self, case: int, template: int) -> nn.Module:
        """A module of a right class, with the parameters of a case."""
        init, parameters, *arguments = self.cases[case].args
        right = (self.task.reference, *self.task.others)[template]
        return built(right, init, parameters, *inputs_and_options(tuple(arguments)))[0]


@lru_cache(maxsize=32)
def trial_of(name: str, seed: int) -> Trial:
    """Return the trial of a task for a seed.

    Raises:
        ValueError: there is no task of that name.
    """
    return Trial(find_task(name), seed)
