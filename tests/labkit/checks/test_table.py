"""Tables of checks: what a wrong function is told, and what earns nothing."""

from collections.abc import Mapping

import pytest

from autograder.builder.source import read_labs
from autograder.labs import right_of
from autograder.proof.matrix import namespace_of
from labkit.bridge.local import local_student
from labkit.checks.core import play_check, tables_of
from labkit.checks.tables import Argument, Call, CallTable, Claim, Row, call, made
from labkit.models.shapes import ModelShape

LABS = [lab for lab in read_labs() if tables_of(lab.topic)]
TABLES = [
    pytest.param(lab, table, id=f"{lab.name}-{name}")
    for lab in LABS
    for name, table in tables_of(lab.topic).items()
]


def area(width, height=1):
    if width < 0:
        raise ValueError("negative")
    return width * height


AREA = CallTable(
    "area",
    "the area",
    [
        Claim("multiplies", "m", "h", [call(3, 5).gives(15), call(2, height=7).gives(14)]),
        Claim("exact", "e", "h", [call(2**53 + 1).gives(2**53 + 1)], relative=0),
        Claim("empty", "n", "h", [call(0, 5).gives(0)]),
        Claim("refuses", "r", "h", [call(-1, 2).gives(ValueError)]),
        Claim(
            "grows",
            "g",
            "h",
            [call(2, 6).gives(3)],
            of=lambda f, width, height: f(width, height) / f(width, 2),
            what="the area, divided by that of height 2",
            slips=lambda width, height: {"It does not grow.": 1},
        ),
    ],
    slips=lambda width, height=1: {
        "Multiply.": width + height,
        "Use the height.": width,
    },
)


def findings(function, table=AREA, cases=None):
    student = local_student({table.exercise: function})
    cases = table.open_cases if cases is None else cases
    return {each.name: play_check(each, student, cases) for each in table.checks}


def failed(function, table=AREA, cases=None):
    return {name for name, each in findings(function, table, cases).items() if not each.passed}


HIDDEN = AREA.hidden(
    {
        "multiplies": [call(8, 9)],
        "exact": [call(2**55 + 3)],
        "empty": [call(0, 4)],
        "refuses": [call(-7)],
        "grows": [call(3, 8)],
    },
    area,
)


def test_hidden_rows_get_their_results_from_the_right_function():
    assert [row.result for row in HIDDEN] == [72, 2**55 + 3, 0, ValueError, 4]
    assert failed(area) == failed(area, cases=HIDDEN) == set()


@pytest.mark.parametrize(
    "function",
    [
        lambda *a, **k: None,
        lambda *a, **k: 0,
        lambda *a, **k: 15,
        lambda *a, **k: 2**53 + 1,
        lambda *a, **k: float("nan"),
        lambda *a, **k: a,
        lambda *a, **k: 10**4000,
        lambda *a, **k: ...,
    ],
)
def test_constants_and_arguments_earn_nothing(function):
    assert failed(function) == {each.name for each in AREA.checks}


def test_a_function_that_only_refuses_earns_nothing():
    def area(*args, **kwargs):
        raise ValueError("no")

    assert failed(area) == {each.name for each in AREA.checks}


def test_rows_that_are_learnt_by_heart_earn_nothing_on_hidden_rows():
    known = {str(row.call): row.result for row in AREA.open_cases}

    def area(*args, **kwargs):
        result = known.get(str(Call(args, kwargs)), ValueError)
        if result is ValueError:
            raise ValueError("no")
        return result

    assert failed(area, cases=HIDDEN) == {each.name for each in AREA.checks}


@pytest.mark.parametrize(
    ("function", "name", "message"),
    [
        (lambda w, height=1: w + height, "multiplies",
         "area(3, 5): the area; expected 15, got 8. Multiply."),
        (lambda w, height=1: w, "multiplies",
         "area(3, 5): the area; expected 15, got 3. Use the height."),
        (lambda w, height=1: w, "grows",
         "area(2, 6): the area, divided by that of height 2; expected 3, got 1. It does not grow."),
        (lambda w, height=1: w * height, "refuses",
         "area(-1, 2): the area; expected a ValueError, got no error."),
        (lambda w, height=1: float(w * height), "exact",
         "area(9_007_199_254_740_993): the area; expected 9,007,199,254,740,993, got "
         "9,007,199,254,740,992. A float holds 53 bits, so the last digits are lost. "
         "Do not use `/` or float()."),
        (lambda w, height=1: 0, "grows",
         "area(2, 6): the area, divided by that of height 2; expected more than 0, to divide by, "
         "got 0."),
        (lambda w, height=1: 0, "empty",
         "Not judged: other calls give the same, or nothing."),
    ],
)  # fmt: skip
def test_a_message_says_the_call_what_came_and_the_slip(function, name, message):
    assert findings(function)[name].message == message


