"""A small HTTP service around a language model, for this machine only: python -m attn_lib.programs.serve

    GET  /health    ->  {"status": "ok", "busy": 0, "at_once": 2}
    POST /generate  {"prompt": "Write ", "max_new_tokens": 20}  ->  {"text": ..., "tokens": 20, "seconds": ...}

An error is {"error": "what was expected, what came"} and its status:

    400 not JSON, or no HTTP  404, 405 no such page, no such method   408 the body came too slowly
    413 too many bytes        422 JSON of the wrong form              503 too many at once: later
    504 the deadline passed; what was written until then is in it, as "text", "tokens" and "seconds"

Ctrl-C ends the service when all that is being written is answered; pressed again, at once.
"""

import argparse
import asyncio
import math
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType

from attn_lib.models import LanguageModel
from attn_lib.programs.writing import load_model, write

try:
    import h11
    import uvicorn
    from fastapi import FastAPI, HTTPException, Request
    from fastapi.responses import JSONResponse
    from pydantic import BaseModel, ConfigDict, Field, ValidationError
    from starlette.exceptions import HTTPException as AnyHTTPException
    from starlette.requests import ClientDisconnect
    from uvicorn.protocols.http.h11_impl import H11Protocol
except ModuleNotFoundError as error:
    if __name__ != "__main__":
        raise
    sys.exit(
        f"The service needs {error.name}, which is not installed. In the course folder, run\n"
        "pip install -r requirements.txt\n"
        "or, without one: pip install 'attention-from-scratch[shipping]'"
    )

MAX_BYTES = 16_384  # of a body
MAX_PROMPT = 1000  # characters
MAX_NEW_TOKENS = 1000
AT_ONCE = 2  # texts that are written at the same time
MAX_CONNECTIONS = 100
READ_SECONDS = 5  # for the headers of a request, and as long for its body


class Order(BaseModel):
    """An order of a client, with strict types: a number in quotes is refused."""

    model_config = ConfigDict(strict=True, extra="forbid")
    prompt: str = Field(min_length=1, max_length=MAX_PROMPT)
    max_new_tokens: int = Field(100, ge=1, le=MAX_NEW_TOKENS)


class Writer:
    """A model that writes for several clients at once, each in a thread of its own."""

    def __init__(self, model: LanguageModel, vocabulary: str, seconds: float):
        self.model, self.vocabulary, self.seconds = model, vocabulary, seconds
        self.number = {character: i for i, character in enumerate(vocabulary)}
        self.running: set[threading.Event] = set()  # one ends each text

    async def answer(self, order: Order, request: Request) -> JSONResponse:
        """Write what was ordered, until the deadline, or until the client leaves."""
        if unknown := set(order.prompt) - self.number.keys():
            raise HTTPException(422, f"prompt: the model does not know {min(unknown)!a}")
        if len(self.running) >= AT_ONCE:
            busy = f"{AT_ONCE} texts are being written already, try again later"
            raise HTTPException(503, busy, {"Retry-After": "1"})
        ids = [self.number[character] for character in order.prompt]
        start = time.monotonic()
        work = partial(write, self.model, ids, order.max_new_tokens, start + self.seconds)
        written = await self._in_thread(work, request)
        answer = {
            "text": "".join(self.vocabulary[i] for i in written),
            "tokens": len(written),
            "seconds": round(time.monotonic() - start, 3),
        }
        if len(written) == order.max_new_tokens:
            return JSONResponse(answer)
        late = f"{len(written)} of {order.max_new_tokens} tokens were written in {self.seconds:g} s"
        return JSONResponse({"error": late} | answer, 504)

    async def _in_thread(
        self, work: Callable[[threading.Event], list[int]], request: Request
    ) -> list[int]:
        stop = threading.Event()
        self.running.add(stop)
        job = asyncio.create_task(asyncio.to_thread(work, stop))
        left = asyncio.create_task(has_left(request))
        try:
            await asyncio.wait({job, left}, return_when=asyncio.FIRST_COMPLETED)
            stop.set()
            return await job
        finally:
            stop.set()
            left.cancel()
            self.running.discard(stop)


