"""Scenes to play with: each shows one idea, in JupyterLab and on the site, without a kernel."""

from attn_lib.explorer.einsum_tracer import EinsumTracer
from attn_lib.explorer.mask_painter import MaskPainter
from attn_lib.explorer.scale import Scale
from attn_lib.explorer.split_merge import SplitMerge

__all__ = ["EinsumTracer", "MaskPainter", "Scale", "SplitMerge"]
