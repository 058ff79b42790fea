"""The service as a program, on the loopback address, and what clients do to it."""

import contextlib
import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from attn_lib import LanguageModel, RoPE
from attn_lib.checkpoint import save_checkpoint
from attn_lib.programs import serve

pytestmark = pytest.mark.slow

VOCABULARY = "abcdefghijklmnopqrstuvwxyz "
# Narrow and deep: slow on every machine, so that 1000 tokens never are written within the deadline.
SIZES = {"d_model": 8, "num_heads": 2, "num_layers": 80}
DEADLINE = 3.0
SERVE = [sys.executable, "-m", "attn_lib.programs.serve"]
LONG = {"prompt": "the", "max_new_tokens": 1000}


def deep_model():
    torch.manual_seed(0)
    return LanguageModel(len(VOCABULARY), *SIZES.values(), positions=RoPE()).eval()


class Program:
    """A running service; what it writes to stderr is kept."""

    def __init__(self, checkpoint, folder, *options, ignoring=""):
        command = [*SERVE, "--port", "0", "--checkpoint", str(checkpoint), *options]
        if ignoring:
            command = ["sh", "-c", f'trap "" {ignoring}; exec "$@"', "sh", *command]
        self.errors = folder / "stderr"
        with self.errors.open("w") as stderr:
            self.process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=stderr, text=True
            )
        ready = self.process.stdout.readline()
        found = re.fullmatch(
            r"Ready: http://127\.0\.0\.1:(\d+) \(Ctrl-C ends it\)\n", ready
        )
        assert found, ready + self.errors.read_text()
        self.port = int(found[1])

    def call(self, method, path, body=None, headers=(), timeout=30):
        """Return status, headers and the JSON of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        with contextlib.closing(connection):
            connection.request(method, path, body=body, headers=dict(headers))
            answer = connection.getresponse()
            return answer.status, answer.headers, json.loads(answer.read() or "null")

    def order(self, **fields):
        return self.call("POST", "/generate", json.dumps(fields))

    def health(self):
        status, _, said = self.call("GET", "/health", timeout=5)
        assert (status, said["status"]) == (200, "ok")
        return said

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=15)

    def wait_for(self, busy, seconds=5):
        """Wait until so many texts are being written; return how long that took."""
        start = time.monotonic()
        while self.health()["busy"] != busy:
            assert time.monotonic() - start < seconds, f"not {busy} in {seconds} s"
            time.sleep(0.02)
        return time.monotonic() - start

    def end(self, sign):
        """Ask it to end; return its exit status."""
        self.process.send_signal(sign)
        try:
            return self.process.wait(timeout=20)
        finally:
            self.kill()

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "deep.safetensors"
    save_checkpoint(deep_model(), SIZES | {"vocabulary": VOCABULARY}, path)
    return path


@pytest.fixture(scope="module")
def running(checkpoint, tmp_path_factory):
    # As a shell starts what it puts in the background: with signals ignored.
    folder = tmp_path_factory.mktemp("run")
    program = Program(checkpoint, folder, "--deadline", str(DEADLINE), ignoring="INT TERM")
    try:
        yield program
        assert program.end(signal.SIGINT) == 0
        assert program.errors.read_text() == ""
    finally:
        program.kill()


@pytest.fixture
def program(running):
    """The service; after each test of it nothing is left at work, and it still writes."""
    yield running
    running.wait_for(busy=0)
    assert running.order(prompt="a", max_new_tokens=1)[0] == 200


def raw(body, *headers):
    """The bytes of a request to write."""
    lines = ["POST /generate HTTP/1.1", "Host: here", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def answer_of(connection):
    """Read until the other side closes; return the status, or None."""
    data = b""
    with contextlib.suppress(ConnectionError):
        while chunk := connection.recv(4096):
            data += chunk
    return int(data.split()[1]) if data else None


def test_it_writes_what_the_model_of_the_checkpoint_writes(program):
    prompt = "attention"
    ids = torch.tensor([[VOCABULARY.index(c) for c in prompt]])
    expected = deep_model().write(ids, 3, temperature=0)[0, len(prompt) :]
    body = [b'{"prompt": "attention", ', b'"max_new_tokens": 3}'.ljust(16_000)]
    status, _, said = program.call("POST", "/generate", iter(body))  # in chunks
    assert status == 200
    assert said["text"] == "".join(VOCABULARY[i] for i in expected)
    assert said["tokens"] == 3
    assert 0 < said["seconds"] < DEADLINE
    just_fits = json.dumps({"prompt": "a" * 1000, "max_new_tokens": 1}).ljust(16_384)
    assert program.call("POST", "/generate", just_fits)[0] == 200


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        (b"", 400, "Invalid JSON"),
        (b'{"prompt": "\xff"}', 400, "Invalid JSON"),
        (b'{"prompt": "\\ud800"}', 400, "Invalid JSON"),
        (b"[" * 10_000, 400, "recursion limit"),
        (b"{}", 422, "prompt: Field required"),
        (b'{"prompt": ""}', 422, "at least 1 character"),
        (b'{"prompt": "%s"}' % (b"a" * 1001), 422, "at most 1000 characters"),
        ('{"prompt": "é"}'.encode(), 422, r"does not know '\xe9'"),
        (b'{"prompt": "a", "max_new_tokens": "3"}', 422, "valid integer"),
        (b'{"prompt": "a", "max_new_tokens": 0}', 422, "greater than or equal to 1"),
        (b'{"prompt": "a", "max_new_tokens": 1001}', 422, "less than or equal to 1000"),
        (b'{"prompt": "a", "max_tokens": 3}', 422, "max_tokens: Extra inputs"),
        (b"x" * 16_385, 413, "at most 16384 bytes"),
        (b"x" * 200_000, 413, "at most 16384 bytes"),
    ],
)
def test_what_cannot_be_written_is_refused_with_a_reason(running, body, status, says):
    found, headers, said = running.call("POST", "/generate", body)
    assert found == status
    assert headers["Content-Type"] == "application/json"
    assert list(said) == ["error"]
    assert says in said["error"]


def test_other_pages_and_methods_are_refused(program):
    for method, path, status in (("GET", "/", 404), ("GET", "/generate", 405)):
        found, _, said = program.call(method, path)
        assert found == status
        assert list(said) == ["error"]


def json_answer_of(connection):
    """Read an answer until the other side closes; return its status and what it says."""
    answer = http.client.HTTPResponse(connection)
    answer.begin()
    assert answer.getheader("Content-Type") == "application/json"
    return answer.status, json.loads(answer.read())


@pytest.mark.parametrize("nonsense", [b"\x00\xff\r\n\r\n", b"GET / FTP/9\r\nHost\r\n\r\n"])
def test_what_is_no_http_is_refused_in_json(program, nonsense):
    with program.connect() as connection:
        connection.sendall(nonsense)
        status, said = json_answer_of(connection)
    assert status == 400
    assert said["error"].startswith("expected HTTP: ")


def test_a_connection_beyond_the_limit_is_refused_in_json(program):
    with contextlib.ExitStack() as idle:
        for _ in range(serve.MAX_CONNECTIONS):
            idle.enter_context(program.connect())
        status, headers, said = program.call("GET", "/health")
        assert (status, headers["Retry-After"]) == (503, "1")
        assert said["error"].startswith("expected at most 100 connections at once")
    deadline = time.monotonic() + 5
    while program.call("GET", "/health")[0] != 200:  # when the idle ones have left
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_chunks_without_end_are_cut_off(program):
    sent, chunk = 0, b"1000\r\n" + b"x" * 4096 + b"\r\n"
    with program.connect() as connection:
        connection.sendall(raw(b"", "Transfer-Encoding: chunked"))
        with contextlib.suppress(ConnectionError):
            while sent < 2**26:
                connection.sendall(chunk)
                sent += 4096
        assert answer_of(connection) == 413
    # More than is taken was sent, and not all that could be: the rest stands in buffers.
    assert serve.MAX_BYTES < sent < 2**26


def test_too_many_at_once_are_told_to_come_later_and_the_deadline_ends_the_others(program):
    """And while they write, others are answered at once."""
    clients = 6
    start = time.monotonic()
    with ThreadPoolExecutor(clients) as pool:
        calls = [pool.submit(program.order, **LONG) for _ in range(clients)]
        program.wait_for(busy=2)
        asked = time.monotonic()
        assert program.health() == {"status": "ok", "busy": 2, "at_once": 2}
        assert time.monotonic() - asked < 1
        answers = [call.result() for call in calls]
    assert sorted(status for status, _, _ in answers) == [503] * 4 + [504] * 2
    for status, headers, said in answers:
        if status == 503:
            assert headers["Retry-After"] == "1"
            assert list(said) == ["error"]
        else:
            assert said["error"].endswith("of 1000 tokens were written in 3 s")
            assert 0 < said["tokens"] == len(said["text"]) < 1000
            assert DEADLINE <= said["seconds"] < DEADLINE + 1
    assert time.monotonic() - start < DEADLINE + 5
    assert program.wait_for(busy=0) < 0.5  # no thread works on


def test_when_a_client_leaves_its_text_is_not_written_on(program):
    body = json.dumps(LONG).encode()
    with program.connect() as connection:
        start = time.monotonic()
        connection.sendall(raw(body, f"Content-Length: {len(body)}"))
        program.wait_for(busy=1)
    program.wait_for(busy=0)
    assert time.monotonic() - start < DEADLINE - 0.5  # long before the deadline


def test_slow_and_idle_clients_are_cut_off(program):
    """One is slow with its body, one with its headers, and many only keep a connection."""
    health = b"GET /health HTTP/1.1\r\nHost: here\r\n\r\n"
    with contextlib.ExitStack() as connections:
        body, headers = (connections.enter_context(program.connect()) for _ in range(2))
        start = time.monotonic()
        body.sendall(raw(b"", "Content-Length: 1000"))
        headers.sendall(b"POST /generate HTTP/1.1\r\nX-Long: ")
        assert program.health()["busy"] == 0  # two slow ones disturb nobody
        idle = [connections.enter_context(program.connect()) for _ in range(100)]
        with program.connect() as another:
            another.sendall(health)
            assert answer_of(another) == 503  # so many they are
        for _ in range(10):  # a byte now and then keeps nobody
            body.sendall(b"a")
            headers.sendall(b"a")
            time.sleep(0.2)
        assert answer_of(body) == 408
        assert [answer_of(connection) for connection in (headers, *idle)] == [None] * 101
        assert time.monotonic() - start < serve.READ_SECONDS + 5


def test_sigterm_ends_it_and_what_is_being_written_is_answered(checkpoint, tmp_path):
    running = Program(checkpoint, tmp_path, "--deadline", "1.5")
    try:
        with ThreadPoolExecutor(1) as pool:
            call = pool.submit(running.order, **LONG)
            running.wait_for(busy=1)
            start = time.monotonic()
            assert running.end(signal.SIGTERM) == 0
            assert time.monotonic() - start < 10
            status, _, said = call.result()
        assert status == 504
        assert said["tokens"] > 0
        with pytest.raises(ConnectionRefusedError):
            running.health()
        assert running.errors.read_text() == ""
    finally:
        running.kill()


def test_a_second_ctrl_c_ends_it_at_once_without_a_traceback(checkpoint, tmp_path):
    running = Program(checkpoint, tmp_path, "--deadline", "15")
    try:
        with ThreadPoolExecutor(1) as pool:
            call = pool.submit(running.order, **LONG)
            running.wait_for(busy=1)
            start = time.monotonic()
            running.process.send_signal(signal.SIGTERM)
            time.sleep(0.3)
            assert running.end(signal.SIGTERM) == 128 + signal.SIGTERM
            assert time.monotonic() - start < 5
            with pytest.raises(http.client.RemoteDisconnected):
                call.result()
        assert running.errors.read_text() == ""
    finally:
        running.kill()


# ---------------------------------------------------------------- what keeps it from starting


def why_not(monkeypatch, capsys, *options):
    """Start the service where it cannot; return what it says."""
    monkeypatch.setattr(sys, "argv", ["serve", *map(str, options)])
    with pytest.raises(SystemExit) as ended:
        serve.main()
    return f"{ended.value} {capsys.readouterr().err}"


def test_a_taken_port_is_said(monkeypatch, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        said = why_not(monkeypatch, capsys, "--port", taken.getsockname()[1])
    assert re.search("Cannot serve on this port .*in use", said)


@pytest.mark.parametrize("deadline", ["0", "nan", "inf", "soon"])
def test_a_deadline_that_is_none_is_refused(monkeypatch, capsys, deadline):
    said = why_not(monkeypatch, capsys, f"--deadline={deadline}")
    assert "argument --deadline: invalid" in said


@pytest.mark.parametrize(
    "wrong", [{"vocabulary": "ab"}, {"num_heads": 0}, {"d_model": "8"}]
)
@pytest.mark.nightly
def test_a_checkpoint_that_holds_no_such_model_is_said(
    monkeypatch, capsys, tmp_path, wrong
):
    path = tmp_path / "model"
    said = why_not(monkeypatch, capsys, "--checkpoint", path)
    assert re.search("Cannot serve this model: .*no file", said)
    save_checkpoint(deep_model(), SIZES | {"vocabulary": VOCABULARY} | wrong, path)
    said = why_not(monkeypatch, capsys, "--checkpoint", path)
    assert re.search("Cannot serve this model: .*does not hold", said)


@pytest.mark.nightly
def test_a_missing_package_is_named_with_the_command_that_brings_it():
    program = "import runpy, sys; sys.modules['uvicorn'] = None; "
    program += "runpy.run_module('attn_lib.programs.serve', run_name='__main__')"
    command = [sys.executable, "-c", program]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert run.returncode == 1
    assert "needs uvicorn, which is not installed" in run.stderr
    assert "pip install -r requirements.txt" in run.stderr
    assert "Traceback" not in run.stderr
