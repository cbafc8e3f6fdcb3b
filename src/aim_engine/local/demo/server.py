"""The server of the demo image: OpenAI's interface and vLLM's metrics, answering from the bytes of its weights."""

import asyncio
import json
import os
import signal
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from aim_engine.local.demo import profiles
from aim_engine.local.demo.chat import Answer, ChatQuestion, Question, Refusal, TextQuestion
from aim_engine.local.demo.weights import Weights

Metric = TypeVar("Metric", Counter, Gauge, Histogram)

PORT = 8000
CONTEXT = 4096
"""Tokens that question and answer may have together, unless AIM_ENGINE_ARGS says `max-model-len`."""


class Setting(NamedTuple):
    """What the container's environment makes of the image."""

    host: str
    model: str
    """The model whose weights are served."""
    name: str
    """What clients call it."""
    folder: Path
    profile: str
    tokens_per_second: float
    context: int


def read(environment: Mapping[str, str]) -> Setting:
    """The setting of this container; NoProfile if it wishes for what the image does not have."""
    profile = profiles.chosen(environment)
    model = environment.get("AIM_MODEL_ID") or environment[profiles.MODEL]
    arguments: dict[str, Any] = profile.engine_args | json.loads(environment.get("AIM_ENGINE_ARGS") or "{}")
    cache = environment.get("AIM_CACHE_PATH", "/workspace/model-cache")
    return Setting(
        host=environment.get("POD_IP", "127.0.0.1"),
        model=model,
        name=str(arguments.get("served-model-name", model)),
        folder=_mounted(f"{cache}/{model}", environment),
        profile=profile.id,
        tokens_per_second=float(arguments["tokens-per-second"]),
        context=int(arguments.get("max-model-len", CONTEXT)),
    )


def _mounted(path: str, environment: Mapping[str, str]) -> Path:
    """Where a mount is: at its path, or where the node says on a machine whose kernel has no namespaces for us."""
    return Path(json.loads(environment.get("AIM_MOUNTS", "{}")).get(path, path))


class Measured:
    """vLLM's metrics, those that autoscalers and dashboards look at."""

    def __init__(self, model: str) -> None:
        self.registry = CollectorRegistry()
        self.running = self._of(Gauge, "num_requests_running", "Requests being answered").labels(model)
        self.waiting = self._of(Gauge, "num_requests_waiting", "Requests waiting").labels(model)
        self.cache = self._of(Gauge, "kv_cache_usage_perc", "Share of the cache in use").labels(model)
        self.prompt = self._of(Counter, "prompt_tokens", "Tokens of questions").labels(model)
        self.generated = self._of(Counter, "generation_tokens", "Tokens of answers").labels(model)
        self.first = self._of(Histogram, "time_to_first_token_seconds", "Until the first token").labels(model)
        self.whole = self._of(Histogram, "e2e_request_latency_seconds", "Until the last token").labels(model)
        self._ended = self._of(Counter, "request_success", "Requests answered", "finished_reason")
        self._model = model

    def _of(self, kind: type[Metric], name: str, text: str, *labels: str) -> Metric:
        return kind(f"vllm:{name}", text, ("model_name", *labels), registry=self.registry)

    def ended(self, answer: Answer) -> None:
        self._ended.labels(self._model, answer.finish).inc()
        self.prompt.inc(answer.prompt_tokens)
        self.generated.inc(len(answer.words))


