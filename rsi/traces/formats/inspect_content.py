"""Messages of an Inspect sample: long texts are kept apart as attachments, repeated messages in a pool.

Both are put back here, up to a bound: a small file can name one large text very often.
"""

from collections.abc import Iterator

from rsi.traces.formats import fields
from rsi.traces.formats.turns import Turn, message_turns
from rsi.traces.rows import Json, JsonObject

MAX_TEXT = 64 << 20
"""Characters that attachments of one sample may add; behind it, references stay as they are."""
MAX_MESSAGES = 500_000
"""Messages that the calls of one sample may repeat."""
_PROTOCOLS = ("attachment://", "tc://")


class Content:
    """What the texts of one sample refer to."""

    def __init__(self, sample: JsonObject) -> None:
        kept = fields.table(sample.get("attachments")) or fields.table(
            fields.table(sample.get("transcript")).get("content")
        )
        self._kept = {key: value for key, value in kept.items() if isinstance(value, str)}
        pooled = fields.table(sample.get("events_data")).get("messages") or sample.get("message_pool")
        self._pool = fields.listing(pooled)
        self._turns: dict[int, tuple[Turn, ...]] = {}
        self._text_left, self._messages_left = MAX_TEXT, MAX_MESSAGES

    def text(self, value: str) -> str:
        """The text behind a reference; other text as it is."""
        if not value.startswith(_PROTOCOLS):
            return value
        found = self._kept.get(value.split("://", 1)[1])
        if found is None or len(found) > self._text_left:
            return value
        self._text_left -= len(found)
        return found

    def value(self, value: Json) -> Json:
        """A JSON value with the references in it replaced."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(one) for one in value]
        if isinstance(value, dict):
            return {key: self.value(one) for key, one in value.items()}
        return value

    def turns(self, messages: Json) -> tuple[Turn, ...]:
        """What some messages say; text alone is the user's."""
        if isinstance(messages, str):
            messages = [{"role": "user", "content": messages}]
        return tuple(turn for one in fields.tables(messages) for turn in message_turns(self._plain(one)))

    def asked(self, event: JsonObject) -> tuple[Turn, ...]:
        """What a model was given: messages, or ranges of the pool."""
        refs = event.get("input_refs")
        if event.get("input") or not isinstance(refs, list):
            return self.turns(event.get("input"))
        return tuple(turn for index in self._indexes(refs) for turn in self._pooled(index))

    def _indexes(self, refs: list[Json]) -> Iterator[int]:
        for one in refs:
            start, end = (
                (fields.whole(bound) for bound in one) if isinstance(one, list) and len(one) == 2 else (0, 0)
            )
            for index in range(max(start or 0, 0), min(end or 0, len(self._pool))):
                if not self._messages_left:
                    return
                self._messages_left -= 1
                yield index

    def _pooled(self, index: int) -> tuple[Turn, ...]:
        if index not in self._turns:
            self._turns[index] = self.turns([self._pool[index]])
        return self._turns[index]

    def _plain(self, message: JsonObject) -> JsonObject:
        """A message as the others write it."""
        content = self.value(message.get("content"))
        if isinstance(content, list):
            content = [part for one in content for part in _parts(one)]
        plain: JsonObject = {**message, "content": content}
        if message.get("tool_calls"):
            plain["tool_calls"] = self.value(message["tool_calls"])
        if message.get("role") == "tool":
            error = message.get("error")
            plain["tool_name"] = message.get("function")
            plain["is_error"] = bool(error)
            if not content and isinstance(error, dict):
                plain["content"] = error.get("message")
        return plain


def _parts(part: Json) -> Iterator[Json]:
    """A content part; a tool that the model's server ran has call and result in one."""
    yield part
    if isinstance(part, dict) and part.get("type") == "tool_use" and ("result" in part or "error" in part):
        failed = bool(part.get("error"))
        result = part.get("error") if failed else part.get("result")
        yield {"type": "tool_result", "tool_use_id": part.get("id"), "content": result, "is_error": failed}
