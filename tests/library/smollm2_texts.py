"""Texts on which SmolLM2's tokenizer and answers are compared with those of transformers."""

import hashlib
import json
from pathlib import Path

import torch

PROMPTS = [
    "What is the capital of France?",
    "Write a short poem about rain.",
    "Explain in one sentence why the sky is blue.",
    "Count from 1 to 10.",
    "Grüße! Was heißt 犬 auf Englisch?",
]
ODD_TEXTS = [
    "",
    " ",
    "  1",
    "a\r\n\tb",
    "100,000.50 €",
    "é e\u0301",
    "犬が好き 😀",
    "I'll don't WE'VE",
]


def paragraphs() -> list[str]:
    """Return a thousand paragraphs of PyTorch's documentation, which its pinned version brings along."""
    text = Path(torch.__file__).with_name("_torch_docs.py").read_text(encoding="utf-8")
    return [p for p in text.split("\n\n") if len(p) > 40][:1000]


def digests(ids: list[list[int]]) -> list[str]:
    """Return a hash of each hundred lists of ids."""
    parts = [ids[i : i + 100] for i in range(0, len(ids), 100)]
    return [hashlib.sha256(json.dumps(part).encode()).hexdigest()[:16] for part in parts]
