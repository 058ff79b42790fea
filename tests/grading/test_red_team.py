"""Hostile submissions: no point that was not earned, no harm, and the batch goes on."""

import socket
import threading
import time

import pytest

from attn_lib.grading.submission_judge import Judge
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
                connection, _ = server.accept()
                arrived.append(connection.recv(100))
            except OSError:
                pass

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1], arrived


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_submission_earns_nothing_it_did_not_do(
    name, listener, tmp_path, monkeypatch
):
    monkeypatch.setattr("attn_lib.grading.submission_judge.CASE_SECONDS", 2.5)
    monkeypatch.setattr("attn_lib.grading.submission_judge.CELL_SECONDS", 2.5)
    monkeypatch.setenv("HOST_SECRET", "secret")
    keep = tmp_path / "gradebook.db"
    keep.write_text("unharmed")
    port, arrived = listener
    cells = [cell.replace("PORT", str(port)) for cell in HOSTILE[name]]
    start = time.monotonic()
    verdicts = {v.task: v for v in Judge([*cells, HONEST], 1, seed=11).verdicts()}
    assert time.monotonic() - start < 200  # it ends, also on a busy machine
    earned = {task: verdict.points for task, verdict in verdicts.items() if verdict.points}
    assert set(earned) <= {"attention_scores"}, str(verdicts["stable_softmax"])
    assert earned == {"attention_scores": 1} or name not in KEEPS_IT
    assert all(verdict.message for verdict in verdicts.values())
    assert arrived == []
    assert keep.read_text() == "unharmed"


def test_there_are_enough_of_every_kind():
    assert len(HOSTILE) >= 30


def test_after_all_of_them_an_honest_submission_gets_its_point():
    [verdict] = [
        v for v in Judge([HONEST], 1, seed=11).verdicts() if v.task == "attention_scores"
    ]
    assert verdict.status == "passed"
