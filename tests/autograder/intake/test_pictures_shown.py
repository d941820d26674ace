"""Every picture that a text names, or that came beside the notebook, is shown or flagged."""

import json
import re
from base64 import b64encode

import pytest
from classroom import master, solved
from deliveries import collected, delivered, zipped
from nbconvert import HTMLExporter
from nbformat.v4 import new_notebook

from autograder.builder.colab import badge as badge_of
from autograder.intake.collect import collect
from autograder.intake.pictures import MOST_PICTURES
from autograder.intake.read import read_notebook
from autograder.intake.rebuild import rebuild
from autograder.judging.shown import clean_student_cells
from autograder.pages.shown import shown
from autograder.practice import cell_called

LAB, NAME = "01_memory", "growth"
PNG = b"\x89PNG\r\n\x1a\n" + b"a picture of a curve"
JPEG, GIF = b"\xff\xd8\xff\xe0 photo", b"GIF89a moving"
WEBP = b"RIFF\x00\x00\x00\x00WEBPVP8 "
CODED = b64encode(PNG).decode()
PASTED = {"a b (1).png": {"image/png": CODED}}


def answer(text, attachments=None, files=None):
    """The answer as intake leaves it, safe to be shown, and what intake noted."""
    notebook = solved(LAB, **{NAME: text})
    if attachments:
        cell_called(notebook, NAME)["attachments"] = attachments
    content = json.dumps(notebook).encode()
    rebuilt = rebuild(master(LAB), read_notebook(content, "x.ipynb"), files or {})
    clean_student_cells(rebuilt.notebook)
    nodes = [
        node for node in rebuilt.notebook if node.metadata.get("labkit", {}).get("name") == NAME
    ]
    return nodes[0], rebuilt


def html(node):
    """What the desk and the feedback page show."""
    return shown(node.source, node.get("attachments", {}))


def is_shown(node, data=PNG):
    """Whether desk, page and Formgrader show a picture."""
    coded = b64encode(data).decode()
    graded = HTMLExporter(embed_images=True).from_notebook_node(new_notebook(cells=[node]))[0]
    return f"base64,{coded}" in html(node) and f"base64,{coded}" in graded


