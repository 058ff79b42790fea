"""Write reference_blocks.safetensors: blocks of the transformers library, small and random, with outputs.

    pip install transformers==5.23.0 safetensors torch && python tests/data/make_reference_blocks.py

The weights are drawn here, not trained; only the code that ran is theirs (Apache-2.0).
"""

from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import nn
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaAttention, LlamaRotaryEmbedding
from transformers.models.t5.modeling_t5 import T5Attention

HERE = Path(__file__).parent
EAGER = {"attn_implementation": "eager"}


def drawn(module: nn.Module) -> nn.Module:
    """Give a module random parameters that make mistakes visible."""
    rng = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(generator=rng)
            if parameter.ndim == 2:
                parameter.div_(parameter.shape[0] ** 0.5)
    return module.eval()


def main() -> None:
    """Run each block once and write its parameters, input and output."""
    x = torch.randn(2, 7, 24, generator=torch.Generator().manual_seed(1))
    causal = torch.full((7, 7), -torch.inf).triu(1)[None, None]

    config = LlamaConfig(
        hidden_size=24, num_attention_heads=6, num_key_value_heads=2, head_dim=4, **EAGER
    )
    llama = drawn(LlamaAttention(config, layer_idx=0))
    turns = LlamaRotaryEmbedding(config)(x, torch.arange(5, 12)[None])
    found = {f"llama.{key}": value for key, value in llama.state_dict().items()}
    output, _ = llama(x, position_embeddings=turns, attention_mask=causal)
    found["llama.output"] = output.detach()

    relative = torch.cat([torch.arange(-5000, 5000), torch.arange(-200, 201)])
    found["x"], found["t5.relative"] = x, relative.short()
    for buckets, distance in ((32, 128), (8, 20), (64, 1000)):
        found[f"t5.{buckets}.{distance}"] = T5Attention._relative_position_bucket(
            relative, bidirectional=True, num_buckets=buckets, max_distance=distance
        ).to(torch.int8)
    found = {key: value.contiguous() for key, value in found.items()}
    save_file(found, HERE / "reference_blocks.safetensors")
    print({key: tuple(value.shape) for key, value in found.items()})


if __name__ == "__main__":
    main()
