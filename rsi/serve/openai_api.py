"""The chat API in OpenAI's field names: what is read of a request, and how answers and errors are spelled.

Fields that are not named here are ignored, as OpenAI's own server ignores what it does not know; a known
field with a bad value is refused in OpenAI's error shape. An answer is generated whole and then streamed
word by word: a client that asks for a stream gets valid chunks, not an earlier first word.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

import orjson
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from rsi.errors import ContractError
from rsi.ports import Prompt
from rsi.records import ChatMessage

PREFIX = "chatcmpl-"
"""What stands before a trace id in a completion's id."""

_WORD = re.compile(r"\s*\S+|\s+")

Json: TypeAlias = dict[str, object]


def _encodable(text: str) -> str:
    """JSON may smuggle in half a surrogate pair, which no file, tokenizer or reply can hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("the text holds half a surrogate pair, which is no character") from None
    return text


Text: TypeAlias = Annotated[str, AfterValidator(_encodable)]
"""A string that can be written as UTF-8."""


class ApiError(ContractError):
    """A request that is answered with an HTTP error, in OpenAI's shape."""

    def __init__(
        self,
        status: int,
        message: str,
        param: str | None = None,
        code: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.param, self.code, self.headers = status, param, code, headers or {}

    @property
    def body(self) -> Json:
        """The JSON of the answer."""
        kind = "invalid_request_error" if self.status < 500 else "server_error"
        return {"error": {"message": str(self), "type": kind, "param": self.param, "code": self.code}}


class _Read(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class TextPart(_Read):
    """A part of a message; only text is understood."""

    type: Literal["text"]
    text: Text


class RequestMessage(_Read):
    """One turn of the request."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: Text | tuple[TextPart, ...] | None = None

    @property
    def plain(self) -> ChatMessage:
        """The turn as text: parts joined, `developer` read as `system`, no content as an empty text."""
        content = self.content
        text = "".join(part.text for part in content) if isinstance(content, tuple) else content or ""
        return ChatMessage(role="system" if self.role == "developer" else self.role, content=text)


class StreamOptions(_Read):
    """What a stream carries besides the answer."""

    include_usage: bool = False


class ChatRequest(_Read):
    """The body of ``POST /v1/chat/completions``."""

    model: Text = Field(min_length=1, max_length=200)
    """`auto` or `rsi` to be routed, a role to skip the route hop, `base` for the bare model."""
    messages: tuple[RequestMessage, ...] = Field(min_length=1, max_length=4096)
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    max_tokens: int | None = Field(None, ge=1)
    max_completion_tokens: int | None = Field(None, ge=1)
    """Wins over `max_tokens`."""
    temperature: float | None = Field(None, ge=0, le=2, allow_inf_nan=False)
    seed: int | None = Field(None, ge=-(2**63), lt=2**63)
    n: Literal[1] | None = 1
    user: Text | None = Field(None, max_length=512)
    metadata: dict[Text, Annotated[Text, Field(max_length=512)]] | None = Field(None, max_length=16)
    """`session` names the conversation the request belongs to."""

    @property
    def prompt(self) -> Prompt:
        """The conversation to be answered."""
        return tuple(message.plain for message in self.messages)

    @property
    def session(self) -> str | None:
        """The conversation's id, where the caller gave one."""
        return (self.metadata or {}).get("session") or None

    @property
    def limit(self) -> int | None:
        """How many tokens the caller wants at most."""
        return self.max_completion_tokens or self.max_tokens


@dataclass(frozen=True)
class Completion:
    """An answer, ready to be spelled out whole or in chunks."""

    trace_id: str
    created: int
    """Seconds since 1970, UTC."""
    model: str
    """Adapter that answered, or `base`."""
    version: str
    content: str
    finish_reason: str
    prompt_tokens: int
    completion_tokens: int

    @property
    def usage(self) -> dict[str, int]:
        """Tokens of the answer hop; the route hop is ours to pay."""
        return {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "total_tokens": self.prompt_tokens + self.completion_tokens,
        }

    def whole(self) -> Json:
        """A ``chat.completion``."""
        message = {"role": "assistant", "content": self.content, "refusal": None}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": self.finish_reason}
        return {**self._head("chat.completion"), "choices": [choice], "usage": self.usage}

    def stream(self, include_usage: bool) -> Iterator[bytes]:
        """Server-sent events: role, words, finish reason, usage where asked for, ``[DONE]``."""
        yield self._event(self._delta({"role": "assistant", "content": ""}))
        for word in _WORD.findall(self.content):
            yield self._event(self._delta({"content": word}))
        yield self._event(self._delta({}, self.finish_reason))
        if include_usage:
            yield self._event({**self._head("chat.completion.chunk"), "choices": [], "usage": self.usage})
        yield b"data: [DONE]\n\n"

    def _head(self, kind: str) -> Json:
        return {
            "id": PREFIX + self.trace_id,
            "object": kind,
            "created": self.created,
            "model": self.model,
            "system_fingerprint": f"rsi-{self.version[:12]}",
        }

    def _delta(self, delta: Json, finish_reason: str | None = None) -> Json:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return {**self._head("chat.completion.chunk"), "choices": [choice]}

    @staticmethod
    def _event(chunk: Json) -> bytes:
        return b"data: " + orjson.dumps(chunk) + b"\n\n"
