"""Random numbers that ask a source instead of being drawn, as student code writes them."""

from __future__ import annotations

import builtins
import math
import random

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch.distributions import Bernoulli, Categorical, Exponential, Gumbel, Uniform
from transformers import LlamaConfig, LlamaForCausalLM

from labkit.chance.source import CannotFollow, scripted
from labkit.checks.law import RandomSource, exact_law

PROBS = torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64)
LOGITS = PROBS.log() + 3
WEIGHTS = (2.5 * PROBS).tolist()
GENERATOR = torch.Generator()


def law_of(draw, *namespaces):
    """The law of what `draw()` returns, as a tuple of whole numbers."""

    def play(source):
        with scripted(source, *namespaces):
            result = draw()
            if isinstance(result, torch.Tensor | np.ndarray):
                result = result.tolist()
            return result if isinstance(result, list | tuple) else [result]

    law = exact_law(play)
    assert law.is_complete
    return law.probabilities


def below(threshold):
    return pytest.approx({(1,): threshold, (0,): 1 - threshold}, abs=1e-7)


def from_probs():
    return pytest.approx({(0,): 0.5, (1,): 0.3, (2,): 0.2}, abs=1e-12)


def exponential_in_place():
    noise = torch.empty_like(PROBS)
    noise.exponential_(1)
    return PROBS.clone().div_(noise).argmax()


def add_up():
    left = random.random() * sum(WEIGHTS)
    for token, weight in enumerate(WEIGHTS[:-1]):
        if left < weight:
            return token
        left -= weight
    return 2


