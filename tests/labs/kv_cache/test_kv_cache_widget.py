"""The player shows what the student's own stores hold, with and without ipywidgets."""

import re

import matplotlib

matplotlib.use("agg")

import pytest
from matplotlib.figure import Figure
from shown import controls_of

from labkit.kv_cache import ArenaCache, PagedCache, RingCache
from labkit.labs.kv_cache import widget as kv_widget
from labkit.labs.kv_cache.moments import FIRST, SECOND, moments
from labkit.labs.kv_cache.widget import BLOCKS, CHOSEN, PROMPTS, REWINDS, WINDOWS, telling_moment
from labkit.measuring.widgets import N_SHOWN

STORES = ArenaCache, RingCache, PagedCache


def told(*stores, **changed):
    return moments(*(stores or STORES), **CHOSEN | changed)


def of(held, sequence):
    """The letters that count for a sequence, in the order of their places."""
    return "".join(
        letter for letter, owner in zip(held.letters, held.owners, strict=True) if owner == sequence
    )


def test_a_rewound_token_stays_in_the_arena_until_it_is_replaced():
    played = told()
    after = telling_moment(played)
    rewound, replaced = played[after - 1].arena, played[after].arena
    assert (of(rewound, FIRST), "".join(rewound.letters)) == ("abcdef", "abcdefghi")
    assert (of(replaced, FIRST), "".join(replaced.letters)) == ("abcdefj", "abcdefjhi")
    assert rewound.note == "length 6 of 16"


def test_the_ring_holds_the_newest_tokens_by_their_positions():
    played = told(window=4)
    assert "".join(played[0].ring.letters) == "ebcd"
    assert "".join(played[-1].ring.letters) == "mnkl"
    assert played[-1].ring.note == "length 14, of which the newest 4 are here"
    assert "no rewind" in played[telling_moment(played) - 1].ring.note


def test_a_block_that_was_freed_serves_the_other_sequence():
    played = told()
    before, last = played[telling_moment(played)].pages, played[-1].pages
    assert (of(before, SECOND), of(last, SECOND)) == ("ABCD", "")
    block_of_second = before.letters.index("A") // CHOSEN["block_size"]
    assert last.owners[block_of_second * CHOSEN["block_size"]] == FIRST
    assert sorted(of(last, FIRST)) == sorted(of(played[-1].arena, FIRST))


@pytest.mark.parametrize("block_size", BLOCKS)
@pytest.mark.parametrize("window", WINDOWS)
def test_no_choice_stops_the_right_stores(block_size, window):
    for n_prompt in (PROMPTS[0], PROMPTS[-1]):
        for n_rewind in (REWINDS[0], REWINDS[-1]):
            sizes = {"n_prompt": n_prompt, "n_rewind": n_rewind}
            for moment in told(**sizes, block_size=block_size, window=window):
                assert not (moment.arena.fault or moment.ring.fault or moment.pages.fault)


def test_a_store_that_raises_says_so_and_the_others_go_on():
    class Unwritten(ArenaCache):
        def rewind(self, n_tokens):
            raise NotImplementedError("write this")

    played = told(Unwritten, RingCache, PagedCache)
    assert played[-1].arena.fault == "stopped: NotImplementedError: write this"
    assert of(played[-1].arena, FIRST) == "abcdefghi"
    assert not played[-1].pages.fault
    assert "stopped" in kv_widget.picture(played, len(played) - 1).alt


def test_classes_that_cannot_be_made_leave_empty_rows():
    def unwritten(*sizes):
        raise NotImplementedError

    played = told(unwritten, unwritten, unwritten)
    assert played[-1].arena.letters == []
    assert kv_widget.picture(played, 0).alt.count("stopped: NotImplementedError") == 3
    with pytest.raises(NotImplementedError, match="unwritten"):  # then the notebook waits
        kv_widget.store_player(unwritten, unwritten, unwritten)


def test_what_an_operation_changes_has_a_thick_frame():
    played = told()
    n = telling_moment(played)
    for axes in kv_widget.picture(played, n).axes:
        assert sum(patch.get_linewidth() > 2 for patch in axes.patches) == 1


def test_moving_a_slider_fills_the_students_stores_again():
    pytest.importorskip("ipywidgets")
    made = []

    def own(*sizes):
        made.append(sizes)
        return PagedCache(*sizes)

    controls, picture = controls_of(kv_widget.store_player(ArenaCache, RingCache, own))
    assert made == [(6, 4, 1, 1)]
    frames = {picture.value}
    for n in (0, 3, controls["moment"].max):
        controls["moment"].value = n
        frames.add(picture.value)
    assert len(frames) == 4
    assert len(made) == 1
    controls["block size"].value = 2
    assert made[-1] == (12, 2, 1, 1)


def test_a_saved_notebook_has_moments_to_scroll_through():
    pytest.importorskip("ipywidgets")
    player = kv_widget.store_player(*STORES)
    bundle, _ = player._repr_mimebundle_()
    still, _, film = bundle["text/html"].partition("<details>")
    assert still.count("<img alt=") == 1
    alts = re.findall('<img alt="([^"]*)"', film)
    assert len(alts) == len(set(alts)) == N_SHOWN
    assert alts[0] == kv_widget.picture(told(), 0).alt
    assert alts[-1] == kv_widget.picture(told(), len(told()) - 1).alt
    assert "script" not in film
    assert "scroll" in film
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert len(bundle["text/html"]) < 2**19


def test_without_ipywidgets_one_moment_is_drawn(no_ipywidgets, capsys):
    assert isinstance(kv_widget.store_player(*STORES), Figure)
    assert "ipywidgets is not installed" in capsys.readouterr().out
