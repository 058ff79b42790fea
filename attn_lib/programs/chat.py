"""Talk to SmolLM2-135M in a terminal, offline: python -m attn_lib.chat

Type or paste a message and press Enter. Ctrl-C stops an answer, /new begins a new conversation, Ctrl-D
ends the program. It is a small model: it writes well, knows little, and makes up the rest. With --model
it is the one that you trained in lesson 15, which goes on from what you type.
"""

import argparse
import os
import re
import shutil
import signal
import sys
import time
import unicodedata
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from io import TextIOWrapper
from itertools import chain, islice
from pathlib import Path
from typing import Any, TextIO, cast

import torch

from attn_lib.checks import store
from attn_lib.data.own_model import END_ID as OWN_END
from attn_lib.data.own_model import load_own_model
from attn_lib.four_bits import in_four_bits
from attn_lib.generation import next_token, stream
from attn_lib.llama import Llama
from attn_lib.minilm import MissingWeights
from attn_lib.quantization import Float16Linear, quantized
from attn_lib.smollm2 import END, SYSTEM, load_smollm2, message_ids
from attn_lib.split_linear import SplitLinear

PIECE = 256  # tokens that are read at a time, so that Ctrl-C is noticed
WEIGHTS: dict[str, Callable[[Llama], Llama]] = {
    "int4": in_four_bits,
    "int8": lambda model: cast(Llama, quantized(model)),
    "float16": lambda model: cast(Llama, quantized(model, Float16Linear)),
    "float32": lambda model: cast(Llama, quantized(model, SplitLinear)),
}
COMMANDS = "/new begins anew, Ctrl-C stops an answer, Ctrl-D ends the program."


class Chat:
    """A conversation: its ids, and the keys and values of those that the model has read.

    Args:
        model: of `load_smollm2`.
        tokenizer: of `load_smollm2`.
        system: the first message: who the model is to be.
        max_new_tokens: the longest answer.
        sampling: how tokens are chosen, see `stream`.
    """

    ending = 2  # tokens that end an answer

    def __init__(
        self,
        model: Llama,
        tokenizer: Any,
        system: str,
        max_new_tokens: int,
        **sampling: Any,
    ):
        self.model, self.tokenizer, self.system = model, tokenizer, system
        self.max_new_tokens, self.sampling = max_new_tokens, sampling
        self.caches = self.model.new_caches(1, self.model.config.max_len)
        self.cut = ""  # why the last answer has no end
        self.begin()

    def begin(self) -> None:
        """Forget all but the system's message."""
        self.ids = message_ids(self.tokenizer, "system", self.system)
        for cache in self.caches:
            cache.length = 0

    @property
    def room(self) -> int:
        """How many tokens more the model can read and write, those that end an answer apart."""
        return max(0, self.model.config.max_len - len(self.ids) - self.ending)

    @property
    def unread(self) -> int:
        """How many tokens the model has not read yet."""
        return len(self.ids) - self.caches[0].length

    def answer(self, text: str) -> Generator[str]:
        """Yield the answer to a message, token by token, until it ends or the caller stops.

        While a long message is read, what is yielded is empty.

        Raises:
            ValueError: the conversation is longer than the model can read; a message that does not
                fit leaves it as it was.
        """
        message = message_ids(self.tokenizer, "user", text)
        message += message_ids(self.tokenizer, "assistant")
        if len(message) >= self.room:
            raise ValueError(
                f"This message has {len(message)} tokens, and there is room for {self.room}: the model "
                f"reads {self.model.config.max_len} in all. /new begins another conversation."
            )
        before = len(self.ids)
        self.ids += message
        try:
            yield from self.written(END)
        finally:
            if self.unread > 1:  # stopped while it was read: as if it had not been sent
                del self.ids[before:]
                for cache in self.caches:
                    cache.length = min(cache.length, before)
            else:
                if self.ids[-1] != END:
                    self.ids.append(END)
                self.ids += self.tokenizer.encode("\n").ids

    def written(self, end: int) -> Generator[str]:
        """Yield what the model writes after the ids, until the token `end`, or say in `cut` why not."""
        from tokenizers.decoders import DecodeStream

        while self.unread > PIECE:
            start = self.caches[0].length
            with torch.inference_mode():
                piece = torch.tensor([self.ids[start : start + PIECE]])
                self.model(piece, caches=self.caches, last=True)
            yield ""
        letters = DecodeStream(skip_special_tokens=True)  # a letter may take several tokens
        room, most = self.room, self.max_new_tokens
        tokens = stream(self.model, self.ids, self.caches, **self.sampling)
        self.cut = (
            f"--max-new-tokens is {most}" if most <= room else "the model can read no more"
        )
        for token in islice(tokens, min(room, most)):
            if token == end:
                self.cut = ""
                break
            yield letters.step(self.tokenizer, token) or ""


