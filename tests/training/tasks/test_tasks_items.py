"""Items and splits: counts, stable ids, and nothing that stands in two splits."""

import pytest

from training.corpus import documents, split_of
from training.tasks import SPLIT_SIZES, TASKS, items

SOURCES = {"paths": "graph", "choice": "choice", "open": "instruction"}


def test_counts_and_ids():
    assert SPLIT_SIZES == {"dev": 200, "dev-test": 100, "hidden": 100}
    seen = set()
    for task in TASKS:
        for split, size in SPLIT_SIZES.items():
            ids = [item.id for item in items(task, split)]
            assert ids == [f"{task}/{split}/{i:03d}" for i in range(size)]
            assert seen.isdisjoint(ids)
            seen.update(ids)
    assert len(seen) == 3 * 400


@pytest.mark.parametrize("task", TASKS)
def test_no_prompt_stands_in_two_splits_whatever_the_seed(task):
    by_split = {
        split: {item.prompt for seed in (0, 7) for item in items(task, split, seed)}
        for split in SPLIT_SIZES
    }
    by_split["train"] = {document.prompt for document in documents(SOURCES[task], "train", 1000)}
    for split, prompts in by_split.items():
        others = set().union(*(by_split[other] for other in by_split if other != split))
        assert prompts.isdisjoint(others), split


@pytest.mark.parametrize("task", TASKS)
def test_an_item_lies_in_the_split_of_its_problem(task):
    for split in SPLIT_SIZES:
        for document in documents(SOURCES[task], split, SPLIT_SIZES[split]):
            assert split_of(f"{document.source}:{document.key}") == split


@pytest.mark.parametrize("task", TASKS)
def test_a_seed_repeats_and_another_seed_differs(task):
    assert items(task, "hidden", 5) == items(task, "hidden", 5)
    assert items(task, "hidden", 5) != items(task, "hidden", 6)
    assert items(task, "dev", n=7) == items(task, "dev")[:7]


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="no task called 'path'; there are paths, choice, open"):
        items("path", "dev")
    with pytest.raises(ValueError, match="no split called 'test'; there are dev, dev-test, hidden"):
        items("paths", "test")
    for n in (0, 101, -1):
        with pytest.raises(ValueError, match="n is 1 to 100"):
            items("paths", "dev-test", n=n)
