"""A result log that was torn, edited or forged."""

import json
import tempfile
from dataclasses import asdict
from pathlib import Path

import jsonschema
from damage import damaged
from hypothesis import strategies as st

from autograder.record.log import ResultLog, read_results
from autograder.record.results import GRADED, RESULT_SCHEMA, CheckResult, Result

ONE = Result(
    "ann", "01_memory", GRADED, 1.5, 2.0, [CheckResult("area", "is_right", 1.5, 2.0, True, "")]
)


def play_log(content):
    """Sound lines are read, others passed over; a log that is opened and written re-reads equal."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "results.jsonl")
        path.write_bytes(content)
        found = read_results(path)
        for result in found:
            assert Result.from_json(result.to_json()) == result
            jsonschema.validate(json.loads(result.to_json()), RESULT_SCHEMA)
        log = ResultLog(path)
        assert list(log.results.values()) == [
            each for each in found if each in log.results.values()
        ]
        log.append(ONE)
        again = {(each.lab, each.student): each for each in read_results(path)}
        assert again == log.results
        kept = log.finish(ONE.lab, {ONE.student})
        assert read_results(path) == kept
        log.close()


odd = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner,
    max_size=2),
    max_leaves=4,
)  # fmt: skip
fields = st.sampled_from(sorted(asdict(ONE)))


@st.composite
def lines(draw):
    """A result, with fields that say something else, are missing or unknown."""
    record = asdict(ONE) | {"student": draw(st.sampled_from(["ann", "bob", "雪", ""]))}
    for field in draw(st.lists(fields, max_size=2)):
        record[field] = draw(odd)
    for field in draw(st.lists(fields | st.text(max_size=3), max_size=1)):
        record.pop(field, None)
    record |= draw(st.dictionaries(st.text(max_size=3), odd, max_size=1))
    match record.get("checks"):
        case [dict() as first, *_] if draw(st.booleans()):
            record["checks"] = [first | {draw(st.sampled_from(["points", "x"])): draw(odd)}]
    return json.dumps(record)


any_log = damaged(
    st.lists(lines() | st.text(max_size=9) | st.just("[" * 3000), max_size=4).map(
        lambda all_lines: "\n".join(all_lines).encode(errors="replace")
    )
)
