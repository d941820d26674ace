"""Tool calls: found in any wrapping, and a malformed one scores 0 with the reason in words."""

import json

import jsonschema
import pytest

from training.tasks import paths
from training.tasks.tool_calls import TOOL, ToolCallError, read_call

ARGUMENTS = {"paths": [[0, 2, 3], [0, 3]], "weights": [4, 7]}
CALL = json.dumps({"name": "submit_paths", "arguments": ARGUMENTS})
OTHER = CALL.replace("7", "8")
READ = ([[0, 2, 3], [0, 3]], [4, 7])
FACTS = {"n_nodes": 4, "edges": [[0, 2, 1], [2, 3, 3], [0, 3, 7]], "p": 2, "weights": [4, 7]}


def message(*calls, content=None):
    functions = [{"id": "call_1", "type": "function", "function": call} for call in calls]
    return {"role": "assistant", "content": content, "tool_calls": functions}


def with_arguments(text):
    return '{"name": "submit_paths", "arguments": ' + text + "}"


def test_the_tool_is_a_valid_schema_in_the_form_of_openai():
    assert TOOL["type"] == "function"
    jsonschema.Draft202012Validator.check_schema(TOOL["function"]["parameters"])
    jsonschema.validate(ARGUMENTS, TOOL["function"]["parameters"])


@pytest.mark.parametrize(
    "answer",
    [
        CALL,
        f"Take 0. Open: none.\n{CALL}",
        f"Two paths {{0, 2, 3}} and {{0, 3}}, so:\n```json\n{CALL}\n```\nThat is all.",
        f"<tool_call>\n{CALL}\n</tool_call>",
        f"[TOOL_CALLS][{CALL}]",
        json.dumps(json.loads(CALL), indent=2),
        CALL.replace("arguments", "parameters"),
        json.dumps({"arguments": ARGUMENTS, "name": "submit_paths"}),
        json.dumps({"name": "submit_paths", "arguments": json.dumps(ARGUMENTS)}),
        json.dumps(message({"name": "submit_paths", "arguments": json.dumps(ARGUMENTS)})),
        f"First {OTHER}\nbut no, rather\n{CALL}",  # of two calls the last counts
        CALL + ' The tool {"name": "submit_paths"} was called.',
        CALL.replace("7]", "7.0]"),  # an integer for JSON Schema
        f'{{"name": "search", "arguments": {{}}}}\n{CALL}\n{{"name": "stop"}}',
        message({"name": "submit_paths", "arguments": json.dumps(ARGUMENTS)}),
        message({"name": "submit_paths", "arguments": f" {json.dumps(ARGUMENTS)}\n"}),
        message({"name": "submit_paths", "arguments": ARGUMENTS}),
        message({"name": "search", "arguments": "{}"}, json.loads(CALL)),
        {"role": "assistant", "content": f"So: {CALL}"},
        {"role": "assistant", "content": CALL, "tool_calls": []},
        {"content": [{"type": "text", "text": CALL}]},
        {"content": [{"type": "text", "text": CALL[:9]}, 5, {"text": CALL[9:]}, {"text": None}]},
    ],
)
def test_a_call_is_read_in_any_wrapping(answer):
    assert read_call(answer) == READ
    assert paths.score(answer, FACTS).value == 1


