"""Wrong answers to `distribution`."""

from autograder.labs.mutants import Mutant

_TEMPERATURE = "the_temperature_divides_the_logits"
_GREEDY = "temperature_zero_is_certain"
_TOP_K = "top_k_keeps_the_most_likely"
_TOP_P = "top_p_keeps_the_fewest_that_reach_it"
_ORDER = "temperature_then_top_k_then_top_p"
_TIES = "of_equal_tokens_the_first_are_kept"
_ROWS = "each_row_is_a_distribution"
_FORBIDDEN = "a_forbidden_token_has_probability_zero"
_HALF = "half_precision_is_computed_in_single"
_UNCHANGED = "the_logits_stay_as_they_are"
_SETTINGS = "settings_without_a_meaning_are_refused"
_FINITE = "logits_without_a_largest_are_refused"

_CONVERT = "logits = logits if logits.dtype == torch.float64 else logits.float()"
_CHECK = "check_sampling(temperature, top_k, top_p)\n"
_SOFTMAX = "torch.softmax((logits - largest) / temperature, dim=-1)"
_ARGMAX = "logits.argmax(-1, keepdim=True)"
_CUT = "ranked[..., top_k:] = 0\n        ranked /= ranked.sum(-1, keepdim=True)"
_BEFORE = "mass_before = ranked.cumsum(-1) - ranked"
_NUCLEUS = "ranked[mass_before >= top_p] = 0\n        ranked /= ranked.sum(-1, keepdim=True)"