def test_a_slip_is_named_only_if_it_gives_all_that_the_function_gives():
    def area(width, height=1):
        return width + height if width == 3 else 99

    assert findings(area)["multiplies"].message == "area(3, 5): the area; expected 15, got 8."


KEEPS = CallTable(
    "total",
    "the total",
    [
        Claim("adds", "a", "h", [call([1, 2]).gives(3)]),
        Claim("keeps", "k", "h", [call([1, 2]).gives(3), call([4, 5]).gives(9)], keeps=0),
    ],
)


def test_a_changed_argument_is_seen_and_a_constant_keeps_nothing():
    def total(numbers):
        return sum(numbers.pop() for _ in range(len(numbers)))

    assert failed(total, KEEPS) == {"keeps"}
    assert failed(sum, KEEPS) == set()
    assert "keeps" in failed(lambda numbers: 3, KEEPS)


def test_a_call_that_changes_its_arguments_changes_no_row():
    def total(numbers):
        return sum(numbers.pop() for _ in range(len(numbers)))

    failed(total, KEEPS)
    assert [row.call.args for row in KEEPS.open_cases] == [([1, 2],), ([1, 2],), ([4, 5],)]


SHAPE = made(ModelShape, "x", 1, 2, 3, 3, 4, d_model=12, vocab_size=5)


def test_an_argument_may_be_an_object_of_the_notebook():
    def layers(shape):
        return shape.n_layers

    table = CallTable("layers", "the layers", [Claim("counts", "c", "h", [call(SHAPE).gives(2)])])
    student = local_student({"layers": layers, "ModelShape": ModelShape})
    [check] = table.checks
    assert play_check(check, student, table.open_cases).passed
    assert play_check(check, student, table.hidden({"counts": [call(SHAPE)]}, layers)).passed
    expected = "layers(ModelShape('x', 1, 2, 3, 3, 4, d_model=12, vocab_size=5))"
    assert str(table.open_cases[0]) == expected


@pytest.mark.parametrize(("lab", "table"), TABLES)
def test_each_open_row_is_what_the_reference_gives(lab, table):
    calls: Mapping[str, list] = {}
    for row in table.open_cases:
        calls.setdefault(row.kind, []).append(row.call)
    given = table.hidden(calls, getattr(right_of(lab.topic), table.exercise))
    for row, right in zip(table.open_cases, given, strict=True):
        if row.is_refused or right.is_refused:
            assert row.result == right.result, row
        else:
            assert flat(row.result) == pytest.approx(flat(right.result), rel=1e-9), row


def flat(value):
    """The numbers in a value."""
    parts = value if isinstance(value, list | tuple) else [value]
    return [each for part in parts for each in (flat(part) if part is not value else [value])]


@pytest.mark.parametrize(("lab", "table"), TABLES)
def test_each_open_row_can_be_pasted_into_the_solved_notebook(lab, table):
    names = namespace_of(lab)
    for row in table.open_cases:
        if has_offer(row.call):
            continue
        if row.is_refused and not table.claims[row.kind].of:
            with pytest.raises(row.result):
                eval(str(row), names)
        else:
            eval(str(row), names)


def has_offer(asked):
    """Whether an argument can only be made by a check."""
    return any(isinstance(each, Argument) and "(" not in repr(each) for each in asked.args)


@pytest.mark.parametrize(("lab", "table"), TABLES)
def test_each_slip_differs_from_the_right_function_and_from_the_others(lab, table):
    right = getattr(right_of(lab.topic), table.exercise)
    calls = table.probes or [row.call for row in table.open_cases if not row.is_refused]
    rows = table.hidden(dict.fromkeys([*table.claims][:1], calls), right)
    wanted = [row.result for row in rows]
    for slips in table.slips:
        given = [row.slips(slips) for row in rows]
        by_text = {text: [each.get(text) for each in given] for text in given[0]}
        assert [text for text in by_text if by_text[text] == wanted] == []
        if len(by_text) < 50:  # more of them are combinations, of which some agree
            assert len({repr(each) for each in by_text.values()}) == len(by_text)


def test_a_row_is_written_into_a_cell_as_it_is():
    row = Row(call([1, 2], salt="x"), 3, "total", "adds")
    assert str(row) == "total([1, 2], salt='x')"


def test_a_slip_that_does_not_fit_a_hidden_row_is_not_named():
    def without_a_height_of_9(width, height=1):
        return width + height if height != 9 else width * 2

    rows = AREA.hidden({"multiplies": [call(8, 7), call(8, 9)]}, area)
    everywhere, not_everywhere = (
        findings(wrong, cases=[*rows, *AREA.open_cases])["multiplies"].message
        for wrong in (lambda width, height=1: width + height, without_a_height_of_9)
    )
    assert "Multiply." in everywhere
    assert "Multiply." not in not_everywhere