SPELLINGS = {
    "Markdown": "See ![plot](attachment:a%20b%20%281%29.png).",
    "Markdown, spaces": "See ![plot](attachment:a b (1).png).",
    "Markdown, pointed brackets": "See ![plot](<attachment:a b (1).png>).",
    "Markdown, a title": '![plot](attachment:a%20b%20%281%29.png "My plot")',
    "Markdown, by reference": "See ![plot][1].\n\n[1]: attachment:a%20b%20(1).png",
    "capitals": "![plot](Attachment:A%20B%20(1).PNG)",
    "img": '<img src="attachment:a b (1).png">',
    "img, width": "<img width='400' src='attachment:a%20b%20(1).png' alt='plot'/>",
    "img, no quotes": "<img src=attachment:a%20b%20(1).png>",
    "img, lines": '<IMG\n  SRC = "attachment:a b (1).png"\n  style="width: 50%">',
    "img, entities": '<img src="attachment&#58;a b &#40;1&#41;.png">',
    "embed": '<embed src="attachment:a b (1).png">',
    "a table": '<table><tr><td><img src="attachment:a b (1).png"></td></tr></table>',
    "not named at all": "See the plot.",
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_pasted_picture_is_shown_in_every_spelling(spelling):
    node, rebuilt = answer(SPELLINGS[spelling], PASTED)
    assert is_shown(node)
    assert rebuilt.notes == []


FILES = {
    "Markdown": "![plot](plot 1.png)",
    "percent signs": "![plot](./plot%201.png)",
    "a folder": "![plot](images/plot%201.png)",
    "Windows": r'<img src="C:\Users\ada\Desktop\plot 1.png">',
    "Colab's drive": '<img src="/content/drive/MyDrive/plot%201.png" width=300>',
    "a file's address": "![plot](file:///home/ada/plot%201.png)",
    "by reference": "![plot][p]\n\n[p]: plot%201.png",
    "a link": "[my plot](plot%201.png)",
    "its name in the text": "You see it in `plot 1.png`.",
    "capitals": "![plot](<Plot 1.PNG>)",
}


@pytest.mark.parametrize("spelling", FILES)
def test_a_picture_beside_the_notebook_is_shown_where_the_text_names_it(spelling):
    node, rebuilt = answer(FILES[spelling], files={"plot 1.png": PNG, "data.csv": b"1,2"})
    assert is_shown(node)
    assert rebuilt.notes == []


@pytest.mark.parametrize("data", [PNG, JPEG, GIF, WEBP], ids=["png", "jpeg", "gif", "webp"])
def test_a_picture_is_what_its_bytes_say(data):
    node, _ = answer("![x](x.png)", files={"x.png": data})
    assert is_shown(node, data)


def test_a_picture_in_the_text_itself_is_shown_and_takes_no_room_from_the_words():
    long = PNG + bytes(60_000)
    node, _ = answer(f"Before ![]({'data:image/png;base64,' + b64encode(long).decode()}) after.")
    assert is_shown(node, long)
    assert "after." in html(node)
    in_tag, _ = answer(f'<img src="data:image/png;base64,{CODED}"/>')
    assert is_shown(in_tag)


def test_a_picture_whose_text_moved_to_another_cell_is_found_there():
    notebook = solved(LAB, **{NAME: "![x](attachment:only.png)"})
    cell_called(notebook, "training_or_generation")["attachments"] = {
        "only.png": {"image/png": CODED}
    }
    rebuilt = rebuild(master(LAB), read_notebook(json.dumps(notebook).encode(), "x.ipynb"))
    clean_student_cells(rebuilt.notebook)
    (node,) = [node for node in rebuilt.notebook
               if node.metadata.get("labkit", {}).get("name") == NAME]  # fmt: skip
    assert is_shown(node)


def test_pictures_of_one_name_in_two_cells_stay_two_pictures():
    notebook = solved(LAB, **{NAME: "![x](attachment:image.png)"})
    cell_called(notebook, NAME)["attachments"] = {"image.png": {"image/png": CODED}}
    at = notebook["cells"].index(cell_called(notebook, NAME))
    other = {"image.png": {"image/jpeg": b64encode(JPEG).decode()}}
    notebook["cells"].insert(at + 1, {"cell_type": "markdown", "metadata": {}, "attachments": other,
                                      "source": "![y](attachment:image.png)"})  # fmt: skip
    rebuilt = rebuild(master(LAB), read_notebook(json.dumps(notebook).encode(), "x.ipynb"))
    clean_student_cells(rebuilt.notebook)
    (node,) = [node for node in rebuilt.notebook
               if node.metadata.get("labkit", {}).get("name") == NAME]  # fmt: skip
    assert is_shown(node)
    assert is_shown(node, JPEG)


LOST = {
    "![plot](attachment:lost.png)": "lost.png of cell 44 is not shown: it was not handed in",
    "![plot](attachment:drawn.svg)": "drawn.svg of cell 44 is not shown: it is damaged",
    "![plot](plots/mine.png)": "plots/mine.png of cell 44 is not shown: no such file",
    "![plot](broken.png)": "broken.png of cell 44 is not shown: the file is not a PNG",
    "![plot](https://example.org/p.png)": "cell 44 is not shown: it lies on another machine",
    "![plot](data:image/svg+xml;base64,PHN2Zz4=)": "cell 44 is not shown: it is damaged",
    '<img src="attachment:lost.png">': "lost.png of cell 44 is not shown: it was not handed in",
}


@pytest.mark.parametrize("text", LOST)
def test_a_picture_that_cannot_be_shown_is_flagged_and_the_text_says_so(text):
    drawn = {"drawn.svg": {"image/svg+xml": "<svg/>"}} if "drawn" in text else None
    node, rebuilt = answer(f"See {text}.", drawn, {"broken.png": b"<html>", "data.csv": b"1"})
    flagged = [note for note in rebuilt.notes if re.search(r"cell \d+", note)]
    assert len(flagged) == 1
    assert LOST[text] in flagged[0]
    assert "is not shown" in html(node)
    assert flagged[0] in node.metadata["noted"]


def test_a_picture_beside_that_no_text_names_is_shown_on_its_own_and_flagged_if_it_cannot():
    files = {"photo.jpg": JPEG, "answers.pdf": b"%PDF", "mem.py": b"x = 1", "page.heic": b"?"}
    node, rebuilt = answer("Linear.", files=files)
    assert node.source == "Linear."
    assert is_shown(rebuilt.notebook[-1], JPEG)
    assert "photo.jpg" in rebuilt.notebook[-1].source
    assert rebuilt.notes == [
        f"{name} lies beside the notebook and cannot be shown: open it too"
        for name in ("answers.pdf", "page.heic")
    ]


def test_a_photo_beside_the_notebook_stands_at_an_empty_answer():
    node, rebuilt = answer("", files={"photo.jpg": JPEG})
    assert is_shown(node, JPEG)
    assert rebuilt.notes == ["the answer growth: pictures beside the notebook may belong to it"]


def test_what_is_handed_out_is_no_lost_picture():
    badge = badge_of("https://colab.research.google.com/github/x/y/blob/main/z.ipynb")
    notebook = solved(LAB)
    notebook["cells"].insert(0, {"cell_type": "markdown", "metadata": {}, "source": badge})
    assert rebuild(master(LAB), read_notebook(json.dumps(notebook).encode(), "x")).notes == []


def test_too_many_pictures_are_no_reason_to_fail():
    node, _ = answer("\n\n".join(["![x](x.png)"] * (MOST_PICTURES + 5)), files={"x.png": PNG})
    assert len(node.attachments) == MOST_PICTURES
    assert html(node).count("the notebook has more than 200 pictures") == 5


def test_pictures_in_folders_come_with_the_notebook(tmp_path):
    lab = "04_kv_cache"
    files = {f"ada/{lab}.ipynb": b"{}", "ada/img/a.png": PNG, "ada/img/more/b.png": JPEG,
             "ada/x/a.png": GIF, "ada/x/data.csv": b"1"}  # fmt: skip
    (submission,) = collect(delivered(tmp_path / "folder", files), lab)
    assert submission.extra == {"a.png": PNG, "b.png": JPEG, "x_a.png": GIF}
    packed = {f"ada_1_2_{lab}.zip": zipped({name[4:]: data for name, data in files.items()})}
    (submission,) = collect(delivered(tmp_path / "zips", packed), lab)
    assert submission.extra == {"a.png": PNG, "b.png": JPEG, "x_a.png": GIF}


def test_a_file_beside_that_is_not_read_is_named(tmp_path):
    lab = "04_kv_cache"
    files = {f"ada/{lab}.ipynb": b"{}", "ada/film.png": bytes(9 << 20), "ada/a.py": b"x = 1"}
    (submission,) = collect(delivered(tmp_path, files), lab)
    assert submission.left_out == ("film.png",)
    assert submission.extra == {"a.py": b"x = 1"}


@pytest.mark.parametrize(
    ("files", "extra"),
    [
        ({"mem-1.py": b"new"}, {"mem.py": b"new"}),
        ({"mem-12.py": b"new"}, {"mem.py": b"new"}),
        ({"mem-1.py": b"old", "mem-2.py": b"new"}, {"mem.py": b"new", "mem-1.py": b"old"}),
        ({"mem.py": b"own", "mem-1.py": b"new"}, {"mem.py": b"own", "mem-1.py": b"new"}),
        ({"plot-1.png": b"p"}, {"plot.png": b"p", "plot-1.png": b"p"}),
        ({"data-1.csv": b"1"}, {"data.csv": b"1", "data-1.csv": b"1"}),
    ],
)
def test_files_that_canvas_renamed_have_the_names_that_they_were_handed_in_with(
    tmp_path, files, extra
):
    lab = "04_kv_cache"
    named = {f"ada_123_{i}_{name}": data for i, (name, data) in enumerate(files.items(), start=7)}
    place = delivered(tmp_path, {f"ada_123_5_{lab}-1.ipynb": b"{}", **named})
    (submission,) = collect(place, lab)
    assert submission.extra == extra
    assert collected(place) == {"ada": [b"{}"]}


def test_only_canvas_renames_files(tmp_path):
    lab = "04_kv_cache"
    (submission,) = collect(
        delivered(tmp_path, {f"ada/{lab}.ipynb": b"{}", "ada/mem-1.py": b"x"}), lab
    )
    assert submission.extra == {"mem-1.py": b"x"}


def test_of_many_lost_pictures_ten_are_named_and_the_others_counted():
    node, rebuilt = answer("\n".join(f"![x](lost{i}.png)" for i in range(30)))
    assert len(rebuilt.notes) == len(node.metadata["noted"]) == 11
    assert rebuilt.notes[-1] == "20 more pictures or files like these are not shown"
    assert html(node).count("is not shown") == 30
