"""What the demo server answers: questions in OpenAI's shape in, answers in the same shape out."""

import time
import uuid
from abc import abstractmethod
from typing import Annotated, Any, Literal

import msgspec

from aim_engine.local.demo.weights import Weights

Positive = Annotated[int, msgspec.Meta(ge=1)]


class Refusal(Exception):
    """A request that cannot be answered, with the status and the kind of error that vLLM gives."""

    def __init__(self, status: int, kind: str, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.status, self.kind, self.param = status, kind, param

    def body(self) -> dict[str, Any]:
        return {"error": {"message": str(self), "type": self.kind, "param": self.param, "code": self.status}}


class StreamOptions(msgspec.Struct, frozen=True):
    """What a stream tells at its end."""

    include_usage: bool = False


class Message(msgspec.Struct, frozen=True):
    """One turn of a conversation; the content is a text or OpenAI's list of parts."""

    role: str
    content: str | list[dict[str, Any]] | None = None

    @property
    def text(self) -> str:
        if isinstance(self.content, list):
            return " ".join(str(part.get("text", "")) for part in self.content)
        return self.content or ""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What both kinds of completion have in common; other fields that a client sends are passed over."""

    model: str = ""
    max_tokens: Positive | None = None
    max_completion_tokens: Positive | None = None
    stream: bool = False
    stream_options: StreamOptions = StreamOptions()
    n: Literal[1] = 1

    @abstractmethod
    def text(self) -> str:
        """All that is asked, as one text."""


class ChatQuestion(Question, frozen=True, kw_only=True):
    """POST /v1/chat/completions."""

    messages: Annotated[list[Message], msgspec.Meta(min_length=1)]

    def text(self) -> str:
        return "\n".join(f"{message.role}: {message.text}" for message in self.messages)


class TextQuestion(Question, frozen=True, kw_only=True):
    """POST /v1/completions."""

    prompt: str

    def text(self) -> str:
        return self.prompt


class Answer:
    """One completion: its words, and how they look whole and in pieces."""

    def __init__(self, question: Question, model: str, weights: Weights, limit: int) -> None:
        self._chat = isinstance(question, ChatQuestion)
        self._model, self._fingerprint = model, f"weights-{weights.checksum[:12]}"
        self.prompt_tokens = len(question.text().split())
        room = limit - self.prompt_tokens
        if room < 1:
            raise Refusal(
                400,
                "BadRequestError",
                f"This model's maximum context length is {limit} tokens. However, your request has "
                f"{self.prompt_tokens} input tokens. Please reduce the length of the input messages.",
            )
        wanted = question.max_completion_tokens or question.max_tokens or room
        words = weights.say(question.text()).split()
        self.words = [word if place == 0 else f" {word}" for place, word in enumerate(words[: min(wanted, room)])]
        self.finish = "stop" if len(self.words) == len(words) else "length"
        self.id = f"{'chatcmpl' if self._chat else 'cmpl'}-{uuid.uuid4().hex}"
        self.created = int(time.time())

    @property
    def usage(self) -> dict[str, int]:
        completion = len(self.words)
        return {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": completion,
            "total_tokens": self.prompt_tokens + completion,
        }

    def whole(self) -> dict[str, Any]:
        """The answer in one piece."""
        text = "".join(self.words)
        choice = {"message": {"role": "assistant", "content": text}} if self._chat else {"text": text}
        return self._object([{**choice, "index": 0, "logprobs": None, "finish_reason": self.finish}]) | {
            "usage": self.usage
        }

    def first(self) -> dict[str, Any] | None:
        """The piece before the first word, if there is one: a chat says who speaks."""
        return self._piece({"role": "assistant", "content": ""}, None) if self._chat else None

    def piece(self, place: int) -> dict[str, Any]:
        """One word of a stream."""
        last = place == len(self.words) - 1
        word = self.words[place]
        return self._piece({"content": word} if self._chat else word, self.finish if last else None)

    def closing(self) -> dict[str, Any]:
        """What a stream tells at its end if the client wants to know what it cost."""
        return self._object([], chunk=True) | {"usage": self.usage}

    def _piece(self, content: dict[str, str] | str, finish: str | None) -> dict[str, Any]:
        words: dict[str, Any] = {"delta": content} if self._chat else {"text": content}
        return self._object([{"index": 0, **words, "logprobs": None, "finish_reason": finish}], chunk=True)

    def _object(self, choices: list[dict[str, Any]], *, chunk: bool = False) -> dict[str, Any]:
        kind = ("chat.completion.chunk" if chunk else "chat.completion") if self._chat else "text_completion"
        return {
            "id": self.id,
            "object": kind,
            "created": self.created,
            "model": self._model,
            "system_fingerprint": self._fingerprint,
            "choices": choices,
        }
