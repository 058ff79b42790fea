"""The course's figures: one call each, with labels, a text alternative, and safe colors."""

from attn_lib.plotting.charts import bars, lines
from attn_lib.plotting.heat_map import heat_map
from attn_lib.plotting.letters import letters
from attn_lib.plotting.picture import Picture

__all__ = ["Picture", "bars", "heat_map", "letters", "lines"]
