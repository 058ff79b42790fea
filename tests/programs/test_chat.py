"""The chat as a program in a terminal, and as a conversation that is read once."""

import argparse
import fcntl
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time
from contextlib import closing
from functools import partial
from itertools import islice
from pathlib import Path

import pytest
import torch

from attn_lib import minilm
from attn_lib.data.own_model import load_own_model, new_model, save_own_model
from attn_lib.generation import generate
from attn_lib.programs import chat
from attn_lib.programs.chat import Chat, Writer, wrapped
from attn_lib.smollm2 import END, load_smollm2
from tests.library.test_smollm2 import needs_weights

pytestmark = pytest.mark.slow
COMMAND = [sys.executable, "-m", "attn_lib.chat", "--threads", "1", "--temperature", "0"]


def run(*options, **more):
    return subprocess.run(
        [*COMMAND, *options], capture_output=True, text=True, timeout=120, **more
    )


@pytest.fixture(scope="module")
def loaded():
    return load_smollm2()


@needs_weights
def test_what_was_said_is_read_once(loaded):
    """After three answers, one of them broken off, the next token is that of a fresh reading."""
    model, tokenizer = loaded
    talk = Chat(model, tokenizer, "Be brief.", 12)
    for text in ("Hi", "What is the capital of France?"):
        "".join(talk.answer(text))
    with closing(talk.answer("Write a poem.")) as answer:
        list(islice(answer, 3))
    assert talk.ids.count(END) == 7  # the system's message, three questions, three answers
    assert talk.caches[0].length < len(talk.ids)
    answer = talk.answer("Go on.")
    next(answer)
    whole = torch.tensor([talk.ids[:-1]])
    assert generate(model, whole, 1)[0, -1] == talk.ids[-1]
    talk.begin()
    assert talk.caches[0].length == 0
    assert "Be brief." in tokenizer.decode(talk.ids)


def own_model_at(path):
    torch.manual_seed(0)
    sizes = dict(d_model=16, num_heads=4, num_kv_heads=2, num_layers=1, d_ff=24)
    save_own_model(new_model(257, **sizes, max_len=16), [], path)
    return path


def test_an_own_model_goes_on_from_each_text_anew(tmp_path):
    model, tokenizer = load_own_model(own_model_at(tmp_path / "mine.safetensors"))
    talk = Writer(model, tokenizer, "", 100)
    first = "".join(talk.answer("Return"))
    assert len(talk.ids) <= model.config.max_len
    assert "".join(talk.answer("Return")) == first
    with pytest.raises(ValueError, match="has 20 tokens, and there is room for 14"):
        talk.answer("a" * 20)
    assert "".join(talk.answer("Return")) == first


def test_an_own_model_is_told_in_the_terminal(tmp_path):
    path = own_model_at(tmp_path / "mine.safetensors")
    done = run("--model", str(path), "--prompt", "Return")
    assert done.returncode == 0, done.stderr
    assert "tokens" in done.stderr
    missing = run("--model", str(tmp_path / "none"), "--prompt", "Return")
    assert missing.returncode == 1
    assert "found no file" in missing.stderr
    assert "Traceback" not in missing.stderr


def test_a_long_beginning_is_read_in_pieces_and_a_cut_is_said(tmp_path, monkeypatch):
    loaded = load_own_model(own_model_at(tmp_path / "mine.safetensors"))
    whole = "".join(Writer(*loaded, "", 2).answer("Return it"))
    monkeypatch.setattr(chat, "PIECE", 4)
    talk = Writer(*loaded, "", 2)
    pieces = list(talk.answer("Return it"))
    assert len(pieces) == 2 + 2  # 10 tokens, the last 4 of them with the answer
    assert "".join(pieces) == whole
    assert talk.cut == "--max-new-tokens is 2"
    talk.max_new_tokens = 100
    list(talk.answer("Return it"))
    assert talk.cut == "the model can read no more"