DISTRIBUTION = [
    Mutant(
        "distribution",
        "times the temperature",
        (_TEMPERATURE,),
        "largest) / temp",
        "largest) * temp",
    ),
    Mutant(
        "distribution",
        "exp without taking off the largest",
        (_TEMPERATURE,),
        _SOFTMAX,
        "(logits / temperature).exp()\n"
        "    probs = probs / probs.sum(-1, keepdim=True)",
    ),
    Mutant(
        "distribution",
        "large logits are clipped",
        (_TEMPERATURE,),
        _SOFTMAX,
        "torch.softmax(logits.clamp(max=100) / temperature, dim=-1)",
    ),
    Mutant(
        "distribution",
        "temperature 0 is taken for 1",
        (_GREEDY, _TIES),
        "return torch.zeros_like(logits).scatter(-1, logits.argmax(-1, keepdim=True), 1.0)",
        "temperature = 1",
    ),
    Mutant(
        "distribution",
        "temperature 0 is a very small one",
        (_TIES,),
        "    if temperature == 0:\n"
        "        return torch.zeros_like(logits).scatter(-1, logits.argmax(-1, keepdim=True), 1.0)",
        "    temperature = max(temperature, 1e-4)",
    ),
    Mutant(
        "distribution",
        "the smallest at temperature 0",
        (_GREEDY, _TIES, _FORBIDDEN),
        _ARGMAX,
        "logits.argmin(-1, keepdim=True)",
    ),
    Mutant(
        "distribution",
        "the others get 0 at temperature 0, the largest no more than it had",
        (_GREEDY,),
        "return torch.zeros_like(logits).scatter(-1, logits.argmax(-1, keepdim=True), 1.0)",
        "top = logits.softmax(-1).amax(-1, keepdim=True)\n"
        "        return torch.zeros_like(logits).scatter(-1, logits.argmax(-1, keepdim=True), top)",
    ),
    Mutant(
        "distribution",
        "top-k without making up for what is cut",
        (_TOP_K, _ORDER),
        _CUT,
        "ranked[..., top_k:] = 0",
    ),
    Mutant("distribution", "one token too many", (_TOP_K, _TIES), "top_k:]", "top_k + 1 :]"),
    Mutant(
        "distribution",
        "top_k fails where there are fewer tokens",
        (_TOP_K,),
        _CUT,
        _CUT + '\n        if top_k > probs.shape[-1]:\n            raise ValueError("too many")',
    ),
    Mutant(
        "distribution",
        "the token that reaches top_p is cut",
        (_TOP_P, _TIES),
        "mass_before >= top_p",
        "mass_before + ranked >= top_p",
    ),
    Mutant(
        "distribution",
        "one token too many for top_p",
        (_TOP_P, _TIES),
        _BEFORE,
        _BEFORE + "\n        mass_before[..., 1:] = mass_before[..., :-1].clone()",
    ),
    Mutant(
        "distribution",
        "top-p without making up for what is cut",
        (_TOP_P,),
        _NUCLEUS,
        "ranked[mass_before >= top_p] = 0",
    ),
    Mutant(
        "distribution",
        "top_p as the least probability",
        (_TOP_P, _TIES),
        "mass_before >= top_p",
        "ranked < top_p * ranked.amax(-1, keepdim=True)",
    ),
    Mutant(
        "distribution",
        "top-p counts what top-k has cut",
        (_ORDER,),
        _BEFORE,
        "full = probs.sort(dim=-1, descending=True, stable=True).values\n"
        "        mass_before = full.cumsum(-1) - full",
    ),
    Mutant(
        "distribution",
        "temperature last",
        (_ORDER,),
        source="""\
def distribution(logits, temperature=1.0, top_k=None, top_p=None):
    check_sampling(temperature, top_k, top_p)
    logits = logits if logits.dtype == torch.float64 else logits.float()
    largest = logits.amax(-1, keepdim=True)
    if not torch.isfinite(largest).all():
        raise ValueError("no largest")
    if temperature == 0:
        return torch.zeros_like(logits).scatter(-1, logits.argmax(-1, keepdim=True), 1.0)
    ranked, order = logits.sort(dim=-1, descending=True, stable=True)
    if top_k is not None:
        ranked[..., top_k:] = -torch.inf
    if top_p is not None:
        probs = ranked.softmax(-1)
        ranked[probs.cumsum(-1) - probs >= top_p] = -torch.inf
    probs = torch.softmax(ranked / temperature, -1)
    return torch.zeros_like(logits).scatter(-1, order, probs)
""",
    ),
    Mutant(
        "distribution",
        "all that are as likely as the last one kept",
        (_TIES,),
        source="""\
def distribution(logits, temperature=1.0, top_k=None, top_p=None):
    check_sampling(temperature, top_k, top_p)
    logits = logits if logits.dtype == torch.float64 else logits.float()
    largest = logits.amax(-1, keepdim=True)
    if not torch.isfinite(largest).all():
        raise ValueError("no largest")
    if temperature == 0:
        return torch.zeros_like(logits).scatter(-1, logits.argmax(-1, keepdim=True), 1.0)
    scaled = logits / temperature
    if top_k is not None:
        least = scaled.topk(min(top_k, scaled.shape[-1])).values[..., -1:]
        scaled = scaled.masked_fill(scaled < least, -torch.inf)
    if top_p is not None:
        probs = scaled.softmax(-1)
        ranked, order = probs.sort(dim=-1, descending=True, stable=True)
        is_cut = ranked.cumsum(-1) - ranked >= top_p
        is_cut = torch.zeros_like(is_cut).scatter(-1, order, is_cut)
        scaled = scaled.masked_fill(is_cut, -torch.inf)
    return scaled.softmax(-1)
""",
    ),
    Mutant("distribution", "softmax over the rows", (_ROWS,), _SOFTMAX, _SOFTMAX[:-2] + "0)"),
    Mutant(
        "distribution",
        "one largest token for all rows",
        (_ROWS,),
        "torch.zeros_like(logits).scatter(-1, logits.argmax(-1, keepdim=True), 1.0)",
        "(torch.arange(logits.numel()) == logits.argmax()).reshape(logits.shape).to(logits)",
    ),
    Mutant(
        "distribution",
        "only the first row is ranked",
        (_ROWS,),
        "return torch.zeros_like(probs).scatter(-1, order, ranked)",
        "order = order.reshape(-1, order.shape[-1])[0].expand(ranked.shape)\n"
        "    return torch.zeros_like(probs).scatter(-1, order, ranked)",
    ),
    Mutant(
        "distribution",
        "refuses every infinite logit",
        (_FORBIDDEN,),
        "torch.isfinite(largest).all()",
        "torch.isfinite(logits).all()",
    ),
    Mutant(
        "distribution",
        "a finite number for minus infinity",
        (_FORBIDDEN,),
        _SOFTMAX,
        "torch.softmax((logits - largest).nan_to_num(neginf=-5.0) / temperature, dim=-1)",
    ),
    Mutant("distribution", "in the dtype that came", (_HALF,), _CONVERT, "pass"),
    Mutant("distribution", "in single precision always", (_HALF,), _CONVERT,
           "logits = logits.float()"),
    Mutant("distribution", "bfloat16 is forgotten", (_HALF,), _CONVERT,
           "logits = logits.float() if logits.dtype == torch.float16 else logits"),
    Mutant(
        "distribution",
        "divided in place",
        (_UNCHANGED,),
        _SOFTMAX,
        "torch.softmax(logits.sub_(largest).div_(temperature), dim=-1)",
    ),
    Mutant(
        "distribution",
        "what top-k cuts is cut in the logits",
        (_UNCHANGED,),
        _CUT,
        _CUT + "\n        logits[probs < ranked[..., min(top_k, logits.shape[-1]) - 1]"
        ".max()] = -torch.inf",
    ),
    Mutant("distribution", "any setting will do", (_SETTINGS,), _CHECK, "pass\n"),
    Mutant(
        "distribution",
        "below 0 is greedy",
        (_SETTINGS,),
        _CHECK + "    logits",
        "temperature = max(0, temperature)\n    " + _CHECK + "    logits",
    ),
    Mutant(
        "distribution",
        "NaN is repaired",
        (_FINITE,),
        _CONVERT,
        _CONVERT + "\n    logits = logits.nan_to_num(nan=0.0, neginf=-torch.inf, posinf=1e9)",
    ),
    Mutant(
        "distribution",
        "NaN alone is refused",
        (_FINITE,),
        "not torch.isfinite(largest).all()",
        "largest.isnan().any()",
    ),
]  # fmt: skip
