"""Hostile submissions: no point that was not earned, no harm, and the batch goes on."""

import json
import re
import socket
import threading
import time
from pathlib import Path

import pytest

from attn_lib.checks.task import find_task
from attn_lib.grading import sandbox
from attn_lib.grading.submission_judge import Judge
from tests.grading.attacks import ATTACKS, CELLS, START, TOLD
from tests.grading.hostile import HONEST, HOSTILE, KEEPS_IT

pytestmark = pytest.mark.usefixtures("sandbox_works")


@pytest.fixture
def listener():
    """A port on the loopback address, and what arrives there."""
    arrived = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(20)

        def serve():
            try:
                with server.accept()[0] as connection:
                    arrived.append(connection.recv(100))
            except OSError:
                pass

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1], arrived, thread


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


def judged(attack, port, kept, *, unsafe=False):
    """Return the verdicts by task, and all that the judge says of the attack."""
    cell = attack.cell.replace("PORT", str(port)).replace("KEEP", repr(str(kept)))
    judge = Judge([cell, HONEST], 1, seed=11, unsafe=unsafe)
    verdicts = {verdict.task: verdict for verdict in judge.verdicts()}
    return verdicts, verdicts["stable_softmax"].evidence


def hurry(monkeypatch, told):
    """Wait less for what never ends; all else has its time, also on a busy machine."""
    for name in ("CASE_SECONDS", "CELL_SECONDS"):
        seconds = 2.5 if "too long" in told else 60.0
        monkeypatch.setattr(f"attn_lib.grading.submission_judge.{name}", seconds)


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_submission_earns_nothing_it_did_not_do(
    name, listener, kept, heard, monkeypatch
):
    monkeypatch.setenv("HOST_SECRET", "secret")
    attack, (port, arrived, _) = HOSTILE[name], listener
    hurry(monkeypatch, attack.told)
    start = time.monotonic()
    verdicts, said = judged(attack, port, kept)
    assert time.monotonic() - start < 200  # it ends, also on a busy machine
    assert re.search(attack.told, said), f"it did not take place: {said}"
    assert any(header.startswith(attack.forged) for header in heard), "it never arrived"
    earned = {task: verdict.points for task, verdict in verdicts.items() if verdict.points}
    assert set(earned) <= {"attention_scores"}, str(verdicts["stable_softmax"])
    assert earned == {"attention_scores": 1} or name not in KEEPS_IT
    assert all(verdict.message for verdict in verdicts.values())
    assert arrived == []
    assert kept.read_text() == "unharmed"


@pytest.mark.slow
def test_without_the_sandbox_the_same_attacks_do_harm(listener, kept):
    """So that the ones above are attacks, and what keeps them off is the sandbox."""
    port, arrived, thread = listener
    for name in ("network", "overwrites the gradebook"):
        judged(HOSTILE[name], port, kept, unsafe=True)
    thread.join(20)
    assert arrived == [b"stolen"]
    assert kept.read_text() == "stolen"


@pytest.mark.slow
@pytest.mark.parametrize("lesson", ATTACKS)
def test_attacks_written_without_a_look_at_the_grader_gain_nothing(
    lesson, listener, monkeypatch
):
    monkeypatch.setenv("ATTN_GRADING_SEED", "11")
    port, arrived, _ = listener
    cells = [text.replace("PORT", str(port)) for text in (START, *ATTACKS[lesson].values())]
    for _ in range(2 if lesson == 10 else 1):  # there, they leave notes for who comes next
        with Judge(cells, lesson, seed=11) as judge:
            for name in ATTACKS[lesson]:
                hurry(monkeypatch, TOLD[name])
                verdict = judge.verdict(find_task(name))
                assert verdict.points == 0, name
                assert re.search(TOLD[name], verdict.evidence), (
                    f"{name}: {verdict.evidence}"
                )
            assert (judge.broken, judge.fatal) == ({}, {})
    assert arrived == []


@pytest.mark.slow
def test_hostile_cells_are_left_out_and_the_honest_one_counts(monkeypatch):
    outside = Path("/tmp/attn-shell"), Path("/tmp/attn-bash")
    cells = [cell for _, cell in CELLS.values()]
    with Judge([*cells, HONEST], 1, seed=11) as judge:
        assert judge.verdict(find_task("attention_scores")).points == 1
    assert judge.fatal == {}
    for number, (raised, _) in enumerate(CELLS.values()):
        assert re.fullmatch(raised, judge.broken.get(number, "")), (number, judge.broken)
    assert not any(path.exists() for path in outside)


def test_there_are_enough_of_every_kind():
    assert len(HOSTILE) >= 30
    assert sum(map(len, ATTACKS.values())) + len(CELLS) >= 40


def test_after_all_of_them_an_honest_submission_gets_its_point():
    [verdict] = [
        v for v in Judge([HONEST], 1, seed=11).verdicts() if v.task == "attention_scores"
    ]
    assert verdict.status == "passed"
