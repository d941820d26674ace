"""The tool that hands paths in: its schema, and how a call is found in an answer and checked.

Whatever the wrapping (a line of its own, a code fence, `<tool_call>` tags, an OpenAI message with
`tool_calls`), a call is a JSON object with the tool's name and its arguments. If an answer holds
several, the last one counts, also when it is the one that cannot be read; an object that names the
tool without arguments speaks of it, but calls nothing.
"""

import json
import re
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

from autograder.judge_model.client import text_of

TOOL_NAME = "submit_paths"
TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": TOOL_NAME,
        "description": "Hand in the cheapest simple paths, cheapest first.",
        "parameters": {
            "type": "object",
            "properties": {
                "paths": {
                    "type": "array",
                    "items": {"type": "array", "items": {"type": "integer"}},
                    "description": "Each path as the nodes it visits, from 0 to the last node.",
                },
                "weights": {
                    "type": "array",
                    "items": {"type": "integer"},
                    "description": "The cost of each path, in the same order.",
                },
            },
            "required": ["paths", "weights"],
            "additionalProperties": False,
        },
    },
}
MAX_CALL_CHARS = 100_000
WANTED = '{"name": "submit_paths", "arguments": {"paths": [[0, 2, 5]], "weights": [7]}}'

_NAMED = re.compile(r'"name"\s*:\s*"(\w{1,64})"')
_MAX_MENTIONS = 100  # of the tool's name, from the last backward
_MAX_OPEN_BRACES = 8  # how far outside the name the call may begin: its other keys may come first


class ToolCallError(ValueError):
    """An answer without a well-formed call; the message says what is wrong with it."""


def read_call(answer: str | Mapping[str, Any]) -> tuple[list[list[int]], list[int]]:
    """The paths and weights that an answer hands in.

    answer: a model's text, or an assistant message as an OpenAI-compatible server returns it.
    Raises: ToolCallError when there is no call, or its last call does not follow the schema.
    """
    call = _last_in_text(answer) if isinstance(answer, str) else _last_in_message(answer)
    arguments = call.get("arguments", call.get("parameters"))  # some models' name for them
    if isinstance(arguments, str):
        text = arguments.strip()
        arguments, length = _decode(text[:MAX_CALL_CHARS])
        if length < len(text):
            raise ToolCallError("the tool call's arguments are not JSON: more follows the object")
    _validate(arguments)
    paths = [[int(node) for node in path] for path in arguments["paths"]]  # 7.0 is an integer too
    weights = [int(weight) for weight in arguments["weights"]]
    if len(paths) != len(weights):
        raise ToolCallError(f"the call gives {len(paths)} paths but {len(weights)} weights")
    return paths, weights


def holds_call(text: str) -> bool:
    """Whether a text holds a whole call already."""
    try:
        read_call(text)
    except ToolCallError:
        return False
    return True


def _last_in_message(message: Mapping[str, Any]) -> dict[str, Any]:
    calls = message.get("tool_calls")
    if not calls:
        return _last_in_text(text_of(message.get("content")))
    last = calls[-1] if isinstance(calls, list) else None
    function = last.get("function") if isinstance(last, Mapping) else None
    if not isinstance(function, Mapping) or function.get("name") != TOOL_NAME:
        raise ToolCallError(f"the last tool call of the message is not a call of {TOOL_NAME}")
    return dict(function)


def _last_in_text(text: str) -> dict[str, Any]:
    named: deque[re.Match[str]] = deque(maxlen=_MAX_MENTIONS)
    other = None
    for match in _NAMED.finditer(text):
        if match[1] == TOOL_NAME:
            named.append(match)
        else:
            other = match
    if not named:
        found = f"a call of {other[1]}" if other else "none"
        raise ToolCallError(f"no tool call: wanted {WANTED}, found {found}")
    for mention in reversed(named):
        call = _object_around(text, mention)
        if "arguments" in call or "parameters" in call:
            break
    return call


def _object_around(text: str, mention: re.Match[str]) -> dict[str, Any]:
    """The JSON object that gives the tool's name at a place."""
    problem = None
    for start in _braces_before(text, mention.start()):
        try:
            call, length = _decode(text[start : start + MAX_CALL_CHARS])
        except ToolCallError as error:
            problem = problem or error
            continue
        if start + length >= mention.end() and call.get("name") == TOOL_NAME:
            return call
    raise problem or ToolCallError(f"no tool call: {TOOL_NAME} is named, but not in a JSON object")


def _braces_before(text: str, end: int) -> Iterator[int]:
    for _ in range(_MAX_OPEN_BRACES):
        end = text.rfind("{", 0, end)
        if end < 0:
            return
        yield end


def _decode(text: str) -> tuple[dict[str, Any], int]:
    """The JSON object that `text` begins with, and its length in characters."""
    try:
        value, length = _DECODER.raw_decode(text)
    except RecursionError:
        raise ToolCallError("the tool call is nested too deeply to be read") from None
    except ValueError as error:  # also integers of thousands of digits
        at_limit = " (only the first 100,000 characters are read)" * (len(text) >= MAX_CALL_CHARS)
        raise ToolCallError(f"the tool call is not JSON: {error}{at_limit}") from None
    if not isinstance(value, dict):
        raise ToolCallError(f"the tool call needs an object, found {type(value).__name__}")
    return value, length


def _validate(arguments: Any) -> None:
    from jsonschema import Draft202012Validator

    for error in Draft202012Validator(TOOL["function"]["parameters"]).iter_errors(arguments):
        where = error.json_path.replace("$", "arguments", 1)
        raise ToolCallError(f"the tool call breaks the schema at {where}: {error.message[:160]}")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return dict(pairs)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


_DECODER = json.JSONDecoder(object_pairs_hook=_unique_keys, parse_constant=_refuse_constant)
