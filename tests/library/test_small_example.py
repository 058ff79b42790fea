import json
from pathlib import Path

import torch

from attn_lib.data import small_example

LESSON = Path(__file__).resolve().parents[2] / "notebooks" / "01_single_head.ipynb"


def test_the_small_example_is_the_one_that_lesson_01_builds():
    cells = json.loads(LESSON.read_text(encoding="utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    built = {"torch": torch}
    for source in sources:
        if source.startswith(("words = ", "W_q = ")):
            exec(source, built)
    assert small_example.words == built["words"]
    for name in ("x", "W_q", "W_k", "W_v"):
        assert torch.equal(getattr(small_example, name), built[name]), name
