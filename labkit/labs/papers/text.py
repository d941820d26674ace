"""A question of lab 8 as Markdown and as HTML."""

import html
import re
from collections.abc import Mapping

from labkit.labs.papers.items import Item, explained, numbers_text, options_for
from labkit.labs.papers.words import say

FENCE = re.compile(r"^```\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ARXIV = re.compile(r"arXiv:(\d{4}\.\d{5})")
STYLE = "max-width:52em;line-height:1.5"
QUIET = "color:#6e6e6e;font-size:90%"


def title_of(item: Item, name: str, language: str) -> str:
    """Such as "Q16 · Counting reads", and of its second half "Q16 · Counting reads, in numbers"."""
    rest = "" if name == item.id else say("in numbers", language)
    return f"{item.id.upper()} · {item.title[language]}{rest}"


def wanted_of(item: Item, name: str, language: str) -> str:
    """What the student is to do, in a sentence."""
    if name != item.id:
        return say("fill", language)
    if item.kind == "order":
        return say("order", language)
    return say("choose", language, n=item.n_right)


def question_of(item: Item, name: str, student_id: str, language: str) -> str:
    """The text of the question, with the student's own numbers if it asks for numbers."""
    if name == item.id:
        return item.question[language]
    return numbers_text(item, student_id, language)


def as_markdown(item: Item, name: str, student_id: str, language: str) -> str:
    """The whole question for a viewer without widgets; it reads well as plain text, too."""
    lines = [
        f"**{title_of(item, name, language)}**",
        f"*{'; '.join(item.source)}*",
        question_of(item, name, student_id, language),
        wanted_of(item, name, language),
    ]
    if name == item.id:
        texts = item.options[language]
        options = options_for(item, student_id).items()
        lines.append("\n".join(f"- **{letter}** {texts[option]}" for letter, option in options))
    else:
        fields = item.numbers.fields.items()
        lines.append("\n".join(f"- `{field}` ({unit})" for field, unit in fields))
    return "\n\n".join(lines)


def head_html(item: Item, name: str, student_id: str, language: str) -> str:
    """Title, what to read, the question."""
    source = ARXIV.sub(
        r'<a href="https://arxiv.org/abs/\1" target="_blank">arXiv:\1</a>',
        html.escape("; ".join(item.source)),
    )
    return (
        f'<div style="{STYLE}"><b>{html.escape(title_of(item, name, language))}</b>'
        f'<div style="{QUIET}">{source}</div>'
        f"{as_html(question_of(item, name, student_id, language))}"
        f"<div><b>{html.escape(wanted_of(item, name, language))}</b></div></div>"
    )


def explained_html(item: Item, name: str, student_id: str, language: str) -> str:
    """Why each option is right or wrong, or how the numbers come about; "" before the release."""
    key = explained(item)
    if key is None:
        return ""
    if name != item.id:
        return f'<div style="{STYLE}">{as_html(key["numbers"][language])}</div>'
    rows = []
    for letter, option in options_for(item, student_id).items():
        place = key["right"].index(option) + 1 if option in key["right"] else 0
        mark = f"{place}." if item.kind == "order" else "✓" if place else "✗"
        rows.append(
            f"<div><b>{letter}</b> {mark} {html.escape(key[language]['why'][option])}</div>"
        )
    return f'<div style="{STYLE}">{"".join(rows)}</div>'


def as_html(text: str) -> str:
    """Paragraphs, `code` and fenced tables as HTML."""
    parts = []
    for i, part in enumerate(FENCE.split(text)):
        if i % 2:
            parts.append(f'<pre style="line-height:1.3">{html.escape(part)}</pre>')
        else:
            paragraphs = [each for each in re.split(r"\n\s*\n", part.strip()) if each]
            parts += [f'<p style="margin:0.4em 0">{inline_html(each)}</p>' for each in paragraphs]
    return "".join(parts)


def inline_html(text: str) -> str:
    """One paragraph, with `code` set as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))


def answers_table(rows: Mapping[str, str]) -> str:
    """One line per answer, as text."""
    width = max(map(len, rows))
    return "\n".join(f"{name:<{width}}  {said}" for name, said in rows.items())