async def has_left(request: Request) -> None:
    """Wait until the client closes the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def read_order(request: Request) -> Order:
    """Read an order; the body may be of unknown length, or never end."""
    body, length = b"", 0
    try:
        async with asyncio.timeout(READ_SECONDS):
            async for chunk in request.stream():
                length += len(chunk)
                if length <= MAX_BYTES:
                    body += chunk
                elif length > 16 * MAX_BYTES:
                    break  # until here it was dropped: many clients listen only after all is sent
    except TimeoutError:
        raise HTTPException(408, f"expected the body within {READ_SECONDS} s") from None
    if length > MAX_BYTES:
        raise HTTPException(413, f"expected a body of at most {MAX_BYTES} bytes, got more")
    try:
        return Order.model_validate_json(body)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "body"
        status = 400 if first["type"] == "json_invalid" else 422
        raise HTTPException(status, f"{where}: {first['msg']}") from None


def service(writer: Writer) -> FastAPI:
    """Return the application: its pages, and its answers to errors."""
    app = FastAPI(openapi_url=None)

    @app.get("/health")
    async def health():
        return {"status": "ok", "busy": len(writer.running), "at_once": AT_ONCE}

    @app.post("/generate")
    async def generate(request: Request):
        return await writer.answer(await read_order(request), request)

    @app.exception_handler(AnyHTTPException)
    async def refuse(request: Request, error: AnyHTTPException):
        return JSONResponse({"error": error.detail}, error.status_code, error.headers)

    @app.exception_handler(ClientDisconnect)  # nobody is there to read it
    @app.exception_handler(Exception)  # uvicorn writes the traceback to stderr, for us
    async def fail(request: Request, error: Exception):
        return JSONResponse({"error": "something failed here"}, 500)

    return app


class OneRequest(H11Protocol):
    """A connection for one request, closed if the headers come too late; uvicorn would wait.

    Where uvicorn refuses in plain text, this one does in JSON.
    """

    def connection_made(self, transport) -> None:
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            many = (
                f"expected at most {MAX_CONNECTIONS} connections at once, try again later"
            )
            self.app = JSONResponse({"error": many}, 503, {"Retry-After": "1"})
        self.loop.call_later(READ_SECONDS, self.hang_up)

    def hang_up(self) -> None:
        if self.cycle is None:  # no request yet
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        answer = JSONResponse({"error": f"expected HTTP: {msg}"}, 400)
        headers = [*answer.raw_headers, (b"connection", b"close")]
        start = h11.Response(status_code=400, headers=headers, reason=b"Bad Request")
        for event in (start, h11.Data(bytes(answer.body)), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event))
        self.transport.close()


class Server(uvicorn.Server):
    """A server that a second Ctrl-C ends at once; uvicorn's would cancel what is written, with tracebacks."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.should_exit:
            os._exit(128 + sig)
        super().handle_exit(sig, frame)


def seconds(text: str) -> float:
    """Read a deadline from the command line."""
    if not 0 < float(text) < math.inf:
        raise ValueError
    return float(text)


def options_given() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m attn_lib.programs.serve",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--checkpoint", type=Path, help="a model (an untrained one)")
    parser.add_argument("--port", type=int, default=8000, help="0: any free one (8000)")
    parser.add_argument(
        "--deadline", type=seconds, default=10, help="seconds for a text (10)"
    )
    return parser.parse_args()


def main() -> None:
    """Serve until Ctrl-C or SIGTERM; what is being written by then is still answered."""
    options = options_given()
    try:
        writer = Writer(*load_model(options.checkpoint), options.deadline)
    except (OSError, ValueError) as error:
        sys.exit(f"Cannot serve this model: {error}")
    try:
        listener = socket.create_server(("127.0.0.1", options.port))
    except (OSError, OverflowError) as error:
        sys.exit(f"Cannot serve on this port (--port 0 takes a free one): {error}")
    config = uvicorn.Config(
        service(writer),
        http=OneRequest,
        ws="none",
        headers=[("Connection", "close")],
        log_level="error",
        timeout_graceful_shutdown=math.ceil(options.deadline) + READ_SECONDS,
    )
    # When all is answered, uvicorn repeats the signal that ended it. Then the exit status is 0.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit())
    port = listener.getsockname()[1]
    print(f"Ready: http://127.0.0.1:{port} (Ctrl-C ends it)", flush=True)
    Server(config).run([listener])


if __name__ == "__main__":
    main()
