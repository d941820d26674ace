"""Late work: time zones, changes of the clocks, grace, rounding, and what is told."""

from datetime import UTC, datetime, timedelta
from fractions import Fraction
from math import ceil
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.builder.source import read_course, read_labs
from autograder.course.late import ACCEPT, REFUSE, LateRule
from autograder.course.policy import Policy, PolicyError, Standing, read_policy
from autograder.places import COURSE

LAB = "04_kv_cache"
ZONES = ("UTC", "Asia/Taipei", "Europe/Berlin", "America/St_Johns", "Pacific/Chatham")
DEADLINE = datetime(2026, 10, 15, 15, 59, 59, tzinfo=UTC)
TAIPEI = Policy(timezone=ZoneInfo("Asia/Taipei"), late=REFUSE, deadlines={LAB: DEADLINE})
TENTH = LateRule(0.1, 0.5)


def policy_from(tmp_path, text):
    path = tmp_path / "policy.toml"
    path.write_text(text, encoding="utf-8")
    return read_policy(path)


def standing(policy, submitted_at, marked_late=None, student="ann"):
    return policy.standing(LAB, student, submitted_at, marked_late)


def after(overdue, rule=TENTH, grace_minutes=0.0):
    policy = Policy(late=rule, grace_minutes=grace_minutes, deadlines={LAB: DEADLINE})
    return standing(policy, (DEADLINE + overdue).isoformat())


def test_students_can_ask_about_a_mark_until_a_day_after_the_deadline():
    policy = read_policy(COURSE)
    assert set(policy.ask_until) <= set(policy.deadlines)
    assert all(policy.ask_until[lab] > policy.deadlines[lab] for lab in policy.ask_until)


def test_a_course_that_nobody_has_filled_in_has_the_policy_of_the_handout():
    policy = read_policy(COURSE)
    as_shipped = (
        (policy.attempts, policy.late) == ("best", REFUSE)
        and set(policy.deadlines) == {lab.name for lab in read_labs()}
        and policy.timezone.utcoffset(datetime(2026, 10, 1)) == timedelta(hours=8)
        and policy.deadlines[LAB] == DEADLINE
    )
    assert as_shipped or "[name, term]" not in read_course().page.values()


def test_without_a_policy_late_work_counts_and_the_best_attempt_too():
    assert Policy().attempts == "best"
    assert standing(Policy(), "2026-10-15T12:00:00") == Standing(1.0, "")
    assert standing(Policy(), "", marked_late=True).late_factor == 1.0
    assert "counts in full" in standing(Policy(), "", marked_late=True).sentence


@pytest.mark.parametrize(
    "submitted_at",
    [
        "2026-10-15T23:59:59",
        "2026-10-15T23:59:59.999999+08:00",
        "2026-10-15T15:59:59+00:00",
        "2026-10-15T08:59:59-07:00",
        "2026-10-16T05:44:59+13:45",
    ],
)
def test_the_last_second_is_in_time_in_every_zone(submitted_at):
    assert standing(TAIPEI, submitted_at) == Standing(1.0, "")


def test_one_second_later_is_refused_and_told_with_both_times_and_their_zone():
    refused = standing(TAIPEI, "2026-10-15T16:00:00+00:00")
    assert refused.late_factor == 0
    assert refused.sentence == (
        "Handed in at 2026-10-16 00:00:00 (UTC+08:00), 1 second after the deadline of "
        "2026-10-15 23:59:59 (UTC+08:00): late work is not accepted, so it earns no marks."
    )


@pytest.mark.parametrize(
    ("overdue", "factor"),
    [
        (timedelta(0), 1.0),
        (timedelta(seconds=1), 0.9),
        (timedelta(days=1), 0.9),
        (timedelta(days=1, seconds=1), 0.8),
        (timedelta(days=5), 0.5),
        (timedelta(days=400), 0.5),
    ],
)
def test_each_started_day_costs_a_share_up_to_the_largest(overdue, factor):
    assert after(overdue).late_factor == factor


def test_shares_that_do_not_add_up_in_binary_are_rounded():
    assert LateRule(0.1).factor(3) == 0.7
    assert LateRule(0.15).factor(6) == 0.1
    assert LateRule(0.1).factor(11) == 0.0


def test_grace_is_in_time_and_days_count_from_its_end():
    assert after(timedelta(minutes=10), grace_minutes=10) == Standing(1.0, "")
    assert after(timedelta(minutes=10, seconds=1), grace_minutes=10).late_factor == 0.9
    assert after(timedelta(days=1, minutes=10), grace_minutes=10).late_factor == 0.9


def test_a_day_is_24_hours_also_when_the_clocks_change():
    berlin = ZoneInfo("Europe/Berlin")
    deadline = datetime(2026, 10, 24, 12, tzinfo=berlin).astimezone(UTC)
    policy = Policy(timezone=berlin, late=TENTH, deadlines={LAB: deadline})
    assert standing(policy, "2026-10-25T11:00:00").late_factor == 0.9
    assert standing(policy, "2026-10-25T11:00:01").late_factor == 0.8


