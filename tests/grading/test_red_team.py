"""Hostile submissions: no point that was not earned, no harm, and the batch goes on."""

import json
import re
import socket
import threading
import time

import pytest

from attn_lib.grading import sandbox
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


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_submission_earns_nothing_it_did_not_do(
    name, listener, kept, heard, monkeypatch
):
    monkeypatch.setattr("attn_lib.grading.submission_judge.CASE_SECONDS", 2.5)
    monkeypatch.setattr("attn_lib.grading.submission_judge.CELL_SECONDS", 2.5)
    monkeypatch.setenv("HOST_SECRET", "secret")
    attack, (port, arrived, _) = HOSTILE[name], listener
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


def test_there_are_enough_of_every_kind():
    assert len(HOSTILE) >= 30


def test_after_all_of_them_an_honest_submission_gets_its_point():
    [verdict] = [
        v for v in Judge([HONEST], 1, seed=11).verdicts() if v.task == "attention_scores"
    ]
    assert verdict.status == "passed"
