"""What speculation gains when many texts are decoded at once: predicted from measured steps."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from labkit.labs.speculative.records import Speedup
from labkit.measuring.drawn import break_even
from labkit.measuring.panels import WIDTH, name_ends, panels, say
from labkit.measuring.plots import COLORS, CourseFigure
from labkit.measuring.records import NothingMeasured, Record, Row
from labkit.measuring.tables import Table, or_sentence

EXPERIMENT = "verify_by_batch"
ALPHA = 0.78
SHORT = 512  # tokens that a draft keeps in its cache, where it does not keep all of them
WAYS = {"the draft keeps all": 0, f"the draft keeps {SHORT}": SHORT}
BestGamma = Callable[..., int]


@dataclass(frozen=True, slots=True)
class BatchSteps:
    """Seconds of steps over all texts of a batch: of the draft, the target, and verifications.

    max_gamma: the largest gamma whose verification was measured.
    """

    draft_s: float
    target_s: float
    verifications_s: tuple[float, ...]

    @property
    def max_gamma(self) -> int:
        return len(self.verifications_s)

    def verify_s(self, gamma: int) -> float:
        """Seconds of a verification of gamma tokens of each text."""
        return self.verifications_s[gamma - 1]


def places_of(record: Record) -> list[tuple[int, int]]:
    """Numbers of texts and cached tokens that the record has steps for."""
    found = dict.fromkeys((row.batch_size, _n_cached(row)) for row in record.of(EXPERIMENT))
    return sorted(found, key=lambda place: (place[1], place[0]))


def batch_steps(record: Record, n_texts: int, n_cached: int, draft_cached: int = 0) -> BatchSteps:
    """The steps of a batch of n_texts, with n_cached tokens in the cache of each.

    draft_cached: tokens that the draft has in its cache; 0 for all of them.
    Raises: NothingMeasured for a batch that the record does not have.
    """
    rows = [row for row in record.of(EXPERIMENT) if row.is_ok and row.batch_size == n_texts]
    targets = [row for row in rows if row.n_input > 1]
    name = targets[0].model if targets else ""
    of_target = {
        row.n_input: row.time_s for row in rows if (row.model, _n_cached(row)) == (name, n_cached)
    }
    of_draft = {_n_cached(row): row.time_s for row in rows if row.model != name}
    draft_s = of_draft.get(draft_cached or n_cached)
    if 1 not in of_target or draft_s is None:
        raise NothingMeasured.of(record.of(EXPERIMENT), EXPERIMENT)
    verified = tuple(of_target[n] for n in sorted(of_target) if n > 1)
    return BatchSteps(draft_s, of_target[1], verified)


@or_sentence
def batches_table(record: Record, speedup: Speedup, best_gamma: BestGamma) -> Table:
    """Steps by batch and context, and the best gamma with its speedup, by the functions given."""
    rows = []
    for n_texts, n_cached in places_of(record):
        steps = batch_steps(record, n_texts, n_cached)
        eight = steps.verifications_s[-1] / steps.target_s
        cells = [f"{1e3 * steps.draft_s:.2f}", f"{1e3 * steps.target_s:.2f}"]
        cells += [f"{eight:.2f} ({steps.max_gamma + 1})"]
        for draft_cached in WAYS.values():
            found = batch_steps(record, n_texts, n_cached, draft_cached)
            cells.append(said(found, speedup, best_gamma))
        rows.append([f"{n_cached:,}", n_texts, *cells])
    headings = ["cached", "texts", "draft ms", "target ms", "verify / step", *WAYS]
    return Table(headings, rows, f"best γ and speedup at α = {ALPHA}: {record.provenance}")


def said(steps: BatchSteps, speedup: Speedup, best_gamma: BestGamma, alpha: float = ALPHA) -> str:
    """The best gamma and its speedup, as a cell of a table."""
    gamma, gained = plan(steps, speedup, best_gamma, alpha)
    return f"γ {gamma}, {gained:.2f}" if gamma else "none"


def plan(
    steps: BatchSteps, speedup: Speedup, best_gamma: BestGamma, alpha: float = ALPHA
) -> tuple[int, float]:
    """The best gamma and its speedup; 0 and 1 where plain decoding is faster."""
    times_s = (steps.draft_s, steps.target_s)
    gamma = best_gamma(alpha, *times_s, steps.verify_s, steps.max_gamma)
    gained = speedup(alpha, gamma, *times_s, steps.verify_s(gamma)) if gamma else 1.0
    return gamma, gained


@or_sentence
def by_batch(
    record: Record, speedup: Speedup | None = None, best_gamma: BestGamma | None = None
) -> CourseFigure:
    """The speedup at the best gamma by the number of texts, a line per context; two drafts."""
    if speedup is None or best_gamma is None:
        from labkit.speculative import best_gamma, speedup
    gained = partial(plan, speedup=speedup, best_gamma=best_gamma)
    places = places_of(record)
    if not places:
        raise NothingMeasured.of(record.of(EXPERIMENT), EXPERIMENT)
    contexts = list(dict.fromkeys(n_cached for _, n_cached in places))
    looks = zip(contexts, (COLORS["other"], COLORS["plain"], COLORS["method"]), strict=False)
    colors = dict(looks)
    with panels(1, len(WAYS), (WIDTH, 3.4), sharey=True) as (figure, (row,)):
        for axes, (way, draft_cached) in zip(row, WAYS.items(), strict=True):
            for n_cached in contexts:
                sizes = [n for n, found in places if found == n_cached]
                gains = [gained(batch_steps(record, n, n_cached, draft_cached))[1] for n in sizes]
                label = f"{n_cached:,} cached"
                axes.plot(sizes, gains, "o-", color=colors[n_cached], label=label, ms=4)
            break_even(axes)
            axes.set(title=way, xlabel="texts in a batch", xscale="log")
            axes.set_xticks([1, 4, 16, 64, 256], ["1", "4", "16", "64", "256"])
            axes.minorticks_off()
        row[0].set(ylabel="speedup", ylim=(0, None))
        first, last = (gained(batch_steps(record, *place))[1] for place in (places[0], places[-1]))
        title = (
            f"Predicted: {first:.2f} for {places[0][0]} text with {places[0][1]:,} tokens, "
            f"{last:.2f} for {places[-1][0]} texts with {places[-1][1]:,}"
        )
        caption = f"The best γ of each batch, at α = {ALPHA}, from measured steps."
        say(figure, title, record.provenance, caption)
        name_ends(row[-1])
    return figure


def _n_cached(row: Row) -> int:
    return int(row.counts["n_cached"])