@pytest.mark.parametrize("width", [10, 11, 17, 80])
def test_words_are_not_cut_at_the_edge_of_the_screen(width):
    text = "one fourteen  letters\n\n  def f(x):\n    return x * y\n"
    pieces = [text[i : i + 3] for i in range(0, len(text), 3)]
    shown = "".join(wrapped(pieces, width))
    assert shown.split() == text.split()
    if width == 80:
        assert shown == text + "\n"
    for line in shown.split("\n"):
        assert not line.startswith(" ") or line.startswith(("  def", "    return"))
        for word in re.finditer(r"\S+", line):
            assert word.start() // width == (word.end() - 1) // width, line


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("that it is", 7, ["that it", "is"]),  # the space after "it" begins no line
        ("犬が 好き", 8, ["犬が ", "好き"]),  # each of these letters is as wide as two
        ("e\u0301te\u0301 chaud", 9, ["e\u0301te\u0301 chaud"]),
    ],
)
def test_lines_are_as_wide_as_they_are_on_the_screen(text, width, lines):
    assert "".join(wrapped(text, width)).split("\n") == [*lines, ""]


def test_what_the_program_says_is_not_cut_either(monkeypatch, capsys):
    monkeypatch.setattr(chat, "screen", lambda: 20)
    chat.note(chat.COMMANDS)
    lines = capsys.readouterr().out.splitlines()
    assert max(len(line.rstrip()) for line in lines) <= 20
    assert "\n".join(lines).split() == chat.COMMANDS.split()


def test_a_second_ctrl_c_just_after_an_answer_ends_nothing(monkeypatch, tmp_path):
    talk = Writer(*load_own_model(own_model_at(tmp_path / "mine.safetensors")), "", 2)
    typed = iter(["Return", "exit"])
    monkeypatch.setattr("builtins.input", lambda _: next(typed))

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(chat, "say", interrupted)
    chat.talk(talk)
    assert next(typed, None) is None


def test_a_message_that_does_not_fit_is_told_how_to_go_on_once(
    monkeypatch, tmp_path, capsys
):
    talk = Chat(*load_own_model(own_model_at(tmp_path / "mine.safetensors")), "abc", 2)
    typed = iter(["a" * 20, "exit"])
    monkeypatch.setattr("builtins.input", lambda _: next(typed))
    chat.talk(talk)
    said = capsys.readouterr().out.removeprefix(chat.COMMANDS)
    assert said.count("/new begins another conversation") == 1


@needs_weights
def test_a_system_text_that_leaves_no_room_is_refused(monkeypatch, loaded):
    options = ["--system", "word " * 9000, "--prompt", "Hi", "--threads", "1"]
    monkeypatch.setattr(sys, "argv", ["chat", *options])
    monkeypatch.setattr(chat, "load_smollm2", lambda: loaded)
    with pytest.raises(SystemExit, match=r"--system of less than 8192 tokens, got 9\d{3}"):
        chat.main()


@pytest.mark.parametrize("imported", ["torch._utils", "attn_lib.masks", "attn_lib.llama"])
def test_ctrl_c_during_the_import_ends_the_program_quietly(imported):
    command = [sys.executable, "-X", "importtime", *COMMAND[1:], "--prompt", "Hi"]
    heeding = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    options = {"stderr": subprocess.PIPE, "text": True, "preexec_fn": heeding}
    with subprocess.Popen(command, **options) as program:
        for line in program.stderr:
            if line.split()[-1] == imported:
                program.send_signal(signal.SIGINT)
                break
        rest = program.stderr.read()
        assert program.wait(60) in (-signal.SIGINT, 130)
    assert "Loading" not in rest
    assert "Traceback" not in rest
    assert "KeyboardInterrupt" not in rest


def test_help_fits_the_window():
    done = run("--help", env=os.environ | {"COLUMNS": "80"})
    assert done.returncode == 0
    assert max(len(line) for line in done.stdout.splitlines()) <= 80


