"""What the style of CONTRIBUTING.md forbids, as checks of proselint: its own, and some of ours.

A rule of ours is one line of `WORDS`, a pattern and what to write in its place, or a function that
looks at one sentence. proselint carries both, and brings the lists of its editors along.
"""

import re
from collections.abc import Callable, Iterable

from prose import Sentence
from proselint.checks import cliches, malapropisms, needless_variants, nonwords, redundancy
from proselint.registry.checks import Check
from proselint.registry.checks.types import ExistenceSimple

LONGEST = 30
OF_REQUESTS = "requests?|prompts?|jobs?|texts?|tokens?|drafts?|blocks?"
WORDS = {
    r"\bbehind\b( \w+){0,3}": "say after, below or with",
    r"([\w’']+ )?\blaws?\b": "say distribution, rule or formula",
    r"\b(un)?told\b": "say reported, named or given",
    r"\b(whoever|whomever|whosoever)\b": "name the person, or say the request",
    rf"\b({OF_REQUESTS}),? whom?\b": "a request is it: say that or which",
    r"\bwho (waits?|joins?|leaves?|fits?|comes?|is done|has come)\b": "a request is it: name it",
    r"\b(every|some|any|no)body (waits?|joins?|leaves?|fits|starves|comes|gets)\b": (
        "a request is it: name it"
    ),
    r"\b(commonest|in earnest|upside down|in vain|of its own accord)\b": "use a plain word",
    r"\b(lest|thereof|whence|whereby|wherein|whereupon|henceforth|albeit)\b": "use a plain word",
    r"\ba like (program|one|kind|number)\b": "say a similar one",
    r"^(nor|neither|never|nowhere|hardly|seldom|not only|not until|only (then|so|here|if|when)) "
    r"(is|are|was|were|do|does|did|can|may|must|has|have|will)\b": "put the subject first",
    r"^(what|who) [^?]*\.$": "begin with the thing itself: the X that ...",
    r"\b(none|no|nothing|nobody)( \w+){1,4} (none|nothing|nobody|never)\b": (
        "one negation is enough"
    ),
}
ALLOWED = ("behind (the|that|a|one|our|the same) wall.*", "[Pp]ower laws?", "Little[’']s law")
QUOTATIONS = {  # sentences of CONTRIBUTING.md that show what not to write
    "Say after, not behind; distribution, not law; reported, not told; "
    "duration where time could be a count.",
    "None of none",
    "Whoever comes in has its KV cache loaded",
}

VERBS = set(
    """
    add agree allocate allow answer appear append apply arrive ask assume attend average avoid
    batch be become begin belong break bring build cache call carry catch cause change check
    choose clear close collect come commit compare compute contain continue convert copy cost
    count cover crash create cross cut decide decode define delete depend describe differ
    discuss divide do download draft draw drop edit end evict exist expect explain fail feed
    fetch fill find finish fit fold follow forbid forget free generate get give go grade grow
    halve hand happen have hear help hide hold import increase inform install judge keep know
    last lay lead learn leave let lie like list listen live load look lose lower make mark match
    mean measure meet mend merge mind miss mix move multiply name need note notice open own pass
    pay pick play point predict prefill print promise prove quote raise reach rebuild receive
    record redraw refuse reject remain remember remove rename repeat replace reply report
    represent require reserve restart return rewind rise round run sample save say search see
    sell send share ship show sign skip solve sort speak square stand start stay step stop store
    subtract sum supply swap take tell test think time train transfer try turn type unpack
    upload use verify wait want watch weigh work write is are was were am has had does did done
    could can may might must shall should will would cannot chose chosen given gave got held
    kept lost made met paid ran said saw seen sent stood stayed taken took told understood went
    wrote written spent read begun drawn became felt grew knew led left meant put set shown
    thought wore
    """.split()
)


def has_verb(words: Iterable[str]) -> bool:
    """Whether one of the words is a form of a verb of the list."""
    for word in words:
        low = re.sub(r"[’'](s|re|ve|ll|d)$", "", word.lower()).strip("`,.")
        stems = (low, *(re.sub(f"{end}$", "", low) for end in ("s", "es", "d", "ed", "ing")))
        doubled = re.sub(r"(.)\1(ed|ing)$", r"\1", low)
        if {*stems, doubled, re.sub("ing$", "e", low), re.sub("ies$|ied$", "y", low)} & VERBS:
            return True
    return False


def lacks_a_verb(sentence: Sentence) -> bool:
    n_plain_words = sum(word.isalpha() and len(word) > 2 for word in sentence.words)
    is_definition = re.match(r"\w+: |.*: (`x`[ ,]*)+\.$", sentence.text)
    is_short = n_plain_words > 1 and len(sentence.words) < 10 and not is_definition
    return is_short and sentence.text.endswith(".") and not has_verb(sentence.words)


def begins_with_a_bare_number(sentence: Sentence) -> bool:
    return bool(re.match(r"[\d.,×% ]*\d( \w{1,3})?(:|, \d)", sentence.text))


SENTENCES: dict[str, Callable[[Sentence], bool]] = {
    f"{LONGEST} words at most: make two sentences": lambda s: len(s.words) > LONGEST,
    "a sentence needs a verb": lacks_a_verb,
    "a number is no sentence: say what it counts": begins_with_a_bare_number,
    "one semicolon at most: put one idea into a sentence": (
        lambda s: s.is_whole and s.text.count(";") > 1
    ),
}
OURS = tuple(
    Check(check_type=ExistenceSimple(pattern, ALLOWED), path="labkit", message=advice)
    for pattern, advice in WORDS.items()
)
EDITORS = tuple(
    check
    for part in (cliches, malapropisms, needless_variants, nonwords, redundancy)
    for check in part.__register__
)


def broken(sentence: Sentence) -> set[str]:
    """What is to be done about a sentence, rule by rule; nothing about one that may stay."""
    if sentence.text in QUOTATIONS:
        return set()
    found = {advice for advice, breaks in SENTENCES.items() if breaks(sentence)}
    for check in (*OURS, *EDITORS):
        found |= {result.message for result in check.check_with_flags(sentence.text)}
    return found


def report(sentences: Iterable[Sentence]) -> str:
    """All sentences that break a rule, by rule, each with its place; "" if none does."""
    by_rule: dict[str, list[str]] = {}
    for sentence in sentences:
        for advice in sorted(broken(sentence)):
            line = f"  {sentence.path}:{sentence.line}: {sentence.text}"
            by_rule.setdefault(advice, []).append(line)
    return "\n".join(
        "\n".join([f"{advice} ({len(lines)})", *lines]) for advice, lines in by_rule.items()
    )
