"""The corpus: seeded, split by problem, and right in what it says."""

import hashlib
from itertools import pairwise
from random import Random

import networkx
import pytest

from training.corpus import SOURCES, SPLITS, choice, documents, draw, graphs, patterns, prose, world
from training.corpus.document import split_of

PINNED = "032e32e605af8c6a2812fa652cce714190265ae1c49f281640cc1559c45f65b1"
DRAWN = {source: [draw(source, Random(f"{source}{i}")) for i in range(400)] for source in SOURCES}


@pytest.mark.parametrize("source", SOURCES)
def test_the_seed_alone_decides(source):
    assert documents(source, "dev", 20, seed=3) == documents(source, "dev", 20, seed=3)
    assert documents(source, "dev", 20, seed=3) != documents(source, "dev", 20, seed=4)


def test_the_corpus_is_the_one_that_the_pair_was_trained_on():
    rng = Random("the corpus, to the byte")
    digest = hashlib.sha256(world.handbook().encode())
    for source in SOURCES:
        for _ in range(3000 if source == "instruction" else 500):
            digest.update(repr(draw(source, rng)).encode())
    for _ in range(200):
        digest.update(prose.chapter(rng).encode())
    assert digest.hexdigest() == PINNED


@pytest.mark.parametrize("source", SOURCES)
def test_documents_keep_the_form(source):
    for document in DRAWN[source]:
        assert document.source == source
        assert document.prompt == document.prompt.strip()
        assert document.answer[0] in " \n" and document.answer == document.answer.rstrip()
        assert document.text.isascii() or source == "instruction"


def asked_for(document):
    """What a held-out problem must not share with training, read off the text, not off the key."""
    if document.source == "choice":  # which things of the world it reasons from, and to what
        *reasons, _ = document.answer.strip().splitlines()
        return " ".join(reasons), document.prompt.splitlines()[0].split()[-1]
    if document.source == "graph":
        return str(document.facts["edges"]), document.facts["p"]
    return document.prompt


@pytest.mark.parametrize("source", SOURCES)
def test_splits_share_no_problem(source):
    asked = [{asked_for(d) for d in documents(source, split, 400)} for split in SPLITS]
    assert sum(map(len, asked)) == len(set().union(*asked))


def test_each_test_split_gets_a_tenth():
    shares = [split_of(str(i)) for i in range(4000)]
    assert all(300 < shares.count(split) < 500 for split in SPLITS[1:])


def test_unknown_source_and_split_are_named():
    with pytest.raises(ValueError, match=r"no source called 'poems'; there are graph"):
        draw("poems", Random(0))
    with pytest.raises(ValueError, match=r"no split called 'test'; there are train"):
        documents("graph", "test", 1)


def test_paths_are_the_cheapest_simple_paths():
    for document in DRAWN["graph"]:
        facts = document.facts
        graph = networkx.DiGraph()
        graph.add_nodes_from(range(facts["n_nodes"]))
        graph.add_weighted_edges_from(facts["edges"])
        every = networkx.all_simple_edge_paths(graph, 0, facts["n_nodes"] - 1)
        costs = {
            (0, *(v for _, v in path)): sum(graph.edges[edge]["weight"] for edge in path)
            for path in every
        }
        found = [tuple(path) for path in facts["paths"]]
        assert len(found) == len(set(found)) == min(facts["p"], len(costs))
        assert [costs[path] for path in found] == facts["weights"]
        assert facts["weights"] == sorted(costs.values())[: facts["p"]]


def test_a_search_shows_each_step_and_stays_short():
    for document in DRAWN["graph"]:
        *steps, call = document.answer.strip().splitlines()
        assert len(steps) >= 1 and document.answer.count("(") <= graphs.MAX_SHOWN
        assert call.startswith('{"name": "submit_paths"')
        for before, after in pairwise(steps):
            first_open = before.split("Open: ")[1].rstrip(".").split(", ")[0]
            assert after.startswith(f"Take {first_open}.")


def test_signs_tell_ailments_apart_and_clashes_go_both_ways():
    signs = {(facts["early"], facts["late"]) for facts in world.ailments().values()}
    assert len(signs) == len(world.ailments()) == 48
    plants = world.plants()
    assert all(plants[plants[name]["clash"]]["clash"] == name for name in plants)
    assert {facts["seat"] for facts in world.healers().values()} == set(world.SEATS)


def test_a_question_has_one_right_option_and_its_reasons_say_so():
    handbook = world.handbook()
    for document in DRAWN["choice"]:
        options, correct = document.facts["options"], document.facts["correct"]
        assert len(set(options.values())) == len(options) == 4
        *reasons, last = document.answer.strip().splitlines()
        assert last == f"Answer: {correct}"
        for reason in " ".join(reasons).removesuffix(".").split(". "):
            assert f"{reason}." in handbook
        mentioned = [letter for letter, text in options.items() if text in reasons[-1]]
        assert correct in mentioned


def test_the_right_option_is_at_any_letter():
    letters = [document.facts["correct"] for document in DRAWN["choice"]]
    assert all(60 < letters.count(letter) < 140 for letter in choice.LETTERS)


def test_only_one_of_the_offered_healers_treats_the_ailment():
    for i in range(300):
        question = choice.ask_healer(Random(i))
        if question.key.startswith("healer:"):
            seat = world.ailments()[question.key.split(":")[1]]["seat"]
            assert world.healers()[question.answer]["seat"] == seat
            assert all(world.healers()[other]["seat"] != seat for other in question.others)


def test_sums_are_right():
    for i in range(300):
        prompt, answer = patterns.add_by_parts(Random(i))
        numbers = [int(word) for word in prompt.replace("?", "").replace(".", "").split()
                   if word.isdigit()]  # fmt: skip
        assert answer.endswith(f"The sum is {sum(numbers)}.")


def test_sorting_leaves_nothing():
    for i in range(100):
        prompt, answer = patterns.sort_numbers(Random(i))
        *_, before_last, last = answer.splitlines()
        assert before_last.endswith("left nothing")
        assert last == f"Sorted: {' '.join(sorted(prompt.split(': ')[1].split(), key=int))}"


def test_patterns_go_on_as_they_began():
    for i in range(200):
        prompt, answer = patterns.repeat_words(Random(i))
        shown, more = prompt.split(": ")[1].split(), answer.split()
        assert len(more) == int(prompt.split()[4])
        period = next(n for n in range(2, 6) if shown[n:] == shown[: len(shown) - n])
        whole = shown + more
        assert whole[period:] == whole[:-period]