class Server:
    """The handlers."""

    def __init__(self, setting: Setting, weights: Weights) -> None:
        self._setting, self._weights = setting, weights
        self._measured = Measured(setting.name)
        self._started = int(time.time())

    def application(self) -> web.Application:
        app = web.Application(middlewares=[refusing])
        app.add_routes(
            [
                web.get("/health", self.health),
                web.get("/v1/models", self.models),
                web.post("/v1/chat/completions", self.chat),
                web.post("/v1/completions", self.text),
                web.get("/metrics", self.metrics),
            ]
        )
        return app

    async def health(self, request: web.Request) -> web.Response:  # noqa: ARG002
        return web.Response()

    async def models(self, request: web.Request) -> web.Response:  # noqa: ARG002
        model = {
            "id": self._setting.name,
            "object": "model",
            "created": self._started,
            "owned_by": "aim",
            "root": self._setting.model,
            "max_model_len": self._setting.context,
            "weights_sha256": self._weights.checksum,
        }
        return web.json_response({"object": "list", "data": [model]})

    async def metrics(self, request: web.Request) -> web.Response:  # noqa: ARG002
        body = generate_latest(self._measured.registry)
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def chat(self, request: web.Request) -> web.StreamResponse:
        return await self._complete(request, await _asked(request, ChatQuestion))

    async def text(self, request: web.Request) -> web.StreamResponse:
        return await self._complete(request, await _asked(request, TextQuestion))

    async def _complete(self, request: web.Request, question: Question) -> web.StreamResponse:
        if question.model not in ("", self._setting.name):
            raise Refusal(404, "NotFoundError", f"The model `{question.model}` does not exist.", "model")
        answer = Answer(question, self._setting.name, self._weights, self._setting.context)
        async with self._answering(answer) as next_word:
            if question.stream:
                return await self._stream(request, question, answer, next_word)
            for _ in answer.words:
                await next_word()
            return web.json_response(answer.whole())

    async def _stream(
        self, request: web.Request, question: Question, answer: Answer, next_word: Callable[[], Awaitable[None]]
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
        await response.prepare(request)
        if first := answer.first():
            await _send(response, first)
        for place in range(len(answer.words)):
            await next_word()
            await _send(response, answer.piece(place))
        if question.stream_options.include_usage:
            await _send(response, answer.closing())
        await response.write(b"data: [DONE]\n\n")
        return response

    @asynccontextmanager
    async def _answering(self, answer: Answer) -> AsyncGenerator[Callable[[], Awaitable[None]]]:
        """Count a request while it is answered; what is given waits until the next word is due."""
        began, said = time.monotonic(), 0

        async def next_word() -> None:
            nonlocal said
            said += 1
            await asyncio.sleep(began + said / self._setting.tokens_per_second - time.monotonic())
            if said == 1:
                self._measured.first.observe(time.monotonic() - began)

        with self._measured.running.track_inprogress():
            yield next_word
        self._measured.whole.observe(time.monotonic() - began)
        self._measured.ended(answer)


Asked = Callable[[web.Request], Awaitable[web.StreamResponse]]


@web.middleware
async def refusing(request: web.Request, handler: Asked) -> web.StreamResponse:
    """Tell what is wrong with a request in the shape that clients of OpenAI's interface read."""
    try:
        return await handler(request)
    except Refusal as refusal:
        return web.json_response(refusal.body(), status=refusal.status)


async def _asked(request: web.Request, kind: type[ChatQuestion] | type[TextQuestion]) -> Question:
    try:
        return msgspec.json.decode(await request.read(), type=kind)
    except msgspec.DecodeError as mistake:
        raise Refusal(400, "BadRequestError", str(mistake)) from mistake


async def _send(response: web.StreamResponse, piece: dict[str, Any]) -> None:
    await response.write(b"data: " + msgspec.json.encode(piece) + b"\n\n")


async def serve(environment: Mapping[str, str] = os.environ) -> None:
    """Serve until SIGTERM; WeightsMissing or NoProfile if there is nothing to serve."""
    setting = read(environment)
    weights = Weights(setting.folder, setting.model)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    runner = web.AppRunner(Server(setting, weights).application(), access_log=None, handler_cancellation=True)
    await runner.setup()
    try:
        await web.TCPSite(runner, setting.host, PORT, shutdown_timeout=5).start()
        print(
            f"Serving {setting.name} with profile {setting.profile} at http://{setting.host}:{PORT}; "
            f"weights: {weights.size} bytes, sha256 {weights.checksum}",
            flush=True,
        )
        await stop.wait()
    finally:
        await runner.cleanup()
