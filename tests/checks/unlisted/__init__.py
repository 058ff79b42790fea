"""Wrong answers written after the checks, and unlike the listed mistakes: all must be rejected.

Many are right on most inputs, and wrong on one kind only.
"""

from importlib import import_module
from pkgutil import iter_modules

UNLISTED = {
    name: answers
    for module in iter_modules(__path__)
    for name, answers in import_module(f"{__name__}.{module.name}").UNLISTED.items()
}
