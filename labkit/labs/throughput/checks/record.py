"""Checks of lab 2's answers that are read off a record: which limit holds where, three models.

Nothing right is written down here. The record that an answer names is opened, and what follows from
its numbers is computed again, with the floors of `labkit.measuring.roofline`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from labkit.bridge.student import Student
from labkit.checks.answers import (
    AnswerCase,
    choice_in,
    fields_of,
    finite_number_in,
    is_near,
    record_named,
)
from labkit.checks.compare import expect_mapping, joined, show
from labkit.checks.core import Wrong, check
from labkit.measuring.bounds import machine_of
from labkit.measuring.profiles import PROFILES
from labkit.measuring.records import Record, Row
from labkit.measuring.roofline import pass_floor
from labkit.models.tiny import facts_of

LIMITS = ("launch", "memory", "compute")
REGIONS = (
    "decode_small_model",
    "decode_medium_model",
    "prefill_longest",
    "forward_one",
    "forward_sixteen",
)
ROLES = {"small": "sweep-small", "medium": "sweep-medium", "older": "sweep-older"}
ONE_LAYER = "These are the limits if a pass launches one layer. Each layer is launched."
CLEAR = 1.5  # limits whose times are closer than this are both accepted

_which = partial(check, "which_limit")
_models = partial(check, "three_models")


def recorded(name: Any) -> Record:
    """The record of the kit that an answer names. Raises Wrong if there is none."""
    return record_named(name, "throughput-*.jsonl")


@dataclass(frozen=True, slots=True)
class Times:
    """What one pass of a region takes at least: launching all layers, moving, computing."""

    launch: float
    memory: float
    compute: float
    n_layers: int

    def longest(self) -> str:
        """The limit."""
        return max(LIMITS, key=lambda name: getattr(self, name))

    def accepted(self) -> set[str]:
        """The limit, and any that comes close to it."""
        longest_s = getattr(self, self.longest())
        return {name for name in LIMITS if CLEAR * getattr(self, name) >= longest_s}


def seconds_per_layer(record: Record, role: str) -> float:
    """Seconds per layer of a decode step of a model, by the run of `three_models`.

    The step is the run's time per new token: its prefill of 64 tokens is shared out among them.
    """
    row = row_of(record, role)
    return row.time_s / row.n_new / facts_of(row.model)["num_hidden_layers"]


def row_of(record: Record, role: str) -> Row:
    """The run of `three_models` of a role. Raises Wrong if the record has none that is ok."""
    model = PROFILES[record.provenance.profile].roles[ROLES[role]]
    rows = [row for row in record.of("three_models", model) if row.is_ok]
    if not rows:
        raise Wrong(f"this record has no run of {model}: choose another")
    return rows[-1]


def times_of(record: Record, region: str) -> Times:
    """The three least times of one region of a record."""
    roles = PROFILES[record.provenance.profile].roles
    batch_size = PROFILES[record.provenance.profile].sweep_batch_size
    decode = {"n_new": 1, "n_cached": 64}
    if region == "prefill_longest":
        longest = max(row.n_input for row in record.of("input_sweep") if row.is_ok)
        role, passed = "sweep-medium", {"n_new": longest, "n_cached": 0}
    elif region.startswith("forward"):
        role, passed = "forward", {"n_new": 256, "n_cached": 0}
        batch_size = 1 if region == "forward_one" else 16
    else:
        role, passed = f"sweep-{region.split('_')[1]}", decode
    machine, _ = machine_of(record)
    floor = pass_floor(
        machine, roles[role], batch_size=batch_size, dtype=record.provenance.dtype, **passed
    )
    # No model's layers take longer to launch than those of the one that is fastest per layer.
    launch_s = min(seconds_per_layer(record, each) for each in ROLES)
    n_layers = facts_of(roles[role])["num_hidden_layers"]
    return Times(launch_s * n_layers, floor.moving_s, floor.computing_s, n_layers)


def _limit_check(student: Student, case: AnswerCase, regions: tuple[str, ...]) -> None:
    answer = fields_of(student, case, ("record", *REGIONS))
    record = recorded(answer["record"])
    for region in regions:
        got = choice_in(answer[region], LIMITS, region)
        times = times_of(record, region)
        if got not in times.accepted():
            what = f"{region}: {got} does not take the longest there"
            times_ms = (
                f"Launching takes {1e3 * times.launch:.3g} ms, moving at least "
                f"{1e3 * times.memory:.3g} ms, computing at least {1e3 * times.compute:.3g} ms."
            )
            slip = ONE_LAYER if _is_of_one_launch(answer, record) else ""
            raise Wrong(what, why=f"{times_ms} {slip}".rstrip(), cause=slip or what)


def _is_of_one_launch(answer: Mapping[str, Any], record: Record) -> bool:
    """Whether all limits are those of a launch time that was not multiplied by the layers."""
    for region in REGIONS:
        times = times_of(record, region)
        one = replace(times, launch=times.launch / times.n_layers)
        if choice_in(answer[region], LIMITS, region) != one.longest():
            return False
    return True


@_which(hint="Compare layers x launch time per layer with the two floors that are printed.")
def decode_is_explained(student: Student, case: AnswerCase) -> None:
    """For decode steps of both models, the limit is the longest of the three times."""
    _limit_check(student, case, REGIONS[:2])


@_which(hint="Compare the three times of the prefill: launching, moving, computing.")
def prefill_is_explained(student: Student, case: AnswerCase) -> None:
    """For the longest prompt that ran, the limit is the longest of the three times."""
    _limit_check(student, case, REGIONS[2:3])


@_which(hint="Compare the three times for 1 text, and then for 16 texts.")
def forward_passes_are_explained(student: Student, case: AnswerCase) -> None:
    """For a pass over 1 text and over 16 texts, the limit is the longest of the three times."""
    _limit_check(student, case, REGIONS[3:])


@_models(hint="Divide the time by new tokens and by layers. Give milliseconds.")
def time_per_layer_follows_from_the_record(student: Student, case: AnswerCase) -> None:
    """The milliseconds per layer and step follow from the record that you name."""
    answer = fields_of(student, case, ("record", "ms_per_layer"))
    record = recorded(answer["record"])
    given = expect_mapping(answer["ms_per_layer"], tuple(ROLES), 'the entry "ms_per_layer"')
    numbers = {
        role: finite_number_in(given[role], f"the {role} model's time per layer") for role in ROLES
    }
    for role, got in numbers.items():
        right = 1e3 * seconds_per_layer(record, role)
        if abs(got - right) > 0.05 * right:
            raise Wrong(
                f"the {role} model: {show(got)} ms per layer does not follow from its row",
                why=_layer_slips(record, numbers),
            )


def _layer_slips(record: Record, got: Mapping[str, float]) -> str:
    """The sentences for the times per layer: mistakes that give all wrong ones."""
    factors: dict[str, Callable[[Row], float]] = {
        "These are seconds. Give milliseconds.": lambda row: 1e-3,
        "That is a whole step. Divide by the number of layers.": (
            lambda row: facts_of(row.model)["num_hidden_layers"]
        ),
        "That is the whole run. Divide by its new tokens.": lambda row: row.n_new,
        "Do not divide by the batch: one step serves all its sequences.": (
            lambda row: 1 / row.batch_size
        ),
    }
    rights = {role: 1e3 * seconds_per_layer(record, role) for role in got}
    wrong = [role for role in got if not is_near(got[role], rights[role], 0.05)]
    return joined(
        why
        for why, factor in factors.items()
        if all(is_near(got[one], factor(row_of(record, one)) * rights[one], 0.05) for one in wrong)
    )


@_models(hint="Compare the numbers of query heads and KV heads that the cell prints.")
def shared_heads_are_read_off_the_config(student: Student, case: AnswerCase) -> None:
    """The list names exactly the models with as many KV heads as query heads."""
    answer = fields_of(student, case, ("record", "without_shared_kv_heads"))
    record = recorded(answer["record"])
    given = answer["without_shared_kv_heads"]
    given = [given] if isinstance(given, str) else given
    if not isinstance(given, list | tuple | set):
        raise Wrong("the models", expected="a list of names", got=show(given))
    named = {choice_in(each, tuple(ROLES), "a model") for each in given}
    roles = PROFILES[record.provenance.profile].roles
    right = set()
    for role, place in ROLES.items():
        facts = facts_of(roles[place])
        if facts["num_key_value_heads"] == facts["num_attention_heads"]:
            right.add(role)
    if named != right:
        raise Wrong(
            "the models without shared KV heads",
            got=show(sorted(named)),
            expected="those with as many KV heads as query heads",
            why="With shared KV heads it is grouped-query attention (GQA). With one KV head for "
            "each query head it is multi-head attention (MHA).",
        )


OPEN_CASES = {name: [AnswerCase(name)] for name in ("which_limit", "three_models")}
