"""`labkit show`: a list of players and figures, and one of them as a page that needs no network."""

import re

import pytest
from matplotlib.text import Text

from labkit import cli
from labkit.labs import show
from labkit.labs.screen import for_screen
from labkit.measuring.records import recorded_results


def test_every_player_and_every_figure_of_the_records_is_listed(capsys):
    assert cli.main(["show"]) == 0
    listed = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    names = listed.keys()
    assert all(len(about) > 20 for about in listed.values())
    assert listed["kv_cache"].startswith("The three stores of the lab side by side")
    assert {*show.players(), *show.figures(recorded_results())} == set(names)
    assert listed["throughput-h200-output_sweep"] == "Each new token takes 33.1 ms."


@pytest.mark.parametrize(
    ("name", "n_pictures"),
    [
        pytest.param("kv_cache", 12, marks=pytest.mark.slow),
        ("throughput", 1),
        ("cache-h100-log", 1),
    ],
)
def test_a_page_holds_all_that_it_shows(name, n_pictures, tmp_path, monkeypatch, capsys):
    opened, out = [], tmp_path / "page.html"
    monkeypatch.setattr("webbrowser.open", opened.append)
    assert cli.main(["show", name, "--out", str(out)]) == 0
    assert capsys.readouterr().out == f"{out}\n" and opened == [out.as_uri()]
    page = out.read_text()
    assert page.count("<img ") == page.count('src="data:image/png;base64,') == n_pictures
    assert re.findall(r'(?:src|href)="(?!data:)', page) == []
    assert (">play</button>" in page) == (n_pictures > 1)


@pytest.mark.parametrize("name", ["cache-h100-log", "throughput-h200-output_sweep"])
def test_letters_have_a_36th_of_the_screen(name):
    figure = for_screen(show.figures(recorded_results())[name](), show.FILLED)
    words = [each for each in figure.findobj(Text) if each.get_text().strip()]
    least = min(each.get_fontsize() for each in words) / 72 / figure.get_size_inches()[1]
    assert least * show.FILLED >= 0.999 / 36


def test_an_unknown_name_and_answers_that_are_missing_are_told(tmp_path, monkeypatch, capsys):
    assert cli.main(["show", "cache"]) == 2
    assert "nothing is called 'cache'; there are ledger, cache-" in capsys.readouterr().err

    def to_do(*args, **kwargs):
        raise NotImplementedError("this part is still to do")

    monkeypatch.setattr("labkit.batching.DecodeLoop", to_do)
    assert cli.main(["show", "batching", "--out", str(tmp_path / "page.html")]) == 2
    assert "plays answers that are still to do" in capsys.readouterr().err
