"""Judge the open answers of a record: the estimate first, then the questions, a few at a time."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace

from tqdm import tqdm

from autograder.judge_model.client import JudgeClient, JudgeError
from autograder.judge_model.cost import Estimate, Price, estimate
from training.tasks import rubric
from training.tasks.items import Item
from training.tasks.log import Log, Row

N_AT_ONCE = 4
MAX_UNCLEAR_IN_A_ROW = 3

Answered = tuple[Item, Row]


def waiting(answered: Sequence[Answered], judge_model: str) -> list[Answered]:
    """What this judge has not judged yet; empty answers are not worth a question."""
    return [
        (item, row)
        for item, row in answered
        if row.answer.strip() and (row.score is None or row.judge != judge_model)
    ]


def estimated(todo: Sequence[Answered], price: Price | None) -> Estimate:
    """What judging will cost, if each question is asked once."""
    return estimate((request for item, row in todo for request in _requests(item, row)), price)


def judge_answers(
    todo: Sequence[Answered],
    judge: JudgeClient,
    log: Log,
    *,
    price: Price | None = None,
    max_usd: float | None = None,
    show_progress: bool = True,
) -> int:
    """Judge answers and record each as it is done; returns how many stay without a clear verdict.

    Raises: JudgeError when the judge fails, answers nonsense time after time, or has used up
    `max_usd` by its own count of tokens. What was judged until then is recorded.
    """
    n_unclear = n_in_a_row = 0
    pool = ThreadPoolExecutor(N_AT_ONCE)
    bar = tqdm(total=len(todo), desc="judging", unit="answer", disable=not show_progress)
    futures = [pool.submit(_judged, judge, item, row) for item, row in todo]
    recorded = set()
    try:
        for future in as_completed(futures):
            row = future.result()
            log.add(row)
            recorded.add(future)
            bar.update()
            n_unclear += row.score is None
            n_in_a_row = n_in_a_row + 1 if row.score is None else 0
            if n_in_a_row == MAX_UNCLEAR_IN_A_ROW:
                raise JudgeError(
                    f"{judge.model} does not keep to YES and NO; the last time, {row.reason}. "
                    "Is it a chat model? Another --judge-model may do"
                )
            _check_spent(judge, price, max_usd)
    except BaseException:
        judge.stop()  # wakes the threads that wait for their next try
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        bar.close()
        for future in set(futures) - recorded:  # what was paid for before it ended
            if not future.cancelled() and future.exception() is None:
                log.add(future.result())
    return n_unclear


def _judged(judge: JudgeClient, item: Item, row: Row) -> Row:
    """The row with its verdicts; it stays without a score if one is unclear on asking twice."""
    verdicts: list[bool | None] = []
    problem = ""
    for number, request in enumerate(_requests(item, row), start=1):
        for _ in range(2):
            reply = judge.ask(request)
            verdict = rubric.read_verdict(reply.text)
            if verdict is not None:
                break
        else:
            cut = ", cut off by a token limit" if reply.finish_reason == "length" else ""
            problem = f"the judge's reply on requirement {number} was {reply.text[:80]!r}{cut}"
        verdicts.append(verdict)
    if problem:
        return replace(row, score=None, reason=problem, judge=judge.model, verdicts=verdicts)
    scored = rubric.score([bool(verdict) for verdict in verdicts])
    return replace(
        row, score=scored.value, reason=scored.reason, judge=judge.model, verdicts=verdicts
    )


def _requests(item: Item, row: Row) -> Iterator[list[dict[str, str]]]:
    for requirement in item.facts["requirements"]:
        yield rubric.messages(item.prompt, row.answer, requirement)


def _check_spent(judge: JudgeClient, price: Price | None, max_usd: float | None) -> None:
    if price is None or max_usd is None:
        return
    spent = price.of(judge.input_tokens, judge.output_tokens)
    if spent > max_usd:
        raise JudgeError(
            f"${spent:.2f} are spent, more than --max-cost {max_usd:g} and than the estimate: what "
            "is judged is kept; a larger --max-cost continues"
        )