MALFORMED = {
    "no answer": ("", "no tool call"),
    "prose": ("The paths are 0-2-3 (4) and 0-3 (7).", "no tool call"),
    "arguments alone": (json.dumps(ARGUMENTS), "no tool call"),
    "Python, not JSON": ("submit_paths(paths=[[0, 3]], weights=[7])", "no tool call"),
    "another tool": (CALL.replace("submit_paths", "submit_path"), "found a call of submit_path"),
    "cut short": (CALL[:-10], "not JSON"),
    "cut short after a whole call": (f"{OTHER}\n{CALL[:-3]}", "not JSON"),
    "named outside JSON": ('the "name": "submit_paths" tool', "not in a JSON object"),
    "trailing comma": (CALL.replace("7]", "7,]"), "not JSON"),
    "NaN": (CALL.replace("7]", "NaN]"), "NaN is not a JSON number"),
    "infinity": (CALL.replace("7]", "-Infinity]"), "not a JSON number"),
    "too large a float": (CALL.replace("7]", "1e999]"), "not of type 'integer'"),
    "key twice": (
        with_arguments('{"paths": [[0, 3]], "weights": [7], "weights": [8]}'),
        "'weights' stands twice",
    ),
    "name twice": ('{"name": "submit_paths", "name": "submit_paths"}', "'name' stands twice"),
    "true for 1": (CALL.replace("[0, 3]", "[false, 3]"), "False is not of type 'integer'"),
    "weights as text": (CALL.replace("7]", '"7"]'), "'7' is not of type 'integer'"),
    "path as text": (CALL.replace("[0, 3]", '"0-3"'), "'0-3' is not of type 'array'"),
    "a fraction": (CALL.replace("7]", "7.5]"), "7.5 is not of type 'integer'"),
    "null": (CALL.replace("7]", "null]"), "None is not of type 'integer'"),
    "one path, not a list of paths": (
        with_arguments('{"paths": [0, 3], "weights": [7]}'),
        "0 is not of type 'array'",
    ),
    "no weights": (with_arguments('{"paths": [[0, 3]]}'), "'weights' is a required property"),
    "fewer weights": (CALL.replace("[4, 7]", "[4]"), "2 paths but 1 weights"),
    "another key": (CALL.replace('{"paths"', '{"sure": 1, "paths"'), "'sure' was unexpected"),
    "a list of arguments": (with_arguments("[[[0, 3]], [7]]"), "not of type 'object'"),
    "no arguments": ('{"name": "submit_paths"}', "not of type 'object'"),
    "named again and again": ('{"name": "submit_paths"} ' * 10**5, "not of type 'object'"),
    "a call without a name around it": (
        with_arguments('{"name": "submit_paths"}'),
        "'paths' is a required property",
    ),
    "arguments as broken text": (with_arguments('"{"'), "not JSON"),
    "arguments with a tail": (with_arguments('"{} and more"'), "more follows the object"),
    "arguments as a text of a list": (with_arguments('"[1]"'), "needs an object, found list"),
    "nested deeply": (with_arguments("[" * 50_000), "nested too deeply"),
    "a number of 5000 digits": (CALL.replace("7]", "7" * 5000 + "]"), "not JSON"),
    "a call of 10 MB": (
        with_arguments('{"paths": [' + "[0, 3], " * 10**6 + "], "),
        "only the first 100,000 characters",
    ),
    "a message without content": ({"role": "assistant", "content": None}, "no tool call"),
    "a message with odd calls": (message("submit_paths"), "not a call of submit_paths"),
    "a message whose calls are a number": ({"tool_calls": 5}, "not a call of submit_paths"),
    "a message whose calls are an object": (
        {"tool_calls": {"a": 1}},
        "not a call of submit_paths",
    ),
    "a message whose calls are text": (
        {"content": "", "tool_calls": "submit_paths"},
        "not a call of submit_paths",
    ),
    "a last call of another tool": (
        message(json.loads(CALL), {"name": "search", "arguments": "{}"}),
        "not a call of submit_paths",
    ),
}


@pytest.mark.parametrize(("answer", "words"), MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_call_scores_0_with_the_reason(answer, words):
    with pytest.raises(ToolCallError):
        read_call(answer)
    scored = paths.score(answer, FACTS)
    assert scored.value == 0 and not scored.is_valid
    assert words in scored.reason and len(scored.reason) < 400


def test_a_path_with_impossible_nodes_costs_that_path_alone():
    answer = CALL.replace("[0, 3]", f"[0, {10**40}, -1]")
    scored = paths.score(answer, FACTS)
    assert scored.value == 1 / 2 and scored.is_valid
    assert paths.score(CALL.replace("7]", "1e300]"), FACTS).value == 1 / 2


@pytest.mark.parametrize("filler", ["word ", '{"name": ', "{", '{"name": "submit_paths", ', '"'])
def test_ten_megabytes_before_the_call_do_no_harm(filler):
    assert read_call(filler * (10**7 // len(filler)) + "\n" + CALL) == READ
