"""Let a candidate answer the items of a task, score what needs no judge, and record both."""

import time
from collections.abc import Sequence
from importlib.metadata import version

from tqdm import tqdm

from training.tasks import choice, paths, rubric
from training.tasks.generate import Candidate
from training.tasks.items import Item, Score
from training.tasks.log import Log, Row, prompt_hash


def answer_items(
    candidate: Candidate,
    chosen: Sequence[Item],
    log: Log,
    *,
    open_book: bool = False,
    show_progress: bool = True,
) -> list[tuple[Item, Row]]:
    """Each item with its row; what the log does not hold yet is answered and recorded first.

    open_book: show the handbook of the invented world before each choice question.
    """
    shown = {item.id: _shown(item, open_book) for item in chosen}

    def find(item: Item) -> Row | None:
        return log.find(item.id, candidate.fingerprint, prompt_hash(shown[item.id]))

    missing = [item for item in chosen if find(item) is None]
    bar = tqdm(
        total=len(chosen),
        initial=len(chosen) - len(missing),
        desc=chosen[0].task,
        unit="answer",
        disable=not show_progress,
    )
    with bar:
        for start in range(0, len(missing), candidate.batch_size):
            batch = missing[start : start + candidate.batch_size]
            began = time.perf_counter()
            answers = candidate.answer(batch[0].task, [shown[item.id] for item in batch])
            seconds = (time.perf_counter() - began) / len(batch)
            for item, text in zip(batch, answers, strict=True):
                log.add(_row(candidate, item, shown[item.id], text, seconds))
            bar.update(len(batch))
    return [(item, row) for item in chosen if (row := find(item))]


def score(item: Item, answer: str) -> Score:
    """Score an answer as far as that needs no judge; the value of an open one is None."""
    if item.task == "paths":
        return paths.score(answer, item.facts)
    if item.task == "choice":
        return choice.score(answer, item.facts)
    if not answer.strip():
        return Score(0.0, rubric.EMPTY, is_valid=False)
    return Score(None, rubric.WAITS)


def _shown(item: Item, open_book: bool) -> str:
    if item.task == "choice" and open_book:
        from training.corpus.world import handbook

        return f"{handbook()}\n\n{item.prompt}"
    return item.prompt


def _row(candidate: Candidate, item: Item, shown: str, answer: str, seconds: float) -> Row:
    scored = score(item, answer)
    is_empty_open = item.task == "open" and scored.value is not None
    return Row(
        id=item.id,
        task=item.task,
        model=candidate.name,
        fingerprint=candidate.fingerprint,
        prompt_hash=prompt_hash(shown),
        answer=answer,
        score=scored.value,
        is_valid=scored.is_valid,
        reason=scored.reason,
        seconds=round(seconds, 3),
        labkit=version("labkit"),
        verdicts=[False] * len(item.facts["requirements"]) if is_empty_open else None,
    )
