"""Lab 1: the reference against known numbers and laws, and its checks against clumsy answers."""

import re

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from autograder.builder.notebooks import build_notebook
from autograder.builder.source import read_lab, solved_text
from autograder.builder.wheel import student_files
from autograder.labs import cases_of
from autograder.labs.memory.cases import KEYS
from autograder.places import SOURCES
from labkit import memory
from labkit.bridge.local import local_student
from labkit.checks.core import checks_of, open_cases_of, play_check, share_of_points
from labkit.labs.memory.checks import fit as memory_fit
from labkit.labs.memory.checks import fit_slips
from labkit.models import facts, sizes
from labkit.models.configs import ModelConfig
from labkit.models.shapes import ModelShape
from tests.known import mutants_of, variants_of
from tests.known.memory.answers import largest, longest, node, table

FAMILY = ["Qwen3-0.6B", "Qwen3-1.7B", "Qwen3-4B", "Qwen3-8B", "Qwen3-14B", "Qwen3-32B"]
CHECKS, OPEN_CASES = checks_of("memory"), open_cases_of("memory")
LAB = read_lab(SOURCES / "01_memory.py")
counts = st.integers(min_value=1, max_value=10**13)
small = st.integers(min_value=1, max_value=500)


@st.composite
def configs(draw):
    """Configs whose layers are all full."""
    n_kv_heads = draw(st.integers(1, 16))
    return ModelConfig(
        num_hidden_layers=draw(st.integers(1, 50)),
        hidden_size=draw(st.integers(1, 20_000)),
        intermediate_size=draw(st.integers(1, 50_000)),
        num_attention_heads=n_kv_heads * draw(st.integers(1, 16)),
        num_key_value_heads=n_kv_heads,
        head_dim=draw(st.integers(1, 512)),
        vocab_size=draw(st.integers(1, 300_000)),
    )


@pytest.fixture(scope="module")
def solved():
    """The names of the solved notebook."""
    namespace = {}
    for cell in LAB.cells:
        if cell.kind in ("given", "exercise", "answer"):
            exec(cell.text or solved_text(cell), namespace)
    return namespace


def findings(namespace, exercise, cases=None):
    cases = cases or cases_of("memory", 0)[exercise]
    student = local_student(namespace)
    return {c.name: play_check(c, student, cases) for c in CHECKS[exercise]}


def passed(namespace, exercise, cases=None):
    found = findings(namespace, exercise, cases)
    return {name for name, finding in found.items() if finding.passed}


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("Qwen/Qwen3-0.6B", 114_688),
        ("Qwen/Qwen3-1.7B", 114_688),
        ("Qwen/Qwen3-4B", 147_456),
        ("Qwen/Qwen3-8B", 147_456),
        ("Qwen/Qwen3-14B", 163_840),
        ("Qwen/Qwen3-32B", 262_144),
        ("meta-llama/Llama-3.1-8B", 131_072),
        ("meta-llama/Llama-3.2-1B", 32_768),
        ("meta-llama/Llama-2-7b-hf", 524_288),
        ("allenai/OLMo-7B-0724-hf", 524_288),
        ("gpt2", 36_864),
    ],
)
def test_bytes_per_token_of_known_models(model, expected):
    assert memory.kv_cache_bytes(ModelConfig.of(model), 1) == expected
    assert sizes.kv_bytes_per_token(ModelShape.of(model)) == expected


@pytest.mark.parametrize(
    ("reading", "n_params", "expected"),
    [
        (48 * 10**9, 14_768_307_200, 14_086),
        (48 * 10**9, 14_800_000_000, 14_038),
        (48 * 10**9, 14_000_000_000, 15_258),
        (48 * 2**30, 14_768_307_200, 16_786),
        (48 * 2**30, 14_800_000_000, 16_738),
        (48 * 2**30, 14_000_000_000, 17_959),
        (46_068 * 2**20, 14_768_307_200, 14_319),
        (46_068 * 2**20, 14_800_000_000, 14_271),
        (46_068 * 2**20, 14_000_000_000, 15_492),
        (44.40 * 2**30, 14_768_307_200, 13_837),
        (44.40 * 2**30, 14_800_000_000, 13_789),
        (44.40 * 2**30, 14_000_000_000, 15_010),
    ],
)
def test_twelve_readings_of_the_longest_sequence(reading, n_params, expected):
    token_bytes = memory.kv_cache_bytes(ModelConfig.of("Qwen/Qwen3-14B"), 1)
    assert memory.longest_sequence(reading, 2 * n_params, token_bytes, batch_size=8) == expected


