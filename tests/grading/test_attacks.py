"""Hostile submissions: no point that was not earned, no harm, and the batch goes on."""

import json
import re
import socket
import time
from pathlib import Path

import pytest

from attn_lib.checks.task import find_task
from attn_lib.grading import sandbox
from attn_lib.grading.submission_judge import Judge
from tests.grading.attacks import CELLS, HONEST, HOSTILE, SILENCED
from tests.grading.judging import judged

pytestmark = [pytest.mark.usefixtures("sandbox_works"), pytest.mark.slow]


@pytest.fixture
def listener():
    """A port on the loopback address that others can connect to."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


def arrived(listener):
    """Return what was sent to the port."""
    try:
        with listener.accept()[0] as connection:
            return connection.recv(100)
    except BlockingIOError:
        return b""


@pytest.fixture
def kept(tmp_path):
    """A file that nobody but the host may write."""
    file = tmp_path / "gradebook.db"
    file.write_text("unharmed")
    return file


@pytest.fixture
def heard(monkeypatch):
    """The headers of all messages that arrive at the judge."""
    headers = []

    def receive(stream, received=sandbox.receive):
        message = received(stream)
        headers.append(json.dumps(message[0]))
        return message

    monkeypatch.setattr(sandbox, "receive", receive)
    return headers


def cell_of(attack, listener, kept):
    """Return the cell of an attack with the port and the file that it is to reach."""
    port = str(listener.getsockname()[1])
    return attack.cell.replace("PORT", port).replace("KEEP", repr(str(kept)))


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_submission_earns_nothing_it_did_not_do(
    name, listener, kept, heard, monkeypatch
):
    monkeypatch.setenv("HOST_SECRET", "secret")
    attack = HOSTILE[name]
    # Wait less for what never ends; all else has its time, also on a busy machine.
    for limit in ("CASE_SECONDS", "CELL_SECONDS"):
        seconds = 2.5 if "too long" in attack.told else 60.0
        monkeypatch.setattr(f"attn_lib.grading.submission_judge.{limit}", seconds)
    start = time.monotonic()
    verdicts = judged(cell_of(attack, listener, kept), HONEST, seed=11)
    assert time.monotonic() - start < 200
    said = verdicts["stable_softmax"].evidence
    assert re.search(attack.told, said), f"it did not take place: {said}"
    assert any(header.startswith(attack.forged) for header in heard), "it never arrived"
    earned = {task: verdict.points for task, verdict in verdicts.items() if verdict.points}
    assert set(earned) <= {"attention_scores"}, str(verdicts["stable_softmax"])
    assert earned or not attack.keeps
    assert all(verdict.message for verdict in verdicts.values())
    assert arrived(listener) == b""
    assert kept.read_text() == "unharmed"


@pytest.mark.parametrize(
    "name",
    [
        # It takes long, and is of the same kind as another one.
        pytest.param(name, marks=[pytest.mark.nightly] if "that was there" in name else [])
        for name in sorted(SILENCED, key=lambda name: find_task(SILENCED[name].task).lesson)
    ],
)
def test_a_rule_that_is_silenced_inside_holds_outside(name):
    attack = SILENCED[name]
    task = find_task(attack.task)
    with Judge([attack.cell], task.lesson, seed=11) as judge:
        verdict = judge.verdict(task)
        assert (judge.broken, judge.fatal) == ({}, {})  # it was replaced
    assert verdict.points == 0
    assert verdict.status in ("wrong", "error") or "None" in attack.told
    said = f"{verdict.mistake} {verdict.evidence} {verdict.question}"
    assert re.search(attack.told, said), said


def test_without_the_sandbox_the_same_attacks_do_harm(listener, kept):
    """So that the ones above are attacks, and what keeps them off is the sandbox."""
    names = "network", "overwrites the gradebook"
    first, second = (cell_of(HOSTILE[name], listener, kept) for name in names)
    judged(
        first, second.replace("def stable_softmax(x", "def attention_scores(x"), unsafe=True
    )
    assert arrived(listener) == b"stolen"
    assert kept.read_text() == "stolen"


def test_cells_that_cannot_be_run_are_left_out_and_the_honest_one_counts():
    with Judge([*CELLS, HONEST], 1, seed=11) as judge:
        assert judge.verdict(find_task("attention_scores")).points == 1
    assert judge.fatal == {}
    for number, raised in enumerate(CELLS.values()):
        kind = judge.broken.get(number, "").partition(":")[0]
        assert re.fullmatch(raised, kind), (number, judge.broken)
    assert not Path("/tmp/attn-shell").exists()