class Writer(Chat):
    """What a model of lesson 15 is for: it has learned no conversation, and goes on from a beginning."""

    ending = 0

    def begin(self) -> None:
        """Forget what was written."""
        self.ids = [OWN_END]
        for cache in self.caches:
            cache.length = 0

    def answer(self, text: str) -> Generator[str]:
        """Yield what could come after a text, token by token.

        Raises:
            ValueError: the text is longer than the model can read.
        """
        beginning = self.tokenizer.encode(text).ids
        self.begin()
        if len(beginning) >= self.room:
            raise ValueError(
                f"This beginning has {len(beginning)} tokens, and there is room for {self.room - 1}."
            )
        self.ids += beginning
        return self.written(OWN_END)


def fastest_threads(model: Llama, most: int) -> int:
    """Write some tokens with 1, 2, 4, ... threads, and return the best number: machines differ."""
    seconds = dict[int, float]()
    for threads in (2**n for n in range(most.bit_length())):
        torch.set_num_threads(threads)
        tokens = stream(model, [0], model.new_caches(1, 8))
        next(tokens)
        start = time.perf_counter()
        for _ in range(5):
            next(tokens)
        seconds[threads] = time.perf_counter() - start
    return min(seconds, key=lambda threads: seconds[threads])


@contextmanager
def noting_ctrl_c() -> Iterator[list[int]]:
    """Collect presses of Ctrl-C in the list that is given, instead of raising."""
    pressed = list[int]()
    before = signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)


def columns_of(text: str) -> int:
    """Return how wide a text is on the screen: Chinese letters take two columns, accents of their own none."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return len(text) + wide - sum(unicodedata.combining(letter) > 0 for letter in text)


def screen() -> int:
    """Return the columns of the screen; of a file, as good as all."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else 10**9


def wrapped(pieces: Iterable[str], width: int) -> Iterator[str]:
    """Yield pieces of a text such that no word of less than `width` is cut at the screen's edge."""
    column, waiting = 0, ""
    for piece in chain(pieces, ["\n"]):
        *words, waiting = re.split(r"(?<=\s)", waiting + piece)
        for word in words:
            letters = columns_of(word.rstrip())
            if column > 0 and column + letters > width:
                column = 0
                yield "\n"
            if column + letters in (width - 1, width) and word.endswith(" "):
                word = word.rstrip() + "\n"  # or the space would begin the next line
            column = 0 if "\n" in word else (column + columns_of(word)) % width
            yield word


def note(text: str, file: TextIO | None = None) -> None:
    """Print a sentence of the program's own, its lines broken between words."""
    print("".join(wrapped([text], screen())), end="", file=file)