COMPARISONS = {
    "less": lambda: torch.rand(1) < 0.3,
    "less or equal": lambda: torch.rand(1) <= 0.3,
    "greater, from the left": lambda: torch.tensor([0.3]) > torch.rand(1),
    "not greater": lambda: not torch.rand(()) > 0.3,
    "a function": lambda: torch.lt(torch.rand(1), torch.tensor(0.3)),
    "a method": lambda: torch.rand([1]).le(torch.tensor([0.3])),
    "item": lambda: torch.rand(1).item() < 0.3,
    "item against a tensor": lambda: torch.rand(1).item() < PROBS[1],
    "a tensor against item": lambda: PROBS[1] >= torch.rand(1).item(),
    "float": lambda: float(torch.rand(1)) < 0.3,
    "float of item": lambda: float(torch.rand(1).item()) <= min(1.0, 0.3),
    "if": lambda: 1 if torch.rand(size=(1,)) < 0.3 else 0,
    "a generator": lambda: torch.rand(1, generator=GENERATOR) < 0.3,
    "a seed of the system": lambda: (random.seed(), torch.rand(1))[1] < 0.3,
    "inference mode": lambda: torch.inference_mode()(lambda: torch.empty(1).uniform_() < 0.3)(),
    "rand_like": lambda: torch.rand_like(PROBS[:1], dtype=torch.float32) < 0.3,
    "rand_like of random numbers": lambda: torch.rand_like(torch.rand(1)) < 0.3,
    "double": lambda: torch.rand(1).double().cpu().detach() < 0.3,
    "to": lambda: torch.rand(1).to(PROBS.dtype).to("cpu") < PROBS[1],
    "shapes": lambda: torch.rand(2, 3).T.reshape(-1)[::2][1:2].unsqueeze(0).squeeze() < 0.3,
    "stacked": lambda: torch.stack([torch.rand(()), torch.rand(())])[1] < 0.3,
    "unpacked": lambda: next(iter(torch.rand(2))) < 0.3,
    "in a list": lambda: torch.rand(2).tolist()[1] < 0.3,
    "log": lambda: torch.log(torch.rand(1)) < math.log(0.3),
    "log, reflected": lambda: torch.log1p(-torch.rand(1)) < math.log(0.3),
    "log in place": lambda: torch.rand(1).log_() < math.log(0.3),
    "log2": lambda: torch.rand(1).log2() < math.log2(0.3),
    "math.log": lambda: math.log(torch.rand(1)) < math.log(0.3),
    "log, kept finite": lambda: (torch.rand(1) + 1e-12).log() < math.log(0.3),
    "clamped": lambda: torch.rand(1).clamp(min=1e-9, max=1 - 1e-9) < 0.3,
    "reflected": lambda: 1 - torch.rand(1) < 0.3,
    "reflected, greater": lambda: torch.rand(1) > 0.7,
    "scaled": lambda: 2 * torch.rand(1) - 1 < -0.4,
    "scaled by a tensor": lambda: torch.rand(1) * PROBS[:1] < 0.15,
    "divided": lambda: PROBS[1] / torch.rand(1) > 1,
    "a power": lambda: torch.rand(1) ** 2 < 0.09,
    "a root": lambda: torch.rand(1).sqrt() < 0.3**0.5,
    "exp of log": lambda: torch.rand(1).log().exp() < 0.3,
    "an exponential": lambda: torch.empty(1).exponential_() < -math.log(0.7),
    "uniform_": lambda: torch.empty(1).uniform_(0, 2) < 0.6,
    "uniform_ by name": lambda: torch.empty(1).uniform_(to=2) < 0.6,
    "bernoulli": lambda: torch.bernoulli(PROBS[1]),
    "bernoulli of p": lambda: torch.bernoulli(torch.empty(1), 0.3),
    "bernoulli_": lambda: torch.empty(1).bernoulli_(0.3),
    "Bernoulli": lambda: Bernoulli(PROBS[1]).sample(),
    "Uniform": lambda: Uniform(0.0, 2.0).sample((1,)) < 0.6,
    "random": lambda: random.random() < 0.3,
    "random against a tensor": lambda: PROBS[1] > random.random(),
    "a Random": lambda: random.Random().random() < 0.3,
    "random.uniform": lambda: random.uniform(0, 2) < 0.6,
    "math.log of random": lambda: math.log(random.random()) < math.log(0.3),
    "a tensor of random": lambda: torch.tensor(random.random()) < 0.3,
    "numpy": lambda: np.random.rand() < 0.3,
    "a numpy number": lambda: np.float32(0.25) * 1.2 > np.random.random(),
    "numpy, log": lambda: np.log(np.random.uniform()) < np.log(0.3),
    "numpy, many": lambda: (np.random.rand(2) < np.array([0.3, 2.0]))[0],
    "numpy from torch": lambda: (torch.rand(1).numpy() < 0.3)[0],
    "torch from numpy": lambda: torch.from_numpy(np.random.rand(1)) < 0.3,
    "a numpy generator": lambda: np.random.default_rng().random() < 0.3,
    "a RandomState": lambda: np.random.RandomState().random_sample() < 0.3,
    "numpy binomial": lambda: np.random.binomial(1, 0.3),
}
DRAWS = {
    "multinomial": lambda: torch.multinomial(PROBS, 1),
    "multinomial by name": lambda: PROBS.multinomial(num_samples=1),
    "multinomial, unnormalised": lambda: torch.multinomial(2.5 * PROBS, 1, generator=None),
    "multinomial, batched": lambda: torch.multinomial(PROBS[None].expand(1, 3), 1)[0],
    "Categorical": lambda: Categorical(PROBS).sample(),
    "Categorical of logits": lambda: Categorical(logits=LOGITS).sample(),
    "race": lambda: (PROBS / torch.empty_like(PROBS).exponential_(1)).argmax(),
    "race, in place": exponential_in_place,
    "race, all in place": lambda: (
        PROBS.clone().div_(torch.empty_like(PROBS).exponential_(1).clamp_min_(1e-10)).argmax(-1)
    ),
    "race, another rate": lambda: (PROBS / torch.empty(3).exponential_(2.0)).argmax(dim=-1),
    "race, max": lambda: (PROBS / torch.empty(3).exponential_()).max(dim=-1).indices,
    "race, min": lambda: (torch.empty(3).exponential_() / PROBS).argmin(),
    "race, kept finite": lambda: (PROBS / (torch.empty(3).exponential_() + 1e-10)).argmax(),
    "race of distributions": lambda: (PROBS / Exponential(1.0).sample(PROBS.shape)).argmax(),
    "race by powers": lambda: (torch.rand(3) ** (1 / PROBS)).argmax(),
    "race by logs": lambda: (torch.rand(3).log() / PROBS).argmax(),
    "Gumbel": lambda: (LOGITS - torch.log(-torch.log(torch.rand(3)))).argmax(),
    "Gumbel, kept finite": lambda: torch.argmax(
        LOGITS - torch.log(-torch.log(torch.rand_like(LOGITS) + 1e-20) + 1e-20), dim=-1
    ),
    "Gumbel of distributions": lambda: (LOGITS + Gumbel(0, 1).sample(LOGITS.shape)).argmax(),
    "Gumbel of numpy": lambda: torch.argmax(LOGITS + torch.from_numpy(np.random.gumbel(size=3))),
    "gumbel_softmax": lambda: F.gumbel_softmax(LOGITS, hard=True).argmax(),
    "inverse CDF": lambda: (PROBS.cumsum(0) > torch.rand(1)).nonzero()[0],
    "searchsorted": lambda: torch.searchsorted(PROBS.cumsum(0), torch.rand(1)),
    "searchsorted, right": lambda: torch.searchsorted(PROBS.cumsum(0), torch.rand(1), right=True),
    "searchsorted, side": lambda: torch.searchsorted(PROBS.cumsum(0), torch.rand(1), side="right"),
    "bucketize": lambda: torch.bucketize(torch.rand(1), PROBS.cumsum(0)),
    "a sum of weights": add_up,
    "choices": lambda: random.choices(range(3), weights=WEIGHTS)[0],
    "numpy choice": lambda: np.random.choice(3, p=PROBS.numpy()),
    "numpy generator choice": lambda: np.random.default_rng().choice(3, size=1, p=PROBS.numpy()),
    "numpy searchsorted": lambda: np.searchsorted(PROBS.cumsum(0).numpy(), np.random.rand()),
    "numpy multinomial": lambda: np.random.multinomial(1, PROBS.numpy()).argmax(),
}
EVEN = {
    "randint": lambda: torch.randint(3, (1,)),
    "randint from": lambda: torch.randint(1, 4, size=(1,)) - 1,
    "randint by name": lambda: torch.randint(low=1, high=4, size=(1,)) - 1,
    "randperm": lambda: torch.randperm(3)[0],
    "argmax of rand": lambda: torch.rand(3).argmax(),
    "int of a product": lambda: int(3 * torch.rand(1)),
    "long": lambda: (torch.rand(1) * 3).long(),
    "floor": lambda: torch.floor(torch.rand(1) * 3),
    "random.choice": lambda: random.choice([0, 1, 2]),
    "random.randrange": lambda: random.randrange(3),
    "random.shuffle": lambda: (items := [0, 1, 2], random.shuffle(items))[0][0],
    "int of random": lambda: int(random.random() * 3),
    "numpy randint": lambda: np.random.randint(0, 3),
    "numpy integers": lambda: np.random.default_rng().integers(3),
}
LOST = {
    "sin": (lambda: torch.sin(torch.rand(1)) < 0.5, "torch.sin"),
    "sum": (lambda: torch.rand(2).sum() < 0.5, "torch.sum"),
    "sort": (lambda: torch.rand(2).sort(), "torch.sort"),
    "two": (lambda: torch.rand(1) < torch.rand(1), "between two random numbers"),
    "a difference of two": (lambda: random.random() - random.random() < 0, "two random numbers"),
    "truth": (lambda: 1 if torch.rand(1) else 0, "__bool__"),
    "truth of random": (lambda: 1 if random.random() else 0, "value is needed"),
    "setitem": (lambda: torch.zeros(2).__setitem__(0, torch.rand(())), "setitem"),
    "where": (lambda: torch.where(PROBS > 0.4, torch.rand(3), PROBS), "where"),
    "a mixture": (lambda: torch.cat([torch.rand(1), torch.zeros(1)]), "random and known"),
    "randn": (lambda: torch.randn(1) < 0, "randn"),
    "normal_": (lambda: torch.empty(1).normal_() < 0, "normal_"),
    "gauss": (lambda: random.gauss(0, 1) < 0, "gauss"),
    "numpy normal": (lambda: np.random.normal() < 0, "normal"),
    "numpy generator normal": (lambda: np.random.default_rng().normal() < 0, "normal"),
    "dropout": (lambda: F.dropout(torch.ones(1)), "dropout"),
    "clamp": (lambda: torch.rand(1).clamp(min=0.5) < 0.7, "clamp"),
    "log of a sum": (lambda: torch.log(torch.rand(1) + 0.5) < 0, "log of a sum"),
    "a wrong race": (lambda: (PROBS * torch.empty(3).exponential_()).argmax(), "slowest"),
    "an unfair race": (lambda: (PROBS * torch.rand(3)).argmax(), "unlike scale"),
    "spent noise": (lambda: [(n := torch.rand(3)).argmax(), n[0] < 0.5][1], "already used"),
    "a part": (lambda: torch.empty(2)[0].uniform_() < 0.5, "part of a tensor"),
    "a part of noise": (lambda: torch.rand(2)[0].mul_(2) < 0.5, "part of a tensor"),
    "a part of the known": (lambda: torch.ones(2)[0].div_(torch.rand(())) < 2, "part of a tensor"),
    "division with rest": (lambda: random.random() // 0.1 < 2, "value is needed"),
    "dtype=float": (lambda: torch.zeros(1, dtype=float) < 0, "torch.float64"),
    "a large integer": (lambda: random.randrange(10**6), "1000000 outcomes"),
}


@pytest.mark.parametrize("name", COMPARISONS)
def test_a_uniform_is_compared(name):
    assert law_of(COMPARISONS[name]) == below(0.3)


@pytest.mark.parametrize("name", DRAWS)
def test_a_token_is_drawn(name):
    assert law_of(DRAWS[name]) == from_probs()


@pytest.mark.parametrize("name", EVEN)
def test_whole_numbers_are_even(name):
    assert law_of(EVEN[name]) == pytest.approx(dict.fromkeys([(0,), (1,), (2,)], 1 / 3))


@pytest.mark.parametrize("name", LOST)
def test_what_cannot_be_followed_is_named(name):
    draw, words = LOST[name]
    with pytest.raises(CannotFollow, match="cannot be followed") as caught:
        law_of(draw)
    assert words in str(caught.value)


class Stubborn:
    """Says that every uniform is below what it is compared with, and counts the questions."""

    def __init__(self):
        self.asked = []

    def choose(self, weights):
        self.asked.append(weights)
        return 0

    def uniform(self):
        return len(self.asked)

    def is_below(self, uniform, threshold):
        self.asked.append(threshold)
        return True


def test_only_what_is_looked_at_is_asked():
    source = Stubborn()
    with scripted(source):
        uniforms = torch.rand(5)
        _ = torch.multinomial(torch.tensor([0.0, 2.0, 0.0]), 1)
        assert uniforms[2] < 0.5
        assert uniforms[1] < 1 and not uniforms[1] < 0 and not uniforms[1] > 1.5
        assert not (uniforms[0] < math.nan) and not (uniforms[0] > math.nan)
        assert not (uniforms == 0.5).any() and not torch.isnan(uniforms).any()
    assert source.asked == [0.5]


def test_the_source_is_told_plain_numbers():
    source = Stubborn()
    with scripted(source):
        assert torch.rand(1) < torch.tensor([0.25])
        torch.multinomial(torch.tensor([1, 3]).float(), 1)
        np.random.choice(2, p=np.array([0.25, 0.75]))
    assert source.asked == [0.25, [1.0, 3.0], [0.25, 0.75]]
    assert all(type(weight) is float for weight in source.asked[1])


def test_shape_dtype_and_length_are_those_of_torch():
    with scripted(Stubborn()):
        uniforms = torch.rand(2, 3, dtype=torch.float64)
        assert isinstance(uniforms, torch.Tensor) and len(uniforms) == 2
        assert uniforms.shape == (2, 3) and uniforms.dtype is torch.float64
        assert uniforms.numel() == 6 and uniforms.ndim == uniforms.dim() == 2
        assert torch.zeros_like(uniforms).sum() == 0
        assert (uniforms < torch.full((2, 3), 0.5)).shape == (2, 3)
        assert (uniforms[0] < torch.full((4, 1), 0.5)).shape == (4, 3)
        assert torch.rand(2, 3).argmax(dim=1, keepdim=True).shape == (2, 1)
        assert torch.rand(2, 3).max(1).values.shape == (2,)


def test_a_shared_uniform_is_one_and_fresh_ones_are_independent():
    ratios = torch.tensor([0.3, 0.6], dtype=torch.float64)
    shared = law_of(lambda: (torch.rand(1) < ratios).long())
    assert shared == pytest.approx({(1, 1): 0.3, (0, 1): 0.3, (0, 0): 0.4})
    own = law_of(lambda: (torch.rand(2) < ratios).long())
    assert own == pytest.approx({(1, 1): 0.18, (1, 0): 0.12, (0, 1): 0.42, (0, 0): 0.28})


def test_rows_of_a_race_are_drawn_apart():
    rows = torch.stack([PROBS, PROBS.flip(0)])
    law = law_of(lambda: (rows / torch.empty_like(rows).exponential_()).argmax(-1))
    expected = {(i, j): PROBS[i] * PROBS[2 - j] for i in range(3) for j in range(3)}
    assert law == pytest.approx({key: float(value) for key, value in expected.items()})


def test_zeros_never_win_a_race():
    probs = torch.tensor([0.0, 0.25, 0.75], dtype=torch.float64)
    for draw in (
        lambda: (probs / torch.empty(3).exponential_()).argmax(),
        lambda: (torch.empty(3).exponential_() / probs).argmin(),
        lambda: (probs.log() - torch.log(-torch.log(torch.rand(3)))).argmax(),
    ):
        assert law_of(draw) == pytest.approx({(1,): 0.25, (2,): 0.75})


def test_several_draws_without_replacement():
    law = law_of(lambda: torch.multinomial(PROBS, 2))
    assert law[(0, 1)] == pytest.approx(0.5 * 0.3 / 0.5)
    assert (0, 0) not in law and (0, 0) in law_of(lambda: torch.multinomial(PROBS, 2, True))


@pytest.mark.parametrize(
    ("draw", "error"),
    [
        (lambda: torch.multinomial(torch.tensor([0.5, -0.1]), 1), RuntimeError),
        (lambda: torch.multinomial(torch.tensor([0.5, math.nan]), 1), RuntimeError),
        (lambda: torch.multinomial(torch.zeros(3), 1), RuntimeError),
        (lambda: torch.bernoulli(torch.tensor(1.5)), RuntimeError),
        (lambda: np.random.choice(2, p=[0.5, 0.6]), ValueError),
        (lambda: np.random.choice(2, p=[1.5, -0.5]), ValueError),
        (lambda: torch.rand(2).item(), RuntimeError),
    ],
)
def test_what_torch_and_numpy_refuse_is_refused(draw, error):
    with pytest.raises(error):
        draw()
    with pytest.raises(error), scripted(Stubborn()):
        draw()


def test_names_that_were_imported_before_follow_too():
    namespace = {"draw": random.random, "rng": np.random.default_rng(), "own": random.Random()}
    old = dict(namespace)

    def draw():
        seen = (
            namespace["draw"]() < 0.5,
            namespace["rng"].random() < 0.5,
            namespace["own"].random() < 0.5,
        )
        return [int(one) for one in seen]

    assert len(law_of(draw, namespace)) == 8
    assert namespace == old


def test_everything_is_as_before_even_after_an_error():
    before = [builtins.float, random.random, np.random.rand, math.log, vars(random.Random).copy()]
    with pytest.raises(KeyError), scripted(Stubborn()):
        raise KeyError
    after = [builtins.float, random.random, np.random.rand, math.log, vars(random.Random).copy()]
    assert before == after
    assert type(torch.rand(1)) is torch.Tensor and 0 <= random.Random().random() < 1
    assert torch.zeros(1, dtype=float).dtype is torch.float64


def test_a_number_that_outlives_its_run_says_so():
    with scripted(Stubborn()):
        uniform = torch.rand(1)
    with pytest.raises(CannotFollow, match="after the run it was drawn in"):
        _ = uniform < 0.5
    assert repr(uniform) == "random numbers that nobody has drawn"


def test_floats_stay_floats():
    number, plain = 0.5, float
    with scripted(Stubborn()):
        assert isinstance(number, float) and isinstance(random.random(), float)
        assert type(number) in (bool, int, float, str) and not isinstance(1, float)
        assert type(float("0.5")) is plain and float("inf") == math.inf
        assert np.zeros(2, dtype=float).dtype == np.float64
        assert {float: 1}[plain] == 1
        assert f"{torch.rand(1)} {random.random():.3f}".count("nobody") == 2


def test_dropout_of_an_evaluated_model_is_no_randomness():
    model = torch.nn.Sequential(torch.nn.Dropout(0.5)).eval()
    with scripted(Stubborn()):
        assert model(torch.ones(3)).sum() == 3
    with pytest.raises(CannotFollow), scripted(Stubborn()):
        model.train()(torch.ones(3))


@pytest.mark.parametrize(
    ("seed", "name"),
    [
        (lambda: torch.manual_seed(0), "torch.manual_seed"),
        (lambda: torch.Generator(), "torch.Generator()"),
        (lambda: torch.Generator("cpu").manual_seed(1), "torch.Generator()"),
        (lambda: torch.default_generator.manual_seed(0), "Generator.manual_seed"),
        (lambda: np.random.seed(0), "numpy.random.seed"),
        (lambda: np.random.default_rng(0), "numpy.random.default_rng"),
        (lambda: random.seed(1), "random.seed"),
        (lambda: random.Random(1), "random.seed"),
    ],
)
def test_seeds_that_are_set_inside_are_refused(seed, name):
    with scripted(RandomSource([], 10, 0.0)), pytest.raises(CannotFollow) as caught:
        seed()
    assert str(caught.value) == f"`{name}` is called inside"
    assert isinstance(torch.Generator(), torch.Generator)


def test_a_generator_of_the_notebook_may_be_drawn_from_and_not_seeded():
    names = {"rng": GENERATOR}
    with scripted(RandomSource([], 10, 0.0), names):
        assert torch.rand(1, generator=names["rng"]) < 0.5
        with pytest.raises(CannotFollow):
            names["rng"].manual_seed(0)
    assert names["rng"] is GENERATOR


def test_a_source_of_the_judge_answers_each_question_once():
    source = RandomSource([], 10, 0.0)
    with scripted(source):
        uniform = torch.rand(1)
        answers = [bool(uniform < 0.5) for _ in range(3)]
    assert answers == [True] * 3 and len(source.forks) == 1


def small_llama(seed):
    config = LlamaConfig(
        vocab_size=3,
        hidden_size=8,
        intermediate_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
    )
    torch.manual_seed(seed)
    model = LlamaForCausalLM(config).double().eval()
    with torch.no_grad():
        model.lm_head.weight.mul_(10)
    return model


def test_assisted_generation_of_transformers_has_the_law_of_its_target():
    """Code that knows nothing of this, with its own cache: sampling, 3 new tokens, 2 drafted."""
    target, draft = small_llama(0), small_llama(1)
    draft.generation_config.num_assistant_tokens = 2
    draft.generation_config.num_assistant_tokens_schedule = "constant"
    draft.generation_config.assistant_confidence_threshold = 0.0
    prompt = torch.tensor([[1, 2]])
    options = {"do_sample": True, "max_new_tokens": 3, "top_k": 0, "eos_token_id": None}

    def generate(**assisted):
        mask = torch.ones_like(prompt)
        tokens = target.generate(prompt, attention_mask=mask, **options, **assisted, pad_token_id=0)
        return tokens[0, 2:]

    alone, assisted = law_of(generate), law_of(lambda: generate(assistant_model=draft))
    assert len(alone) == 27 and max(alone.values()) < 0.5
    assert assisted == pytest.approx(alone, abs=1e-6)