def test_an_hour_that_comes_twice_is_read_as_the_earlier():
    berlin = ZoneInfo("Europe/Berlin")
    deadline = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)  # 02:30 in summer time
    policy = Policy(timezone=berlin, late=REFUSE, deadlines={LAB: deadline})
    assert standing(policy, "2026-10-25T02:30:00").late_factor == 1
    assert standing(policy, "2026-10-25T02:30:00+01:00").late_factor == 0


moments = st.datetimes(datetime(2020, 1, 1), datetime(2035, 1, 1)).map(
    lambda moment: moment.replace(microsecond=0)
)
shares = st.integers(0, 1000).map(lambda n: n / 1000)


@given(
    moments, st.integers(-(10**7), 10**7), st.integers(0, 2000), shares, shares,
    st.sampled_from(ZONES), st.sampled_from(ZONES),
)  # fmt: skip
def test_the_factor_follows_from_the_two_instants_alone(
    deadline, overdue_s, grace_minutes, per_day, at_most, course_zone, other_zone
):
    deadline = deadline.replace(tzinfo=UTC)
    policy = Policy(
        timezone=ZoneInfo(course_zone),
        late=LateRule(per_day, at_most),
        grace_minutes=grace_minutes,
        deadlines={LAB: deadline},
    )
    moment = (deadline + timedelta(seconds=overdue_s)).astimezone(ZoneInfo(other_zone))
    got = standing(policy, moment.isoformat())
    n_days = ceil(Fraction(max(overdue_s - 60 * grace_minutes, 0), 86400))
    lost = min(n_days * Fraction(str(per_day)), Fraction(str(at_most)))
    assert abs(Fraction(got.late_factor) - (1 - lost)) < Fraction(1, 10**9)
    assert bool(got.sentence) == (n_days > 0)


@given(moments, st.integers(-(10**6), 10**6), st.sampled_from(ZONES))
def test_a_time_without_an_offset_is_one_of_the_courses_zone(deadline, overdue_s, zone):
    zone = ZoneInfo(zone)
    policy = Policy(timezone=zone, late=REFUSE, deadlines={LAB: deadline.replace(tzinfo=UTC)})
    moment = deadline.replace(tzinfo=UTC) + timedelta(seconds=overdue_s)
    local = moment.astimezone(zone)
    if local.replace(fold=0).utcoffset() == local.replace(fold=1).utcoffset():
        naive = local.replace(tzinfo=None).isoformat()
        assert standing(policy, naive) == standing(policy, moment.isoformat())


@given(
    st.text(),
    st.sampled_from([None, False, True]),
    st.booleans(),
    st.sampled_from([ACCEPT, REFUSE, TENTH]),
)
def test_any_time_has_a_standing_and_what_costs_marks_is_told(text, is_late, has_deadline, rule):
    policy = Policy(late=rule, deadlines={LAB: DEADLINE} if has_deadline else {})
    got = standing(policy, text, is_late)
    assert 0 <= got.late_factor <= 1
    assert got.sentence or (got.late_factor == 1 and not is_late)


@pytest.mark.parametrize(("rule", "factor"), [(ACCEPT, 1.0), (REFUSE, 0.0), (TENTH, 0.9)])
def test_marked_late_without_a_time_counts_as_late_and_says_so(rule, factor):
    for deadlines in ({}, {LAB: DEADLINE}):
        got = standing(Policy(late=rule, deadlines=deadlines), "", marked_late=True)
        assert got.late_factor == factor
        assert "marked it late without a time" in got.sentence


def test_a_known_time_outweighs_the_platforms_mark():
    got = standing(TAIPEI, "2026-10-15T20:00:00", marked_late=True)
    assert got.late_factor == 1
    assert "in time for the deadline" in got.sentence


@pytest.mark.parametrize("submitted_at", ["", "yesterday"])
def test_an_unknown_time_is_told_and_costs_nothing(submitted_at):
    got = standing(TAIPEI, submitted_at)
    assert got.late_factor == 1
    assert "not known, so the deadline of 2026-10-15 23:59:59" in got.sentence
    assert standing(TAIPEI, submitted_at, marked_late=False) == Standing()


EXTENDED = f"""
timezone = "Asia/Taipei"
late = "refuse"
[deadlines]
{LAB} = 2026-10-15T23:59:59
[extensions."José L."]
04 = 2026-10-18T23:59:59
"""


def test_an_extension_is_one_students_own(tmp_path):
    policy = policy_from(tmp_path, EXTENDED)
    saturday = "2026-10-17T12:00:00"
    for student in ("José L.", "jose\u0301 l."):
        got = standing(policy, saturday, student=student)
        assert got.late_factor == 1
        assert "by the extension until 2026-10-18 23:59:59" in got.sentence
    assert standing(policy, saturday, student="Jose L.").late_factor == 0
    assert standing(policy, "2026-10-19T00:00:00", student="José L.").late_factor == 0
    assert standing(policy, "", marked_late=True, student="José L.").late_factor == 1
    assert policy.strangers(LAB, ["Jose L."]) == ["josé l."]
    assert policy.strangers(LAB, ["José L."]) == []
    assert policy.strangers("02_throughput", []) == []


