"""Scenes to play with: each shows one idea, without a kernel. And `page`, in which a whole model runs."""

from attn_lib.explorer.ablation import Ablation
from attn_lib.explorer.clock_hands import ClockHands
from attn_lib.explorer.einsum_tracer import EinsumTracer
from attn_lib.explorer.head_lens import HeadLens
from attn_lib.explorer.live_page import page
from attn_lib.explorer.mask_painter import MaskPainter
from attn_lib.explorer.online_softmax import OnlineSoftmax
from attn_lib.explorer.scale import Scale
from attn_lib.explorer.shared_heads import SharedHeads
from attn_lib.explorer.split_merge import SplitMerge

__all__ = [
    "Ablation",
    "ClockHands",
    "EinsumTracer",
    "HeadLens",
    "MaskPainter",
    "OnlineSoftmax",
    "Scale",
    "SharedHeads",
    "SplitMerge",
    "page",
]