def test_readings_of_a_card_are_the_table_s():
    readings = facts.vram_readings("L40S")
    assert readings["GB"] == (48 * 10**9,) * 2
    assert readings["GiB"] == (48 * 2**30,) * 2
    assert readings["driver"] == (46_068 * 2**20,) * 2
    low, high = readings["torch"]
    assert low <= 44.40 * 2**30 <= high


def test_an_unknown_card_or_model_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="L40S"):
        facts.vram_readings("RTX 9090")
    with pytest.raises(ValueError, match="Qwen3-14B"):
        ModelShape.of("Qwen3-14B")


@pytest.mark.parametrize(
    ("device", "gib", "expected"),
    [
        ("Tesla T4", 14.56, "T4"),
        ("NVIDIA L4", 22.1, "L4"),
        ("NVIDIA L40S", 44.4, "L40S"),
        ("NVIDIA A100-SXM4-40GB", 39.4, "A100-SXM-40GB"),
        ("NVIDIA A100-SXM4-80GB", 79.15, "A100-SXM-80GB"),
        ("NVIDIA A100 80GB PCIe", 79.15, None),
        ("NVIDIA H100 PCIe", 79.1, "H100-PCIe"),
        ("NVIDIA H100 80GB HBM3", 79.2, "H100-SXM"),
        ("NVIDIA H100 NVL", 93.1, None),
        ("NVIDIA H200", 139.8, "H200-SXM"),
        ("NVIDIA GeForce RTX 3090", 23.7, None),
    ],
)
def test_a_device_is_found_in_the_table_by_name_and_size(device, gib, expected):
    assert facts.match_gpu(device, int(gib * 2**30)) == expected


@pytest.mark.parametrize(
    "changed", [{"n_layers": 0}, {"n_kv_heads": -8}, {"n_heads": 30}, {"head_dim": 0}]
)
def test_a_shape_that_cannot_be_is_refused(changed):
    fields = {name: getattr(ModelShape.of("gpt2"), name) for name in ModelShape.__slots__}
    with pytest.raises(ValueError, match=r"at least 1|evenly"):
        ModelShape(**(fields | {"n_kv_heads": 4} | changed))


@pytest.mark.parametrize("name", ["Qwen/Qwen3-0.6B", "Qwen/Qwen3-4B", "gpt2"])
def test_the_table_agrees_with_the_model_that_transformers_builds(name):
    transformers = pytest.importorskip("transformers")
    known = facts.models()[name]
    keys = [
        "vocab_size",
        "hidden_size",
        "num_hidden_layers",
        "num_attention_heads",
        "tie_word_embeddings",
    ]
    if known["model_type"] != "gpt2":
        keys += ["intermediate_size", "num_key_value_heads", "head_dim"]
    config_name = known["architecture"].replace("ForCausalLM", "Config")
    config_class = getattr(transformers, config_name.replace("LMHeadModel", "Config"))
    with torch.device("meta"):
        model = getattr(transformers, known["architecture"])(
            config_class(**{key: known[key] for key in keys})
        )
    assert ModelShape.from_model(model, name) == ModelShape.of(name)


@given(counts, st.integers(1, 8))
def test_weights_and_their_inverse_round_trip(n_params, width):
    n_bytes = n_params * width
    assert memory.largest_model(n_bytes, bytes_per_param=width) == n_params
    assert memory.largest_model(n_bytes + width - 1, bytes_per_param=width) == n_params
    assert memory.largest_model(n_bytes - 1, bytes_per_param=width) == n_params - 1


@given(configs(), st.integers(0, 10**9), small, counts, counts)
def test_cache_and_its_inverse_round_trip(config, n_tokens, batch_size, model, overhead):
    cache = memory.kv_cache_bytes(config, n_tokens, batch_size)
    token = memory.kv_cache_bytes(config, 1)
    card = model + overhead + cache
    options = {"batch_size": batch_size, "overhead_bytes": overhead}
    assert memory.longest_sequence(card, model, token, **options) == n_tokens
    one_more = card + batch_size * token
    assert memory.longest_sequence(one_more - 1, model, token, **options) == n_tokens
    assert memory.longest_sequence(one_more, model, token, **options) == n_tokens + 1


