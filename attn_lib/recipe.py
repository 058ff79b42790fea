"""The training recipe of a language model: AdamW, warm-up and decay, clipping; a run that can go on after a pause."""

import io
import pickle
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from jaxtyping import Int
from torch import Tensor

from attn_lib.files import write_whole
from attn_lib.llama import Llama


@dataclass(frozen=True)
class Recipe:
    """What a training run depends on, beside the text."""

    steps: int = 1600
    batch_size: int = 16
    length: int = 256
    peak: float = 3e-3
    warmup: int = 100
    weight_decay: float = 0.1
    seed: int = 0
    text: str = ""  # a hash of the ids


class Run:
    """A training run: model, optimizer, batches and how far it is; what it needs to go on is one file.

    Args:
        model: of `new_model`, changed in place.
        recipe: see there.
        own: the model that computes, with the same weights.
    """

    def __init__(self, model: Llama, recipe: Recipe, own: Llama | None = None):
        self.model, self.recipe, self.own = model, recipe, own or model
        matrices = [p for p in model.parameters() if p.ndim == 2]
        others = [p for p in model.parameters() if p.ndim < 2]
        self.optimizer = torch.optim.AdamW(
            [
                {"params": matrices, "weight_decay": recipe.weight_decay},
                {"params": others, "weight_decay": 0.0},
            ],
            lr=recipe.peak,
            betas=(0.9, 0.95),
            fused=True,
        )
        self.peak = self.optimizer.param_groups[0]["lr"]
        self.generator = torch.Generator().manual_seed(recipe.seed)
        self.step = 0

    def learn(
        self,
        ids: Int[Tensor, " n"],
        random_batch: Callable[..., tuple[Tensor, Tensor]],
        learning_rate: Callable[..., float],
    ) -> float:
        """Take one step, and return the loss of its batch in nats a token.

        Args:
            ids: (N,), the text.
            random_batch: `random_batch(ids, batch_size, length, generator)` draws inputs and targets (B, L).
            learning_rate: `learning_rate(step, warmup, total, peak, floor)`; the floor is a tenth of the peak.
        """
        r = self.recipe
        share = learning_rate(self.step, r.warmup, r.steps, 1.0, 0.1)
        for group in self.optimizer.param_groups:
            group["lr"] = self.peak * share
        inputs, targets = random_batch(ids, r.batch_size, r.length, self.generator)
        loss = F.cross_entropy(self.own(inputs).flatten(0, 1), targets.flatten())
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.step += 1
        return loss.item()

    def keep(self, path: Path) -> None:
        """Write all that the run needs to go on."""
        state = {
            "recipe": asdict(self.recipe),
            "step": self.step,
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "generator": self.generator.get_state(),
        }
        data = io.BytesIO()
        torch.save(state, data)
        write_whole(path, data.getvalue())

    def go_on(self, path: Path) -> None:
        """Take up what `keep` wrote.

        Raises:
            ValueError: the file is damaged, or of a run with another recipe or text.
        """
        try:
            state = torch.load(path, weights_only=True)
        except (OSError, RuntimeError, EOFError, pickle.UnpicklingError) as error:
            raise ValueError(
                f"{path} is damaged ({error}): remove it, and begin anew"
            ) from error
        if state["recipe"] != asdict(self.recipe):
            raise ValueError(
                f"{path} is of another run, {state['recipe']}: go on with that one, or remove the file"
            )
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.generator.set_state(state["generator"])
        self.step = state["step"]
