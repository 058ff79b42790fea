"""Changes that no test can notice or need not: (file, place, change) and why."""

HARMLESS: dict[tuple[str, str, str], str] = {
    ("attn_lib/efficient.py", "chunked_attention", "256 -> 255"): "quicker or slower",
    ("attn_lib/efficient.py", "chunked_attention", "256 -> 257"): "quicker or slower",
    (
        "attn_lib/efficient.py",
        "_Sight.band",
        "place + size[0] > self.window -> place + size[0] >= self.window",
    ): "a band of zeros is added where nothing is hidden",
}
