"""Tables: the same cells as HTML and as text, few columns, no script."""

from html.parser import HTMLParser

import pytest

from labkit.measuring.tables import MOST_COLUMNS, Table, Tables

TABLE = Table(
    ["model", "tokens", "time s", "note"],
    [["<b>", 12_345, 0.123456, "a b"], ["other", 7, None, ""]],
    title="a & b",
    note="the note",
)


class Cells(HTMLParser):
    """The texts of a table's cells by tag, and all tags."""

    def __init__(self, html):
        super().__init__()
        self.found, self.tags, self.words = [], [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag in ("th", "td", "caption", "summary"):
            self.found.append([tag, ""])

    def handle_data(self, data):
        if self.found:
            self.found[-1][1] += data


def test_html_and_text_say_the_same():
    cells = Cells(TABLE._repr_html_())
    assert cells.found[0] == ["caption", "a & b"]
    assert [text for _, text in cells.found[1:5]] == ["model", "tokens", "time s", "note"]
    assert cells.found[5:8] == [["th", "<b>"], ["td", "12,345"], ["td", "0.123"]]
    lines = str(TABLE).splitlines()
    assert lines[0] == "a & b"
    assert lines[1].split() == ["model", "tokens", "time", "s", "note"]
    assert lines[2].split()[:3] == ["<b>", "12,345", "0.123"]
    assert lines[-1] == "the note"
    assert repr(TABLE) == str(TABLE)


def test_columns_of_numbers_end_at_the_right_and_text_begins_at_the_left():
    sides = [
        attrs["style"].rpartition("text-align:")[2].partition(";")[0]
        for tag, attrs in Cells(TABLE._repr_html_()).tags
        if tag == "td"
    ]
    assert sides == ["right", "right", "left"] * 2
    _, headings, first, *_ = str(TABLE).splitlines()
    assert headings.index("tokens") + len("tokens") == first.index("12,345") + len("12,345")


def test_html_has_headings_with_scopes_and_neither_scripts_nor_colours_of_its_own():
    html = TABLE._repr_html_()
    scopes = [attrs.get("scope") for tag, attrs in Cells(html).tags if tag == "th"]
    assert scopes == ["col"] * 4 + ["row"] * 2
    assert {tag for tag, _ in Cells(html).tags} <= {
        "a", "div", "table", "caption", "thead", "tbody", "tr", "th", "td", "wbr"
    }  # fmt: skip
    assert "#" not in html  # the theme's own letters, on the theme's own ground
    assert "nowrap" not in html  # narrow: words below each other; test_accessibility.py looks


def test_a_narrow_page_breaks_long_words_and_no_unit():
    html = Table(["case", "requests/s"], [["decode_small_model", 1]])._repr_html_()
    assert "decode_<wbr>small_<wbr>model" in html
    assert "requests/s" in html


def test_a_wide_table_and_a_torn_row_are_refused():
    with pytest.raises(ValueError, match="9 columns; more than 8 do not fit"):
        Table(["a"] * (MOST_COLUMNS + 1), [])
    with pytest.raises(ValueError, match="2 headings, but a row of 1 cells"):
        Table(["a", "b"], [[1, 2], [3]])


def test_a_table_without_rows_shows_its_headings():
    assert str(Table(["a", "b"], [], "title")) == "title\na  b"


def test_several_tables_stand_below_each_other_and_some_are_folded():
    folded = Table(["a"], [[1]], "more", is_folded=True)
    both = Tables([TABLE, folded])
    assert str(both) == f"{TABLE}\n\n{folded}"
    assert both._repr_html_() == TABLE._repr_html_() + folded._repr_html_()
    cells = Cells(folded._repr_html_())
    assert [tag for tag, _ in cells.tags][:2] == ["details", "summary"]
    assert cells.found[0] == ["summary", "more"]