@needs_weights
def test_a_message_stopped_while_it_is_read_was_never_sent(loaded, monkeypatch):
    monkeypatch.setattr(chat, "PIECE", 8)
    talk = Chat(*loaded, "Be brief.", 5)
    before = [*talk.ids]
    with closing(talk.answer("word " * 30)) as answer:
        assert [next(answer), next(answer)] == ["", ""]
        assert talk.unread > 8
    assert talk.ids == before
    assert talk.caches[0].length <= len(before)
    assert "".join(talk.answer("Hi")) == "".join(Chat(*loaded, "Be brief.", 5).answer("Hi"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has it")
def test_what_cannot_be_written_is_said(tmp_path):
    path = own_model_at(tmp_path / "mine.safetensors")
    options = ["--model", str(path), "--prompt", "Return"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*COMMAND, *options],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
        )
    assert done.returncode == 1
    assert "cannot be written" in done.stderr
    assert "Traceback" not in done.stderr


def test_letters_that_the_terminal_lacks_are_no_error(tmp_path):
    path = own_model_at(tmp_path / "mine.safetensors")
    ascii_only = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = run("--model", str(path), "--prompt", "é", "--seed", "1", env=ascii_only)
    assert done.returncode == 0, done.stderr


@needs_weights
def test_a_message_that_does_not_fit_changes_nothing(loaded):
    talk = Chat(*loaded, "", 5)
    before = [*talk.ids]
    with pytest.raises(
        ValueError, match=r"has 9\d{3} tokens, and there is room for 8\d{3}"
    ):
        next(talk.answer("word " * 9000))
    assert talk.ids == before
    next(talk.answer("Hi"))


@needs_weights
def test_letters_of_several_tokens_come_whole(loaded):
    model, tokenizer = loaded
    talk = Chat(model, tokenizer, "", 5)
    ids = tokenizer.encode("犬😀").ids
    assert len(ids) > 2

    def given(*args, **options):
        yield from [*ids, END]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chat, "stream", given)
        talk.max_new_tokens = 100
        talk.ids.append(END)
        assert [piece for piece in talk.answer("?") if piece] == ["犬", "😀"]


@needs_weights
def test_a_prompt_is_answered_through_a_pipe():
    done = run("--weights", "int8", input="What is the capital of France?\n")
    assert (done.returncode, done.stdout) == (0, "The capital of France is Paris.\n")
    speed = r"\[7 tokens, [\d.]+ a second, the first after [\d.]+ s\]"
    assert re.search(speed, done.stderr)


@needs_weights
@pytest.mark.nightly
def test_a_reader_who_has_enough_is_no_error():
    command, pipe = [*COMMAND, "--prompt", "Count from 1 to 10."], subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as program:
        program.stdout.read(1)
        program.stdout.close()
        errors = program.stderr.read()
        assert program.wait(60) == 0
    assert "Traceback" not in errors


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--top-p", "0"], "0 < top_p <= 1, got 0.2 and 0.0"),
        (["--temperature", "-1"], "0 <= temperature < inf"),
        (["--seed", str(10**30)], "expected --seed from 0 to"),
        (["--seed", "-1"], "expected --seed from 0 to"),
        (["--threads", "0"], "expected --threads from 1 to"),
        (["--threads", "100000"], "expected --threads from 1 to"),
        (["--max-new-tokens", "0"], "of at least 1"),
        (["--weights", "int3"], "invalid choice"),
    ],
)
def test_wrong_options_are_refused_at_once(monkeypatch, capsys, options, says):
    monkeypatch.setattr(sys, "argv", ["chat", *options, "--prompt", "Hi"])
    with pytest.raises(SystemExit) as ended:
        chat.main()
    errors = capsys.readouterr().err
    assert ended.value.code == 2
    assert says in errors
    assert "Loading" not in errors


