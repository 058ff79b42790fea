"""The figure of scores beside weights, under the name by which lessons import it."""

from attn_lib.plotting.maps import scores_and_weights

__all__ = ["scores_and_weights"]
