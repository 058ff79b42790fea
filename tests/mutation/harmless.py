"""Changes that no test can notice or need not: (file, place, change) and why."""

HARMLESS: dict[tuple[str, str, str], str] = {}
