"""Multiple choice: which option an answer settles on, however worded, and whether it is right.

An answer is read on six levels, and the first level that names an option decides:

1. a labelled line ("Answer: B") or "final answer": the last one, or a correction of it ("no, B");
2. a statement ("the correct answer is (B)", "B is correct", "no, B"): the last one;
3. a hint of a choice ("I would pick B", "option B", "so it must be B");
4. a letter on a line of its own, or a line that begins with one ("B) crow balm");
5. a letter in parentheses;
6. the text of an option.

On levels 3 to 6 only one option may be named: what names several is ambiguous, and an ambiguous
answer is invalid rather than guessed at. So is a label or statement with two letters ("A or B").
Letters that are ruled out ("not A", "A is wrong", "I doubt that it is A"), what others say or what
would be if, and the English article do not count. Nowhere is a letter taken from mid-sentence
without such a sign: "vitamin B" chooses nothing.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

from training.tasks.items import Score

MAX_READ_CHARS = 20_000  # of a longer answer, its end: that is where it settles


def _compiled(*patterns: str) -> list[re.Pattern[str]]:
    return [re.compile(pattern, re.IGNORECASE | re.MULTILINE) for pattern in patterns]


# The patterns below see the text as `_plain` leaves it: straight quotes, no markup.
_OPEN, _CLOSE = r"[(\[{\"'「【]{0,4}", r"[)\]}\"'」】]{0,4}"
_LETTER = rf"{_OPEN}(?<![A-Za-z0-9])(?P<letter>[A-Za-z])(?![A-Za-z0-9]|['-][A-Za-z]){_CLOSE}"
_BLANK, _PAUSE = r"[^\S\n]*", r"[\s,.:;!—–-]{1,8}"
_IS = (
    r"(?:is|are|was|be|(?:would|should|must|will|can only|has to|have to|seems to|appears to)"
    r"(?: therefore| thus| then)? be|ist|lautet|es|est|é|è|は|是|为|為|'s|=|:|->|→|—|–|-)"
)
_HEDGE = (
    r"(?:most likely|probably|likely|clearly|definitely|therefore|thus|simply|just|indeed"
    r"|,? ?(?:i think|i believe|in my opinion),?)"
)
_NOUN = r"(?:the )?(?:option|choice|letter|answer|选项|選項)"
_ANSWER = (
    r"(?:answer|\bans\b|\bcorrect(?=:)"
    r"|(?:the|my|correct|right|best|final)(?: option| choice| letter)(?: here)?(?=\s*(?:is\b|:))"
    r"|antwort|respuesta(?: correcta)?|réponse|resposta|risposta|ответ|答え|正解"
    r"|정답|答案|(?<!不)[选選][择擇]?)"
)
_CORRECT = (
    r"(?:the |my )?(?:only |most |single ){0,2}"
    r"(?:(?:correct|right|best|accurate|appropriate|answer)(?![\w-])|better(?![\w-]| known| for))"
)
_CORRECTING = (
    r"(?:\bno(?=[,.:;!–—-])|\bwait|\bactually|\bsorry|\bcorrection|\brather|\binstead|\bi mean"
    r"|\bmake that|\bscratch that|不对)"
)

_TO_LETTER = (
    r"(?: choice| option| letter| key)?(?: (?:to|for) [^.:\n]{1,60}?)?(?:,[^,.\n]{1,40},)?"
    rf"(?:[\"'](?=:))?\s*(?:{_IS}\s*){{0,3}}(?:{_HEDGE}\s*)?(?:{_NOUN}\s*)?(?:{_IS}\s*)?"
    rf"(?:the (?=\W?[A-Z]\W? option))?{_LETTER}"
)
_LABELLED = _compiled(
    rf"^[^\w\n]{{0,6}}(?:(?:the|my|correct|final) ){{0,3}}{_ANSWER}(?=[\"']?\s*[:=→]){_TO_LETTER}",
    rf"\bfinal answer{_TO_LETTER}",
)
_CORRECTIONS = _compiled(
    rf"{_CORRECTING}{_PAUSE}(?:(?:no|wait|actually|sorry){_PAUSE}){{0,3}}"
    r"(?:it'?s |it is |it must be |make it |i mean |should be )?"
    rf"(?:(?:the )?(?:correct |right |final )?{_NOUN}[\s:]{{1,3}}(?:is )?)?{_LETTER}",
)
_STATEMENTS = _CORRECTIONS + _compiled(
    rf"{_ANSWER}{_TO_LETTER}",
    rf"{_LETTER}\s*(?:is|would be|must be|seems to be|是)\s*(?:{_HEDGE}\s+)?"
    rf"(?:{_CORRECT}|正确|正確)",
    rf"^{_BLANK}{_LETTER}[.:]?{_BLANK}[–—-]?{_BLANK}(?:correct|right)[^\w\n]*$",
)
_HINTS = _compiled(
    r"\b(?:choose|chose|pick|picked|select|selected|go with|going with|vote for|opt for|say|we get"
    rf"|i get):? (?:{_NOUN} )?{_LETTER}",
    rf"\bonly (?:{_NOUN} )?{_LETTER} (?:fits|matches|works|applies|remains|is left)\b",
    rf"\b(?:option|choice|letter)[\s:]+{_LETTER}",
    r"\b(?:it is|it's|it must be|it should be|must be|has to be|leaves|leaving|therefore|thus|hence"
    rf"|so)[\s,:]+(?:{_NOUN} )?{_LETTER}",
)
_LINES = _compiled(
    rf"^{_BLANK}{_LETTER}{_BLANK}[.,:;!]{{0,9}}{_BLANK}$",
    rf"^{_BLANK}{_OPEN}(?<![A-Za-z0-9])(?P<letter>[A-Za-z])(?:[)\]}}]+[.:]?|[.:])(?=\s)",
    rf"^{_BLANK}{_LETTER}{_BLANK}(?=[,–—-]\s|because\b|since\b|as\b|is\b)",
)
_PARENTHESES = _compiled(r"(?<![A-Za-z0-9])\((?P<letter>[A-Za-z])\)")
_RULED_OUT_BEFORE = re.compile(  # the words up to a letter
    r"(?:\bnot|n't|\bnever|\bneither|\bnor|\bthan|\binstead of|\bexcept|\bexclud\w+"
    r"|\beliminat\w+|\brul\w+ out|\breject\w*|不是|不选|排除)"
    r"\s*(?:be\s+)?(?:option\s+|choice\s+)?[(\"']*$"
    r"|^\W*(?:if|unless|had|were)\b(?! (?:i|we|one|forced|pressed)\b).*\bwould\b[^,]*$",
    re.IGNORECASE | re.DOTALL,
)
_DENIED = re.compile(  # the words up to a statement or hint
    r"(?:\bnot|n't|\bnever|\brul\w+ out|\breject\w*|\bexclud\w+|\beliminat\w+) (?:\w{2,} )?$"
    r"|\b(?:incorrect|wrong|false|unlikely|least likely|worst|second(?:[ -](?:best|choice))?) "
    r"(?:(?:answer|option|choice|letter)\b(?: (?:is|was|would be))?\W*)?$"
    r"|\b(?:students|people|others|many|some)(?: (?:students|people|often|may|might|would|could))*"
    r" (?:(?:say|think|believe|claim|assume|guess)(?: that)? ?(?:the )?)?$"
    r"|(?:(?<!\bno )(?<!\bany )(?<!\bbeyond )(?<!\bwithout )\bdoubt(?:s|ed|ful)?\b|\bimpossible\b"
    r"|\b(?:false|untrue|not true|not the case) that\b|(?:\bnot|n't|\bcannot|\bnever) "
    r"(?:\w+ )?(?:know|sure|certain|clear|think|believe|say|see)\b"
    r"|\b(?:unsure|nobody|no one|hardly|no way|no reason)\b)"
    r"(?:(?!\b(?:so|but|and|because|since|therefore|thus|hence)\b)[^,:])*$",
    re.IGNORECASE,
)
_RULED_OUT_AFTER = re.compile(
    r"[^\w\n]{0,3}(?:which )?(?:is|are|was|would be|can be|could be|must be|seems|looks)\s+"
    r"(?:also |clearly |simply |definitely |therefore )?"
    r"(?:not|wrong|incorrect|false|ruled out|eliminated|excluded|impossible|out)\b"
    r"|[^\w\n]{0,3}would be (?:\w+ ){1,3}(?:if|unless|had)\b"
    r"|[^\w\n]{0,3}(?:isn't|cannot|can't|does not|doesn't|won't|是?错|不对|不正确)",
    re.IGNORECASE,
)
_OTHER_LETTER = re.compile(
    r"(?:\s*(?:[/|&]|,\s*(?:or\b|and\b)?|or\b|and\b|oder\b|或|和)\s*(?:option |choice )?"
    r"|[^\S\n]*\n\s*(?=\W?[A-Z]\W?\s*$))"
    r"[(\"']*(?P<other>[A-Z])(?=[)\"']*(?:\s*[.,;:!?/|&)]|\s*$|\s+(?:or|and|are|both)\b))",
    re.MULTILINE,
)
_AFTER_LETTER = re.compile(  # what may follow a letter that could also be a word: A, I
    r"\s*(?:$|[\n.,:;!?/|&(]|[–—-]\s|(?:because|since|as|is|was|are|and|or|not|but|which|would|must"
    r"|seems|cannot|can't|isn't|option)\b)|[^\x00-\x7f]"
)
_LIST_OF_LETTERS = re.compile(r"\((?:[A-Z]\s*[,/|]?\s*(?:or|and)?\s*){3,26}\)")
_SENTENCE_END = re.compile(r"[.!?;\n]")
_OPTION_LIST = re.compile(r"^[^\S\n]*\(?A[).:].*\n+[^\S\n]*\(?B[).:]", re.MULTILINE)
_NEGATIVE = re.compile(r"\b(?:not|never|neither|nor|unlikely|cannot|rather than)\b|n't\b", re.I)


def score(answer: str, facts: Mapping[str, Any]) -> Score:
    """1 if the answer settles on the right option, 0 if on another or on none.

    facts: "options", text by letter, and "correct", a letter.
    """
    letter, reason = extract(answer, facts["options"])
    if letter is None:
        return Score(0.0, reason, is_valid=False)
    is_right = letter == facts["correct"]
    return Score(float(is_right), f"{reason}, {'right' if is_right else 'wrong'}")


def extract(answer: str, options: Mapping[str, str]) -> tuple[str | None, str]:
    """The letter of the option that an answer settles on, or None; and the reason, in words."""
    text = _plain(answer)
    if not text.strip():
        return None, "the answer is empty"
    statements = _statements(text)
    restart = _OPTION_LIST.search(text, statements[0].end() if statements else len(text))
    if restart:  # a model that runs on poses itself another question
        text = text[: restart.start()]
        statements = _statements(text)
    if statements:
        return _stated(statements[-1], text, options)
    for level in (_HINTS, _LINES, _PARENTHESES):
        mentions = list(_mentions(level, text))
        others = [_OTHER_LETTER.match(text, mention.end()) for mention in mentions]
        named = [mention["letter"].upper() for mention in mentions]
        named += [other["other"] for other in others if other]
        letters = set(named) & set(options)
        if len(letters) > 1:
            return None, f"ambiguous: it names {', '.join(sorted(letters))}"
        if letters:
            letter = letters.pop()
            return letter, f"chooses {letter}"
    return _by_text(text, options)


def _plain(answer: str) -> str:
    """The answer without thoughts, markup and typographic variants."""
    text = unicodedata.normalize("NFKC", answer[-MAX_READ_CHARS:])
    text = text.translate(str.maketrans("‘’“”", "''\"\""))
    text = re.sub(r"(?s)^.*</think>", "", text)
    text = re.sub(r"(?s)<think>.*", "", text)  # thoughts that were cut off settle nothing
    text = re.sub(r"<answer>", "\nAnswer: ", text, flags=re.IGNORECASE)
    text = re.sub(r"</?[A-Za-z]{1,12}>", " ", text)
    text = re.sub(r"\\(?:text|textbf|mathrm|mathbf|rm)\s*\{([^{}\n]{0,200})\}", r"\1", text)
    text = re.sub(r"\\boxed\s*\{([^{}\n]{0,200})\}", r"\nAnswer: \1\n", text)
    text = re.sub(r"[*`#$]|\b_+|_+\b|__", "", text)
    return _LIST_OF_LETTERS.sub("", text)


def _statements(text: str) -> list[re.Match[str]]:
    """What the answer states, in order; beside a labelled line, only such and corrections."""
    is_labelled = any(_mentions(_LABELLED, text))
    return list(_mentions(_LABELLED + _CORRECTIONS if is_labelled else _STATEMENTS, text))


def _mentions(patterns: list[re.Pattern[str]], text: str) -> Iterator[re.Match[str]]:
    """Where a letter is named and neither an article, ruled out, nor asked about; in order."""
    found = [match for pattern in patterns for match in pattern.finditer(text)]
    for match in sorted(found, key=lambda match: match.start("letter")):
        start, end = match.span("letter")
        said = text[max(match.start(), start - 120) : start]
        lead = _SENTENCE_END.split(text[max(0, match.start() - 120) : match.start()])[-1]
        after = text[end : end + 60]
        is_word = _is_word(match["letter"], text[start - 1 : start], after)
        if not is_word and not _is_denied(lead, said, after):
            yield match


def _is_word(letter: str, before: str, after: str) -> bool:
    """Whether the letter may be a word of the sentence: an article, a pronoun, an abbreviation."""
    if before and before in "([{\"'「【" and after[:1] in list(")]}\"'」】"):
        return False
    if letter.islower():
        ends = re.match(r"\s*(?:[.):\],;!]|$)", after, re.MULTILINE)
        is_cut_off = letter in "ai" and not after.strip() and before not in ":=("
        return not ends or is_cut_off
    return letter in "AI" and not _AFTER_LETTER.match(after)


def _is_denied(lead: str, said: str, after: str) -> bool:
    """Whether a letter is ruled out, by its sentence before the match, in it, or behind it."""
    return bool(
        _DENIED.search(lead)
        or _RULED_OUT_BEFORE.search(lead + said)
        or _RULED_OUT_AFTER.match(after)
        or re.match(r"[)\]\"']*\s*\?", after)
    )


def _stated(match: re.Match[str], text: str, options: Mapping[str, str]) -> tuple[str | None, str]:
    letter = match["letter"].upper()
    other = _OTHER_LETTER.match(text, match.end())
    if other and other["other"] in options and other["other"] != letter:
        return None, f"ambiguous: it answers {letter} and {other['other']}"
    if letter not in options:
        return None, f"it answers {letter}, but the options are {', '.join(options)}"
    return letter, f"answers {letter}"


def _by_text(text: str, options: Mapping[str, str]) -> tuple[str | None, str]:
    """The only option whose words the answer uses, in a sentence that denies nothing."""
    words = _words(text)
    named: dict[str, str] = {}
    for letter, option in sorted(options.items(), key=lambda pair: -len(pair[1])):
        phrase = f" {_words(option).strip()} "
        if phrase.strip() and phrase in words:
            named[letter] = option
            words = words.replace(phrase, " | ")  # a shorter option inside it is not named
    if not named:
        return None, "it names no option"
    if len(named) > 1:
        return None, f"ambiguous: it names the texts of {', '.join(sorted(named))}"
    (letter, option) = named.popitem()
    sentences = [part for part in re.split(r"[.!?\n]+", text) if _words(option) in _words(part)]
    if any(_NEGATIVE.search(sentence) for sentence in sentences):
        return None, f"it names only the text of {letter}, in a sentence that denies something"
    return letter, f"names the text of {letter}"


def _words(text: str) -> str:
    words = re.findall(r"[^\W_]+", text.casefold())
    return f" {' '.join(words)} "
