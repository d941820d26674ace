"""Dates in words, as learning platforms write them in the languages of their users.

A date is recognised by its parts, not by a form for each language: one clock, one year, one day of
the month, and the name of one month. The names are those of the Unicode CLDR, which PHP and so
Moodle use. Chinese, Japanese and Korean dates have numbers in place of names. What has any other
word of more than three letters is no date.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from functools import cache

from babel import Locale

LANGUAGES = ("en", "de", "fr", "es", "it", "ja", "ko", "nl", "pl", "pt", "ru", "zh_Hans", "zh_Hant")
FORMS, WIDTHS = ("format", "stand-alone"), ("wide", "abbreviated")
CLOCK = re.compile(
    r"(?<![0-9:])(?P<hour>[0-9]{1,2}) ?[:h時时点點시] ?(?P<minute>[0-9]{2})"
    r"(?::(?P<second>[0-9]{2}))?[分분]?(?![0-9:])"
)
NUMBERS = (
    re.compile(
        r"(?P<year>[0-9]{4}) ?[年년./] ?(?P<month>[0-9]{1,2}) ?[月월./] ?(?P<day>[0-9]{1,2})"
    ),
    re.compile(r"(?P<day>[0-9]{1,2})\. ?(?P<month>[0-9]{1,2})\. ?(?P<year>[0-9]{4})"),
    re.compile(r"(?P<day>[0-9]{1,2}) (?P<month>[0-9]{1,2})[月월],? (?P<year>[0-9]{4})"),
    re.compile(r"(?P<month>[0-9]{1,2})[月월] (?P<day>[0-9]{1,2}),? (?P<year>[0-9]{4})"),
)
HALF = re.compile(r"(?<!\w)(?P<half>[ap])\.? ?m\b\.?", re.IGNORECASE)
WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
MAX_OTHER_CHARS = 3  # de, à, um, г, 年, 星期四


@dataclass(frozen=True)
class _Words:
    """A language's names of months, with their numbers, and its names of weekdays."""

    months: dict[str, int]
    weekdays: frozenset[str]


def date_in_words(text: str) -> datetime | None:
    """The moment that a text of one line names, without a zone; None if it cannot be read."""
    clock = CLOCK.search(text)
    if clock is None:
        return None
    rest, half = _without_half(text[: clock.start()] + " " + text[clock.end() :])
    days = [_day(rest, _words(language)) for language in LANGUAGES]
    days = [day for day in days if day]
    best = {day[1:] for day in days if day[0] == min(days)[0]}
    if len(best) != 1 or half is None:
        return None
    year, month, day = best.pop()
    hour = int(clock["hour"])
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half == "p" else 0)
    try:
        return datetime(year, month, day, hour, int(clock["minute"]), int(clock["second"] or 0))
    except ValueError:
        return None


def _without_half(text: str) -> tuple[str, str | None]:
    """A text without AM or PM, and which it was: "a", "p", "" for neither, None for both."""
    halves = {match["half"].lower() for match in HALF.finditer(text)}
    text = HALF.sub(" ", text)
    for name, half in _halves().items():
        if name in text:
            halves.add(half)
            text = text.replace(name, " ")
    return text, None if len(halves) > 1 else "".join(halves)


def _day(text: str, words: _Words) -> tuple[int, int, int, int] | None:
    """The number of unknown words, year, month and day, if the text can be of this language."""
    found = [word.casefold() for word in WORD.findall(text)]
    unknown = [word for word in found if word not in words.months and word not in words.weekdays]
    if any(len(word) > MAX_OTHER_CHARS for word in unknown):
        return None
    numbers = re.findall("[0-9]+", text)
    for form in NUMBERS:
        match = form.search(text)
        if match and len(numbers) == 3:
            return len(unknown), int(match["year"]), int(match["month"]), int(match["day"])
    months = [word for word in found if word in words.months]
    months = [word for word in months if word not in words.weekdays] or months  # es: mar, 3 ago
    numbered = {words.months[word] for word in months}  # it: mar, 31 mar
    days, years = ([n for n in numbers if len(n) in lengths] for lengths in ((1, 2), (4,)))
    if (len(numbered), len(years), len(days), len(numbers)) != (1, 1, 1, 2):
        return None
    return len(unknown), int(years[0]), numbered.pop(), int(days[0])


@cache
def _words(language: str) -> _Words:
    locale = Locale.parse(language)
    months: dict[str, int] = {}
    weekdays: set[str] = set()
    for form in FORMS:
        for width in WIDTHS:
            named = locale.months[form][width].items()
            months |= {name.rstrip(".").casefold(): number for number, name in named}
            weekdays |= {name.rstrip(".").casefold() for name in locale.days[form][width].values()}
    return _Words(months, frozenset(weekdays))


@cache
def _halves() -> dict[str, str]:
    """The words for AM and PM in the languages that do not write these letters."""
    periods = [Locale.parse(each).day_periods["format"]["abbreviated"] for each in LANGUAGES]
    named = [(each[name], name[0]) for each in periods for name in ("am", "pm") if name in each]
    return {name: half for name, half in named if not name.isascii()}
