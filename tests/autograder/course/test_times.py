"""Moments as exports write them."""

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from babel.dates import format_datetime
from hypothesis import given
from hypothesis import strategies as st

from autograder.course.dates import LANGUAGES
from autograder.course.times import instant, iso_time, parse_time

NOON = datetime(2026, 10, 15, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "2026-10-15T12:00:00Z",
        "2026-10-15T12:00+00:00",
        "2026-10-15 12:00:00.000000000 Z",
        "2026-10-15 05:00:00 -0700",
        "2026-10-15 20:00:00 Asia/Taipei",
        " 2026-10-15 12:00:00.0 UTC\n",
    ],
)
def test_one_moment_in_many_spellings(text):
    assert parse_time(text) == NOON


@pytest.mark.parametrize(
    "text",
    [
        "2026-10-15 12:00",
        "2026-10-15 12:00:00 CST",
        "Thursday, 15 October 2026, 12:00 PM",
        "Thursday, 15 October 2026, 12:00\u202fPM",
        "Thursday, 15 October 2026, 12:00",
        "Thursday, October 15, 2026, 12:00 PM",
    ],
)
def test_a_time_without_a_zone_is_one_of_the_zone_that_is_asked_for(text):
    assert parse_time(text) == NOON.replace(tzinfo=None)
    assert instant(text, ZoneInfo("Asia/Taipei")) == NOON - timedelta(hours=8)


@pytest.mark.parametrize(
    "text",
    ["", "-", "yesterday", "2026-13-01 00:00", "2026-10-15", "0001-01-01 00:00:00 Z",
     "9999-12-31 23:59:59 Z", "2026-10-15 25:00:00", "２０２６-10-15 12:00:00"],
)  # fmt: skip
def test_what_names_no_moment_of_a_course_is_unknown(text):
    assert parse_time(text) is None
    assert iso_time(text) == ""


hostile = st.from_regex(r"2026-10-15[ T]\d\d:\d\d(:\d\d)?(\.\d+)? ?\S{0,12}", fullmatch=True)


@given(st.text() | hostile | st.text("ab/.\0é", max_size=9).map("2026-10-15 12:00 x/{}".format))
def test_any_text_is_a_moment_that_reads_back_or_unknown(text):
    moment = parse_time(text)
    assert (moment is None) == (iso_time(text) == "")
    if moment is not None:
        assert parse_time(moment.isoformat()) == moment
        assert instant(text).tzinfo is UTC


offsets = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(st.datetimes(datetime(1971, 1, 1), datetime(8000, 1, 1), timezones=offsets))
def test_iso_text_reads_back_to_the_same_instant(moment):
    assert instant(moment.isoformat()) == moment


PATTERNS = (
    "EEEE, d MMMM y, HH:mm", "EEEE, d LLLL y, h:mm a", "y年 M月 d日(EEE) HH:mm", "d.M.y, HH:mm",
    "MMM d, y h:mm a", "EEE, d MMM y, HH:mm:ss", "EEEE, MMMM d, y, h:mm a", "y年M月d日 EEEE a h:mm",
)  # fmt: skip


@pytest.mark.parametrize("language", LANGUAGES)
@given(st.datetimes(datetime(1971, 1, 1), datetime(2900, 1, 1)), st.sampled_from(PATTERNS))
def test_dates_in_words_read_back_in_each_language(language, moment, pattern):
    seconds = moment.second if "ss" in pattern else 0
    text = format_datetime(moment, pattern, locale=language)
    assert parse_time(text) == moment.replace(second=seconds, microsecond=0), text


@pytest.mark.parametrize(
    "text",
    ["15/10/2026 23:59", "10/15/2026 11:59 PM", "15 October 2026", "15 October 2026, 13:59 PM",
     "15 16 October 2026 10:00", "15 October November 2026 10:00", "3 days late at 10:00",
     "15 October 2026 23:59 submitted", "31 June 2026 10:00", "15 October 2026 am 10:00 pm"],
)  # fmt: skip
def test_a_date_that_can_be_two_days_or_none_is_unknown(text):
    assert parse_time(text) is None
