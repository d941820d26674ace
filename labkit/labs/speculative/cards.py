"""A pair on five GPUs by their data sheets: where speculation pays, with launches and without."""

from labkit.labs.speculative.batches import BatchSteps, BestGamma, said
from labkit.labs.speculative.records import N_CACHED, Speedup
from labkit.measuring.profiles import PAIRS
from labkit.measuring.roofline import ModelWork, Roofline, pass_floor
from labkit.measuring.tables import Table

CARDS = ("L4", "RTX-PRO-6000-Blackwell-Server", "A100-SXM-80GB", "H100-SXM", "H200-SXM")
MOST_GAMMA = 16
LAYER_S = 0.75e-3  # that the host takes to launch a layer in eager PyTorch


def cards_table(speedup: Speedup, best_gamma: BestGamma, pair: str, alpha: float) -> Table:
    """The steps of a pair and the best gamma on each card: with launches, and without.

    A step is the longer of reading the weights (`pass_floor`) and launching its layers.
    """
    target, draft = (ModelWork.of(name) for name in PAIRS[pair])
    rows = []
    for card in CARDS:
        machine = Roofline.of(card)
        for way, layer_s in (("eager", LAYER_S), ("no launches", 0.0)):
            verified = (step_s(machine, target, layer_s, 1 + n) for n in range(1, MOST_GAMMA + 1))
            steps = BatchSteps(
                step_s(machine, draft, layer_s), step_s(machine, target, layer_s), tuple(verified)
            )
            times_s = (steps.draft_s, steps.target_s, steps.verify_s(7))
            facts = (f"{machine.bandwidth / 1e9:,.0f}", f"{machine.peak('bfloat16') / 1e12:,.0f}")
            times = (f"{1e3 * each:.2f}" for each in times_s)
            rows.append([card, *facts, way, *times, said(steps, speedup, best_gamma, alpha)])
    headings = ["GPU", "GB/s", "TFLOP/s", "steps", "draft ms", "target ms", "verify 8, ms"]
    title = f"{' with '.join(PAIRS[pair])}, α = {alpha:g}, predicted from data sheets"
    return Table([*headings, "the best"], rows, title)


def step_s(machine: Roofline, work: ModelWork, layer_s: float, n_fed: int = 1) -> float:
    """Seconds of a step after N_CACHED tokens: its floor, or the launches of its layers."""
    floor_s = pass_floor(machine, work, n_fed, N_CACHED).seconds
    return max(work.shape.n_layers * layer_s, floor_s)