@given(configs(), st.integers(0, 10**9), st.integers(0, 10**9), small, st.integers(1, 8))
def test_the_cache_is_linear_in_tokens_batch_and_width(config, first, second, batch_size, width):
    def cache(n_tokens, batch=1, per_number=width):
        return memory.kv_cache_bytes(config, n_tokens, batch, per_number)

    assert cache(first + second) == cache(first) + cache(second)
    assert cache(first, batch_size) == batch_size * cache(first)
    assert cache(first, 1, 3 * width) == 3 * cache(first)


@given(counts, counts, counts, small, small)
def test_longer_sequences_never_need_less(card, model, token, batch_size, more):
    fits = memory.longest_sequence(card, model, token, batch_size)
    assert fits >= 0
    assert memory.longest_sequence(card + more, model, token, batch_size) >= fits
    assert memory.longest_sequence(card, model + more, token, batch_size) <= fits
    assert memory.longest_sequence(card, model, token, batch_size + more) <= fits


@pytest.mark.parametrize("exercise", CHECKS)
def test_open_and_hidden_cases_let_the_reference_pass(solved, exercise):
    names = {check.name for check in CHECKS[exercise]}
    assert passed(solved, exercise, OPEN_CASES[exercise]) == names
    for seed in range(5):
        cases = cases_of("memory", seed)[exercise]
        assert passed(solved, exercise, cases) == names


def test_hidden_cases_are_the_same_for_the_same_seed_and_fresh_for_another():
    first, again, other = (str(cases_of.__wrapped__("memory", seed)) for seed in (1, 1, 2))
    assert first == again != other


FUNCTIONS = [name for name in CHECKS if name not in KEYS]
RETURNED = [
    None,
    True,
    "40",
    -1,
    0,
    1,
    float("nan"),
    float("inf"),
    10**400,
    16**4090,
    ...,
    object(),
    [1],
    {},
    1j,
    torch.tensor([1, 2]),
    np.array([]),
]


@pytest.mark.parametrize("exercise", FUNCTIONS)
@pytest.mark.parametrize("returned", RETURNED, ids=lambda value: type(value).__name__)
def test_a_function_that_returns_a_constant_passes_nothing(solved, exercise, returned):
    namespace = solved | {exercise: lambda *_, **__: returned}
    assert passed(namespace, exercise) == set()
    assert passed(namespace, exercise, OPEN_CASES[exercise]) == set()


@pytest.mark.parametrize("exercise", FUNCTIONS)
def test_a_function_that_always_refuses_passes_nothing(solved, exercise):
    def refuse(*_, **__):
        raise ValueError("no")

    assert passed(solved | {exercise: refuse}, exercise) == set()


@pytest.mark.parametrize("exercise", FUNCTIONS)
def test_answers_to_the_open_cases_learnt_by_heart_pass_nothing_hidden(solved, exercise):
    known = {}
    reference = solved[exercise]

    def learn(*args, **kwargs):
        known[repr((args, kwargs))] = reference(*args, **kwargs)
        return known[repr((args, kwargs))]

    def recite(*args, **kwargs):
        return known.get(repr((args, kwargs)), 1)

    assert passed(solved | {exercise: learn}, exercise, OPEN_CASES[exercise])
    assert passed(solved | {exercise: recite}, exercise) == set()


class Everything:
    """Claims to equal whatever it is compared with."""

    def __eq__(self, other):
        return True

    __hash__ = object.__hash__


class LyingInt(int):
    """An int that claims to equal everything."""

    def __eq__(self, other):
        return True

    __hash__ = int.__hash__


HOSTILE = [
    None,
    True,
    "40",
    -1,
    float("nan"),
    float("-inf"),
    16**4090,
    -(10**400),
    1e308,
    [],
    [[]],
    {},
    Everything(),
    LyingInt(-7),
    torch.zeros(3, 3),
    np.array(["x"]),
]