def say(chat: Chat, text: str) -> None:
    """Write an answer as it comes, until its end or Ctrl-C; then how fast it came."""
    start = time.perf_counter()
    times = list[float]()
    with keys_kept(), noting_ctrl_c() as pressed, closing(chat.answer(text)) as answer:

        def heard() -> Iterator[str]:
            for piece in answer:
                if pressed:
                    return
                if chat.unread > 1:
                    print(
                        f"\r[{chat.unread} tokens to read] ",
                        end="",
                        file=sys.stderr,
                        flush=True,
                    )
                else:
                    if not times and time.perf_counter() - start > 1:
                        print("\r" + " " * 30, end="\r", file=sys.stderr, flush=True)
                    times.append(time.perf_counter())
                    yield piece

        for piece in wrapped(heard(), screen()):
            print(piece, end="", flush=True)
    if pressed:
        print("[stopped]")
    elif chat.cut:
        note(f"[cut: {chat.cut}]", sys.stderr)
    if len(times) > 1:
        each = (times[-1] - times[0]) / (len(times) - 1)
        note(
            f"[{len(times)} tokens, {1 / each:.1f} a second, the first after {times[0] - start:.1f} s]",
            sys.stderr,
        )


@contextmanager
def keys_kept() -> Iterator[None]:
    """Keep what is typed or pasted meanwhile for the next message, and off the screen."""
    try:
        import termios
    except ImportError:  # Windows
        yield
        return
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        yield
        return
    before = termios.tcgetattr(sys.stdin)
    kept = before.copy()
    # In lines (ICANON), what is longer than 4096 would be lost.
    kept[3] &= ~(termios.ECHO | termios.ICANON)
    kept[3] |= termios.NOFLSH  # Ctrl-C stops the answer, and drops nothing of this
    termios.tcsetattr(sys.stdin, termios.TCSADRAIN, kept)
    print("\x1b[?2004h", end="", flush=True)  # a paste of several lines stays one
    try:
        yield
    finally:
        print("\x1b[?2004l", end="", flush=True)
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


@contextmanager
def editing() -> Iterator[None]:
    """Give `input` arrow keys, a history that is kept, and pastes of several lines, where readline is."""
    try:
        import readline
    except ImportError:
        yield
        return
    readline.parse_and_bind("set enable-bracketed-paste on")
    readline.set_history_length(1000)
    with suppress(OSError):
        readline.read_history_file(history_path())
    try:
        yield
    finally:
        with suppress(OSError):
            history_path().parent.mkdir(parents=True, exist_ok=True)
            history_path().touch(mode=0o600)
            readline.write_history_file(history_path())


def history_path() -> Path:
    """The file of what was typed, beside the learner's progress."""
    return store.path().with_name("chat_history")


def as_text(typed: str) -> str:
    """Return what was typed or read; bytes that are no text become \N{REPLACEMENT CHARACTER}."""
    return typed.encode("utf-8", "surrogateescape").decode("utf-8", "replace").strip()


def talk(chat: Chat) -> None:
    """Answer what is typed, until the input ends."""
    note(COMMANDS)
    while True:
        try:
            text = as_text(input("\n> "))
        except KeyboardInterrupt:
            print("\n(Ctrl-D ends the program.)")
            continue
        except EOFError:
            return print()
        if text in ("exit", "quit", "/exit", "/quit"):
            return None
        if text == "/new":
            chat.begin()
            print("(A new conversation.)")
        elif text.startswith("/"):
            note(COMMANDS)
        elif text:
            try:
                say(chat, text)
            except ValueError as error:
                note(str(error))
                continue
            except KeyboardInterrupt:
                pass  # a second one, just after the answer has stopped
            if chat.room < chat.model.config.max_len // 8 and not isinstance(chat, Writer):
                note(f"(Room for {chat.room} tokens. /new begins another conversation.)")


