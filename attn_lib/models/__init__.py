"""Small whole models, each for one problem of the lessons."""

from attn_lib.models.classifier import TextClassifier, masked_mean
from attn_lib.models.cross_modal import WordsOverPatches, patchify
from attn_lib.models.forecaster import Forecaster, make_windows
from attn_lib.models.language_model import LanguageModel

__all__ = [
    "Forecaster",
    "LanguageModel",
    "TextClassifier",
    "WordsOverPatches",
    "make_windows",
    "masked_mean",
    "patchify",
]