@pytest.mark.parametrize("exercise", KEYS)
@pytest.mark.parametrize("value", HOSTILE, ids=lambda value: type(value).__name__)
def test_a_hostile_value_in_any_place_of_an_answer_is_only_wrong(solved, exercise, value):
    right = solved[exercise]
    assert passed(solved | {exercise: value}, exercise) == set()
    for key in right:
        found = findings(solved | {exercise: right | {key: value}}, exercise)
        assert any(not finding.passed for finding in found.values()), key
        if isinstance(right[key], dict):
            for inner in right[key]:
                changed = right | {key: right[key] | {inner: value}}
                found = findings(solved | {exercise: changed}, exercise)
                assert any(not finding.passed for finding in found.values()), (key, inner)


@pytest.mark.parametrize("exercise", KEYS)
def test_a_blank_place_blocks_only_the_checks_that_need_it(solved, exercise):
    for key in solved[exercise]:
        found = findings(solved | {exercise: solved[exercise] | {key: ...}}, exercise)
        statuses = [finding.status for finding in found.values()]
        assert "todo" in statuses
        assert "failed" not in statuses


def test_numpy_and_torch_numbers_are_numbers(solved):
    namespace = {}
    exec(largest("GB", 0, 40), namespace)
    answer = namespace["largest_on_80_gb"]
    for number in (np.int64(40), np.float32(40), torch.tensor(40), torch.tensor([40.0]), 40.0):
        changed = answer | {"billions": number, "n_tokens": np.int32(2048)}
        assert len(passed(solved | {"largest_on_80_gb": changed}, "largest_on_80_gb")) == 2


def test_the_numbers_of_known_mistakes_are_far_from_right_ones():
    token_bytes = memory.kv_cache_bytes(ModelConfig.of(memory_fit.FOURTEEN), 1)
    for reading in facts.VRAM_READINGS:
        totals = facts.vram_readings("L40S")[reading]
        for n_params in memory_fit.PARAMETER_COUNTS.values():
            sizes = (2 * n_params, token_bytes, 8)
            low, high = (memory.longest_sequence(total, *sizes) for total in totals)
            for total in totals:
                slips = fit_slips.token_slips(total, 2 * n_params, 8 * token_bytes)
                assert not any(low - 100 <= wrong <= high + 100 for wrong in slips.values())


@pytest.mark.parametrize("vram", facts.VRAM_READINGS)
@pytest.mark.parametrize("overhead_gb", [0, 1, 2.5, 4])
def test_every_reading_of_80_gb_with_a_small_overhead_earns_everything(solved, vram, overhead_gb):
    totals = {"GB": 80e9, "GiB": 80 * 2**30, "driver": 81_559 * 2**20, "torch": 79.15 * 2**30}
    exact = (totals[vram] - overhead_gb * 1e9) / 2e9
    for billions in (round(exact), int(exact)):
        namespace = dict(solved)
        exec(largest(vram, overhead_gb, billions), namespace)
        assert len(passed(namespace, "largest_on_80_gb")) == 2


def test_the_name_as_a_count_costs_half(solved):
    namespace = dict(solved)
    exec(longest("GiB", "name", 17_960), namespace)
    found = list(findings(namespace, "longest_on_l40s").values())
    assert sum(share_of_points(found, 1.5)) == pytest.approx(0.75)


def test_a_forgotten_batch_does_not_fail_the_check_of_the_parameters(solved):
    namespace = dict(solved)
    exec(longest("driver", "exact", 114_558), namespace)
    found = findings(namespace, "longest_on_l40s")
    assert found["every_parameter_of_the_model_is_counted"].passed
    assert "The batch was left out" in found["tokens_follow_from_the_stated_conventions"].message


def test_gib_called_gb_is_noted_and_costs_nothing(solved):
    namespace = dict(solved)
    exec(table((3.5, 3.5, 4.5, 4.5, 5.0, 8.0), unit="GB"), namespace)
    found = findings(namespace, "kv_table").values()
    assert [f.check.weight for f in found if not f.passed] == [0]


def test_open_answers_are_held_against_the_student_s_own_functions(solved):
    own = {"kv_cache_bytes": lambda config, *sizes: 1000}
    found = findings(solved | own, "longest_on_l40s", OPEN_CASES["longest_on_l40s"])
    finding = found["tokens_follow_from_the_stated_conventions"]
    assert "does not follow from the bytes of the card" in finding.message
    assert "by your own functions" in finding.message
    hidden = findings(solved | own, "longest_on_l40s")
    assert all(finding.passed for finding in hidden.values())