def options_given() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m attn_lib.chat",
        description=(__doc__ or "").partition("\n\n")[2],
    )
    add = parser.add_argument
    add("--prompt", help='answer this and end; "-" reads it from standard input')
    add(
        "--model",
        type=Path,
        help="the file of a model that you trained; then nothing is asked, it goes on from a text",
    )
    add("--system", default=SYSTEM, help="who the model is to be")
    add("--temperature", type=float, default=0.2, help="0: the likeliest token (0.2)")
    add(
        "--top-p", type=float, default=0.9, help="share of likely tokens to draw from (0.9)"
    )
    add("--seed", type=int, help="of the draws: the same answers again")
    add("--max-new-tokens", type=int, default=500, help="the longest answer (500)")
    add(
        "--weights",
        choices=WEIGHTS,
        help="fewer bits, sooner written: int4 (as in the file of SmolLM2, where the processor can), int8 (a "
        "little less exact), float16 (a model of yours, where the processor can), float32 (anywhere)",
    )
    add("--threads", type=int, help="of the processor (whatever is fastest: it tries)")
    options = parser.parse_args()
    if options.prompt is None and not sys.stdin.isatty():
        options.prompt = "-"  # a pipe
    try:
        next_token(torch.zeros(2), options.temperature, options.top_p)
    except ValueError as error:
        parser.error(str(error))
    if not 0 <= (options.seed or 0) < 2**63:
        parser.error(f"expected --seed from 0 to 2^63 - 1, got {options.seed}")
    cores = os.cpu_count() or 1
    if options.max_new_tokens < 1:
        parser.error("expected --max-new-tokens of at least 1")
    if options.threads is not None and not 1 <= options.threads <= cores:
        parser.error(f"expected --threads from 1 to {cores}, got {options.threads}")
    return options


def prompt_of(options: argparse.Namespace) -> str:
    """Return the prompt, read from standard input if it is "-"."""
    text = as_text(sys.stdin.read() if options.prompt == "-" else options.prompt)
    if not text:
        sys.exit("expected a prompt, got none")
    return text


def with_weights(model: Llama, options: argparse.Namespace) -> Llama:
    """Return the model with the weights that were asked for, or with the first that this processor can.

    Four bits are what the file of SmolLM2 holds; an own model would lose by them.
    """
    unasked = ["float16", "float32"] if options.model else ["int4", "float16", "float32"]
    for name in [options.weights] if options.weights else unasked:
        try:
            return WEIGHTS[name](model)
        except (RuntimeError, ValueError) as error:  # no such kernel, or odd widths
            refused = f"PyTorch cannot multiply by {name} weights here: {error}"
    sys.exit(refused)


def main() -> None:
    """Load the model, then answer one prompt or talk."""
    options = options_given()
    prompt = None if options.prompt is None else prompt_of(options)
    print("Loading the model ...", file=sys.stderr)
    torch.set_num_threads(1)  # on a busy machine, more make it load at half the speed
    try:
        model, tokenizer = (
            load_own_model(options.model) if options.model else load_smollm2()
        )
    except (MissingWeights, OSError, ValueError) as error:
        sys.exit(str(error))
    model = with_weights(model, options)
    torch.set_num_threads(options.threads or fastest_threads(model, os.cpu_count() or 1))
    generator = torch.Generator()
    generator.manual_seed(generator.seed() if options.seed is None else options.seed)
    sampling = {
        "temperature": options.temperature,
        "top_p": options.top_p,
        "generator": generator,
    }
    kind = Writer if options.model else Chat
    chat = kind(model, tokenizer, options.system, options.max_new_tokens, **sampling)
    if not chat.room:
        most, tokens = model.config.max_len, len(chat.ids)
        sys.exit(f"expected a --system of less than {most} tokens, got {tokens}")
    for file in (sys.stdout, sys.stderr):
        cast(TextIOWrapper, file).reconfigure(
            errors="replace"
        )  # letters that the terminal lacks
    try:
        if prompt is not None:
            return say(chat, prompt)
        with editing():
            return talk(chat)
    except ValueError as error:
        sys.exit(str(error))
    except OSError as error:  # the reader has closed the pipe, or the disk is full
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            sys.exit(f"the answer cannot be written: {error}")
