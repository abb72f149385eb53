"""Lists that were flattened into attribute keys (``llm.input_messages.0.message.role``), and back.

Indexes are sorted as numbers and may have gaps; the order of the attributes says nothing.
"""

from rsi.traces.rows import Json, JsonObject

_DEEPEST = 12
"""Names in a key; what comes behind is one name."""
_LONGEST = 9
_WHOLE = {
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.system_instructions",
    "gen_ai.tool.definitions",
}
"""Lists that are one attribute."""


class _Branch(dict[str, Json]):
    """What keys with dots made, apart from objects that are values."""


def listed(attributes: JsonObject, prefix: str) -> tuple[list[JsonObject], list[str]]:
    """The objects under ``prefix.N.…`` in order, and the keys that told them."""
    start = prefix + "."
    skip = len(start)
    tree = _Branch()
    keys: list[str] = []
    for key, value in attributes.items():
        if key.startswith(start):
            path = key[skip:].split(".", _DEEPEST)
            if _is_index(path[0]) and len(path) > 1 and _put(tree, path, value):
                keys.append(key)
    found = _folded(tree) if keys else []
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else [], keys


def flattened(value: JsonObject) -> JsonObject:
    """An object whose inner objects, and lists of objects, became keys with dots."""
    found: JsonObject = {}
    if value:
        _flatten(value, "", found, _DEEPEST)
    return found


def drop(attributes: JsonObject, keys: list[str]) -> None:
    """Take out what became turns."""
    for key in keys:
        attributes.pop(key, None)


def _put(tree: _Branch, path: list[str], value: Json) -> bool:
    """Whether there was room: no leaf stands where a branch is, nor the other way round."""
    for name in path[:-1]:
        inner = tree.setdefault(name, _Branch())
        if not isinstance(inner, _Branch):
            return False
        tree = inner
    if path[-1] in tree:
        return False
    tree[path[-1]] = value
    return True


def _folded(tree: Json) -> Json:
    """Branches whose keys are all indexes as lists."""
    if not isinstance(tree, _Branch):
        return tree
    if all(map(_is_index, tree)):
        return [_folded(tree[key]) for key in sorted(tree, key=int)]
    return {key: _folded(value) for key, value in tree.items()}


def _is_index(text: str) -> bool:
    return len(text) <= _LONGEST and text.isascii() and text.isdigit()


def _flatten(value: Json, path: str, found: JsonObject, depth: int) -> None:
    if not value or not depth or path in _WHOLE:
        found[path] = value
    elif isinstance(value, dict):
        for key, inner in value.items():
            _flatten(inner, f"{path}.{key}" if path else key, found, depth - 1)
    elif isinstance(value, list) and all(isinstance(one, dict) for one in value):
        for place, inner in enumerate(value):
            _flatten(inner, f"{path}.{place}", found, depth - 1)
    else:
        found[path] = value
