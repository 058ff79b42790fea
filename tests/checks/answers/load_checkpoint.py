"""Answers to load_checkpoint that no row makes."""

import json
import pickle
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load

from attn_lib.checkpoint import fingerprint
from attn_lib.checkpoint import load_checkpoint as right
from tests.checks.answers import Answers

answers = Answers(
    "load_checkpoint",
    spelled=dict(
        damage=["Exception", "(SafetensorError, OSError)"],
        names=["list(file.keys())", "file.offset_keys()"],
        tensors=["{name: file.get_tensor(name).clone() for name in sorted(names)}"],
        entries=["dict(metadata) if metadata else {}", "{} if metadata is None else metadata"],
        is_complete=["'config' in entries and 'sha256' in entries", "not {'config', 'sha256'} - set(entries)"],
        is_whole=["not actual != expected", "__import__('hmac').compare_digest(actual.encode(), expected.encode())"],
        config=["json.JSONDecoder().decode(text)"],
    ),
)  # fmt: skip


class Damaged(ValueError):
    pass


@answers.right
def by_hand(path):
    data = Path(path).read_bytes()
    size = int.from_bytes(data[:8], "little")
    try:
        tensors = load(data)
        metadata = json.loads(data[8 : 8 + size])["__metadata__"]
        text, expected = metadata["config"], metadata["sha256"]
    except (SafetensorError, KeyError) as error:
        raise Damaged(str(error)) from error
    if fingerprint(tensors, text) != expected:
        raise Damaged("altered")
    return tensors, json.loads(text)


@answers.right
def everything_is_a_value_error(path):
    try:
        with safe_open(path, "pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            metadata = file.metadata()
        assert fingerprint(tensors, metadata["config"]) == metadata["sha256"]
        return [tensors, json.loads(metadata["config"])]
    except Exception as error:
        raise ValueError("damaged") from error


@answers.right
def with_parameters(path):
    tensors, config = right(path)
    return {name: torch.nn.Parameter(t, False) for name, t in tensors.items()}, config


@answers.wrong
def pickle_first(path):
    try:
        with open(path, "rb") as file:
            return pickle.load(file)
    except Exception:
        return right(path)


@answers.wrong
def with_a_hash_in_capitals(path):
    try:
        with safe_open(path, "pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            metadata = file.metadata()
        assert fingerprint(tensors, metadata["config"]) == metadata["sha256"].lower()
        return tensors, json.loads(metadata["config"])
    except Exception as error:
        raise ValueError("damaged") from error


@answers.wrong
def first_tensor_only(path):
    tensors, config = right(path)
    return dict(list(tensors.items())[:1]), config


@answers.wrong
def refuses_small_integers(path):
    tensors, config = right(path)
    if any(t.dtype == torch.int8 for t in tensors.values()):
        raise ValueError("an odd dtype")
    return tensors, config