@pytest.mark.parametrize(
    ("own", "works", "taken"),
    [
        (None, {"int4", "float16", "float32"}, "int4"),
        (None, {"float16", "float32"}, "float16"),
        (None, {"float32"}, "float32"),
        ("mine", {"int4", "float16", "float32"}, "float16"),
    ],
)
def test_weights_are_the_first_that_the_processor_can(monkeypatch, own, works, taken):
    def taking(name):
        if name not in works:
            raise RuntimeError("no kernel")
        return name

    makers = {
        name: partial(lambda name, model: taking(name), name) for name in chat.WEIGHTS
    }
    monkeypatch.setattr(chat, "WEIGHTS", makers)
    options = argparse.Namespace(weights=None, model=own)
    assert chat.with_weights(None, options) == taken
    options.weights = "int8"
    with pytest.raises(SystemExit, match="cannot multiply by int8 weights here: no kernel"):
        chat.with_weights(None, options)


def test_missing_weights_name_the_command(monkeypatch):
    monkeypatch.setattr(minilm, "find_spec", lambda name: None)
    monkeypatch.setattr(sys, "argv", ["chat", "--prompt", "Hi"])
    with pytest.raises(SystemExit, match="make models"):
        chat.main()


class Terminal:
    """The chat in a terminal of its own."""

    def __init__(self, home):
        self.screen, theirs = pty.openpty()

        def heeding():
            # A shell that runs the tests in the background lets Ctrl-C be ignored.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            fcntl.ioctl(
                0, termios.TIOCSCTTY, 0
            )  # a key is a signal where the terminal is its own

        streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
        self.process = subprocess.Popen(
            COMMAND,
            **streams,
            env=os.environ | {"ATTN_HOME": str(home), "TERM": "xterm-256color"},
            start_new_session=True,
            preexec_fn=heeding,
        )
        os.close(theirs)
        self.text = ""

    def wait_for(self, pattern, seconds=90, again=None):
        """Read until the pattern has come; return all that came until then.

        Where nothing comes for a second, the signal `again` is sent again: one that comes just before
        the program begins to wait for a key is not noticed.
        """
        end = time.monotonic() + seconds
        while not (found := re.search(pattern, self.text, re.DOTALL)):
            assert time.monotonic() < end, self.text
            if select.select([self.screen], [], [], 1)[0]:
                self.text += os.read(self.screen, 1000).decode(errors="replace")
            elif again is not None:
                self.process.send_signal(again)
        seen, self.text = self.text[: found.end()], self.text[found.end() :]
        return seen

    def type(self, text):
        os.write(self.screen, text.encode())


@needs_weights
def test_talking_in_a_terminal(tmp_path):
    terminal = Terminal(tmp_path)
    try:
        terminal.wait_for(r"\n> ")
        for typed, pattern in (
            ("What is the capital of France?", r"is Paris\..*a second.*\n> "),
            ("Count from 1 to 100.", r"1.*2.*3"),
        ):
            terminal.type(f"{typed}\n")
            terminal.wait_for(pattern)
        question = "What is the capital\nof France?"
        terminal.type(f"\x1b[200~{question}\x1b[201~\r")  # a paste, while it writes
        time.sleep(0.3)
        terminal.type("\x03")
        assert "capital" not in terminal.wait_for(r"\[stopped\].*?a second")
        assert terminal.wait_for(r"is Paris\..*a second.*\n> ").count("a second") == 1
        terminal.process.send_signal(signal.SIGINT)
        terminal.wait_for(r"Ctrl-D ends the program.*\n> ", again=signal.SIGINT)
        for typed, pattern in (
            ("/help", "/new begins anew"),
            ("/new", "A new conversation"),
        ):
            terminal.type(f"{typed}\n")
            terminal.wait_for(rf"{pattern}.*\n> ")
        terminal.type(f"\x1b[200~{question}\x1b[201~\r")  # a paste
        assert terminal.wait_for(r"is Paris\..*a second.*\n> ").count("a second") == 1
        terminal.type("word " * 2000 + "\n")
        terminal.wait_for(r"tokens to read")
        terminal.process.send_signal(signal.SIGINT)
        terminal.wait_for(r"\[stopped\].*\n> ")
        terminal.type("\x04")
        assert terminal.process.wait(30) == 0
        assert "Count from 1 to 100." in (tmp_path / "chat_history").read_text()
    finally:
        terminal.process.kill()
        terminal.process.wait()
        os.close(terminal.screen)
