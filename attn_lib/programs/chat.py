"""Talk to SmolLM2-135M in a terminal, offline: python -m attn_lib.chat

Type a message and press Enter. Ctrl-C stops an answer, /new begins a new conversation, Ctrl-D ends
the program. It is a small model: it writes well, knows little, and makes up the rest. With --model
it is the one that you trained in lesson 15, which goes on from what you type.
"""

import argparse
import os
import signal
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any, cast

import torch

from attn_lib.data.own_model import END_ID as OWN_END
from attn_lib.data.own_model import load_own_model
from attn_lib.generation import next_token, stream
from attn_lib.llama import Llama
from attn_lib.minilm import MissingWeights
from attn_lib.quantization import Float16Linear, Int8Linear, quantized
from attn_lib.smollm2 import END, SYSTEM, load_smollm2, message_ids

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
        self.begin()

    def begin(self) -> None:
        """Forget all but the system's message."""
        self.ids = message_ids(self.tokenizer, "system", self.system)
        for cache in self.caches:
            cache.length = 0

    def answer(self, text: str) -> Generator[str]:
        """Yield the answer to a message, token by token, until it ends or the caller stops.

        Raises:
            ValueError: the conversation is longer than the model can read; a message that does not
                fit leaves it as it was.
        """
        message = message_ids(self.tokenizer, "user", text)
        message += message_ids(self.tokenizer, "assistant")
        room = self.model.config.max_len - len(self.ids)
        if len(message) > room:
            raise ValueError(
                f"This message has {len(message)} tokens, and there is room for {room}."
            )
        self.ids += message
        try:
            yield from self.written(END, self.max_new_tokens)
        finally:
            if self.ids[-1] != END:
                self.ids.append(END)
            self.ids += self.tokenizer.encode("\n").ids

    def written(self, end: int, most: int) -> Generator[str]:
        """Yield what the model writes after the ids, until the token `end`."""
        from tokenizers.decoders import DecodeStream

        letters = DecodeStream(skip_special_tokens=True)  # a letter may take several tokens
        tokens = stream(self.model, self.ids, self.caches, **self.sampling)
        for token in islice(tokens, most):
            if token == end:
                break
            yield letters.step(self.tokenizer, token) or ""


class Writer(Chat):
    """What a model of lesson 15 is for: it has learned no conversation, and goes on from a beginning."""

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
        room = self.model.config.max_len - 1 - len(beginning)
        if room < 1:
            raise ValueError(
                f"This beginning has {len(beginning)} tokens, and there is room for {len(beginning) + room - 1}."
            )
        self.begin()
        self.ids += beginning
        return self.written(OWN_END, min(room, self.max_new_tokens))


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


def say(chat: Chat, text: str) -> None:
    """Write an answer as it comes, until its end or Ctrl-C; then how fast it came."""
    times = [time.perf_counter()]
    with noting_ctrl_c() as pressed, closing(chat.answer(text)) as answer:
        for piece in answer:
            times.append(time.perf_counter())
            if pressed:
                print(" [stopped]", end="")
                break
            print(piece, end="", flush=True)
    print(flush=True)
    if len(times) > 2:
        each = (times[-1] - times[1]) / (len(times) - 2)
        print(
            f"[{len(times) - 1} tokens, {1 / each:.1f} a second, the first after {times[1] - times[0]:.1f} s]",
            file=sys.stderr,
        )


def talk(chat: Chat) -> None:
    """Answer what is typed, until the input ends."""
    with suppress(ImportError):
        import readline  # noqa: F401  arrow keys and history in input()
    print(COMMANDS)
    while True:
        try:
            text = input("\n> ").strip()
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
            print(COMMANDS)
        elif text:
            try:
                say(chat, text)
            except ValueError as error:
                print(f"{error} /new begins another conversation.")


def options_given() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m attn_lib.chat",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
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
        choices=("float32", "float16", "int8"),
        default="float32",
        help="less bytes, sooner written: float16 where the processor can, int8 a little less exact",
    )
    add("--threads", type=int, help="of the processor (whatever is fastest: it tries)")
    options = parser.parse_args()
    if options.prompt is None and not sys.stdin.isatty():
        options.prompt = "-"  # a pipe
    try:
        next_token(torch.zeros(2), options.temperature, options.top_p)
        torch.Generator().manual_seed(options.seed or 0)
    except (ValueError, RuntimeError) as error:
        parser.error(str(error))
    threads = 1 if options.threads is None else options.threads
    if min(options.max_new_tokens, threads) < 1:
        parser.error("expected --max-new-tokens and --threads of at least 1")
    return options


def prompt_of(options: argparse.Namespace) -> str:
    """Return the prompt, read from standard input if it is "-"; bytes that are no text become \N{REPLACEMENT CHARACTER}."""
    text = sys.stdin.read() if options.prompt == "-" else options.prompt
    text = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace").strip()
    if not text:
        sys.exit("expected a prompt, got none")
    return text


def main() -> None:
    """Load the model, then answer one prompt or talk."""
    options = options_given()
    prompt = None if options.prompt is None else prompt_of(options)
    print("Loading the model, and trying how many threads are fastest ...", file=sys.stderr)
    try:
        model, tokenizer = (
            load_own_model(options.model) if options.model else load_smollm2()
        )
    except (MissingWeights, OSError, ValueError) as error:
        sys.exit(str(error))
    if options.weights != "float32":
        try:
            layer = Int8Linear if options.weights == "int8" else Float16Linear
            model = cast(Llama, quantized(model, layer))
        except RuntimeError as error:  # no such kernel for this processor
            sys.exit(f"PyTorch cannot multiply by {options.weights} weights here: {error}")
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
    if prompt is None:
        return talk(chat)
    try:
        say(chat, prompt)
    except ValueError as error:
        sys.exit(str(error))
    except BrokenPipeError:  # the reader has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def run() -> None:
    """Call `main` for a terminal: Ctrl-C while the model loads ends the program quietly."""
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    run()