def test_a_deadline_may_name_its_own_offset(tmp_path):
    policy = policy_from(tmp_path, f"[deadlines]\n{LAB} = 2026-10-15T23:59:59+08:00")
    assert policy.deadlines == {LAB: DEADLINE}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("late = ", "not TOML"),
        ("grace_minutes = 1" + "0" * 5000, "not TOML"),
        ("late = " + "[" * 5000, "not TOML"),
        ("grace_minute = 5", "is no setting; there are timezone"),
        ('timezone = "UTC+8"', "no IANA name"),
        ('timezone = "../passwd"', "no IANA name"),
        ("timezone = 8", "no IANA name"),
        ('timezone = "Asia"', "no IANA name"),
        ('attempts = "first"', '"best" or "last"'),
        ("attempts = []", '"best" or "last"'),
        ('late = "never"', "per_day = 0.1"),
        ("late = 0.1", "per_day = 0.1"),
        ("late = { at_most = 0.5 }", "per_day = 0.1"),
        ("late = { per_day = 10 }", "late.per_day is 10; it must be a number from 0 to 1"),
        ("late = { per_day = true }", "must be a number"),
        ("grace_minutes = -1", "from 0 to 10080"),
        ("grace_minutes = inf", "from 0 to 10080"),
        ('grace_minutes = "5"', "from 0 to 10080"),
        ("bonus_at_most = nan", "of at least 0"),
        ("deadlines = 5", "must be a table"),
        ("policy = 5", "policy must be a table"),
        ("[deadlines]\n99_cooking = 2026-10-15T23:59:59", "there is no lab '99_cooking'"),
        ("[deadlines]\n04 = 2026-10-15T23:59:59\n04_kv_cache = 2026-10-15T23:59:59", "twice"),
        (f"[deadlines]\n{LAB} = 2026-10-15", "a day and a time"),
        (f'[deadlines]\n{LAB} = "2026-10-15T23:59:59"', "without quotes"),
        (f"[deadlines]\n{LAB} = 0001-01-01T00:00:00+08:00", "no year of any course"),
        (f"[deadlines]\n{LAB} = 9999-12-31T23:59:59", "no year of any course"),
        (f"[extensions.ann]\n{LAB} = 2026-10-15T23:59:59", "extends no deadline"),
        ("extensions = 3", "must be tables"),
        ("[extensions]\nann = 3", "must be a table"),
        (EXTENDED.replace("10-18", "10-14"), "extends no deadline"),
        (EXTENDED + "[extensions.'JOSÉ L.']", "twice, in two spellings"),
    ],
    ids=lambda text: text[:30],
)
def test_a_policy_that_means_nothing_is_refused_in_a_sentence(tmp_path, text, reason):
    with pytest.raises(PolicyError) as refusal:
        policy_from(tmp_path, text)
    assert reason in str(refusal.value)
    assert str(tmp_path / "policy.toml") in str(refusal.value)


@pytest.mark.parametrize(
    ("local", "problem"), [("2026-10-25T02:30:00", "twice"), ("2026-03-29T02:30:00", "not at all")]
)
def test_a_deadline_when_the_clocks_change_needs_an_offset(tmp_path, local, problem):
    text = f'timezone = "Europe/Berlin"\n[deadlines]\n{LAB} = {local}'
    with pytest.raises(PolicyError, match=f"{problem}.*write it with an offset"):
        policy_from(tmp_path, text)
    policy = policy_from(tmp_path, text + "+02:00")
    assert policy.deadlines[LAB] == datetime.fromisoformat(local + "+02:00")


@given(st.binary(max_size=200))
def test_any_bytes_are_a_policy_or_a_sentence(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "any.toml"
    path.write_bytes(content)
    try:
        read_policy(path)
    except PolicyError as refusal:
        assert str(path) in str(refusal)


def test_a_missing_policy_is_a_sentence(tmp_path):
    with pytest.raises(PolicyError, match="cannot be read"):
        read_policy(tmp_path / "none.toml")


def test_whom_to_ask_is_a_text_and_until_when_a_moment(tmp_path):
    policy = policy_from(tmp_path, f'ask = "Ms. Wu"\n[ask_until]\n{LAB} = 2026-11-05T23:59:59\n')
    assert policy.asking(LAB).endswith("You can ask until 2026-11-05 23:59:59 (UTC): Ms. Wu.")
    assert policy.asking("01_memory").endswith("You can ask: Ms. Wu.")
    assert Policy().asking(LAB) == ""
    with pytest.raises(PolicyError, match="ask is 3; it must be a text"):
        policy_from(tmp_path, "ask = 3\n")