def test_a_missing_factor_costs_nothing_where_the_function_is_used(solved):
    """Answers from the student's functions are judged by these, hidden and in the notebook."""
    namespace = dict(solved)
    right = namespace["kv_cache_bytes"]
    namespace["kv_cache_bytes"] = lambda *args: right(*args) // 2
    halves = (1.75, 1.75, 2.25, 2.25, 2.5, 4.0)
    for exercise, text in {
        "kv_table": table(halves),
        "longest_on_l40s": longest("driver", "exact", 28_640),
        "node": node(spread=395, copied=49),
    }.items():
        exec(text, namespace)
        for cases in (None, OPEN_CASES[exercise]):
            assert all(f.passed for f in findings(namespace, exercise, cases).values())
    exec(table([3 * cell for cell in halves]), namespace)
    assert not findings(namespace, "kv_table")["cells_follow_from_each_model"].passed


def test_an_answer_before_its_function_is_still_to_do(solved):
    def blank(*_):
        raise NotImplementedError

    open_cases = OPEN_CASES["largest_on_80_gb"]
    found = findings(solved | {"largest_model": blank}, "largest_on_80_gb", open_cases)
    assert {finding.status for finding in found.values()} == {"todo"}
    assert "write largest_model first" in next(iter(found.values())).message


def test_a_hidden_finding_never_says_the_right_number(solved):
    wrong = {
        "largest_on_80_gb": largest("GB", 2, 12),
        "longest_on_l40s": longest("driver", "exact", 12_000),
        "kv_table": table((1.0, 2.0, 3.0, 4.0, 5.5, 6.0)),
    }
    for exercise, text in wrong.items():
        namespace = dict(solved)
        exec(text, namespace)
        messages = " ".join(f.message for f in findings(namespace, exercise).values())
        for number in ("39", "14,3", "14320", "3.5", "4.5", "8.0"):
            assert number not in messages


def test_no_right_number_of_an_answer_reaches_a_student():
    files = {
        name: text.decode()
        for name, text in student_files(LAB).items()
        if "memory" in name or name.endswith(("answers.py", ".json", ".md", "facts.py"))
    }
    files["notebook"] = "\n".join(cell.source for cell in build_notebook(LAB, "student").cells)
    rows = [14_090, 14_080, 14_040, 14_030, 16_790, 16_780, 16_740, 16_730, 14_320, 14_310, 14_270]
    rows += [13_840, 13_830, 13_790, 13_780, 147_456, 4_831_838_208, 3_758_096_384, 5_368_709_120]
    for name, text in files.items():
        digits = re.sub(r"(?<=\d)[_,](?=\d{3})", "", text)
        for row in rows:
            assert not re.search(rf"(?<!\d){row}(?!\d)", digits), (name, row)


def test_the_data_says_where_it_comes_from_and_holds_no_answers():
    for name, known in facts.models().items():
        assert known["sources"], name
        assert not any("kv_bytes" in key or "weight_bytes" in key for key in known), name
    assert all(known["sources"] for known in facts.gpus().values())
    readme = facts.data_path("README.md").read_text(encoding="utf-8")
    for path in facts.data_path("README.md").parent.iterdir():
        assert f"`{path.name}" in readme or path.name == "README.md"


def test_a_latent_is_never_as_wide_as_keys_and_values_of_heads():
    """With such sizes the wrong answer of another kind of layer was right, at one seed of 20."""
    for seed in range(300):
        for case in cases_of("memory", seed)["kv_cache_bytes"]:
            sizes = case.call.args[0].kwargs
            width = sizes["kv_lora_rank"] + sizes["qk_rope_head_dim"]
            assert width != 2 * sizes["num_key_value_heads"] * sizes["head_dim"], seed


def test_each_marked_cell_has_checks():
    assert set(CHECKS) == {cell.name for cell in LAB.marked}


def test_topics_have_cases_mutants_and_variants():
    for known in (mutants_of(LAB), variants_of(LAB)):
        assert {each.exercise for each in known} == set(CHECKS)
