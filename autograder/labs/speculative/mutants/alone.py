"""Wrong answers of lab 06, as students give them: `autoregressive`."""

from functools import partial

from autograder.labs.mutants import Mutant

_ALONE = "each_token_has_the_targets_law"
_SHAPED = "temperature_top_k_and_top_p_count"
_STOPS = "writing_ends_in_time"
_FED = "each_token_is_fed_once"
_SENSE = "what_cannot_be_written_is_refused"

_alone = partial(Mutant, "autoregressive")

_FEED = "logits = target.feed(text[target.n_cached() :])"
_DRAW = "sample(distribution(logits[-1], temperature, top_k, top_p), rng)"
_RETURN = "return text[len(prompt) :]"
_WHILE = "while len(text) < len(prompt) + n_new:"

AUTOREGRESSIVE = [
    _alone("the row of the first token that was fed", (_ALONE, _SHAPED),
           "logits[-1]", "logits[0]"),
    _alone("the most likely token, always", (_ALONE, _SHAPED), _DRAW, "int(logits[-1].argmax())"),
    _alone("any token", (_ALONE, _SHAPED), _DRAW,
           "int(torch.randint(logits.shape[-1], ()))"),
    _alone("a second softmax, over probabilities", (_ALONE, _SHAPED), _DRAW,
           "sample(distribution(logits[-1], temperature, top_k, top_p).softmax(-1), rng)"),
    _alone("half as hot", (_ALONE,), _DRAW,
           "sample(distribution(logits[-1], temperature if temperature != 1 else 0.5, top_k, "
           "top_p), rng)"),
    _alone("temperature alone", (_SHAPED,), ", temperature, top_k, top_p)", ", temperature)"),
    _alone("no temperature", (_SHAPED,), ", temperature, top_k, top_p)", ", 1.0, top_k, top_p)"),
    _alone("no top-p", (_SHAPED,), ", temperature, top_k, top_p)", ", temperature, top_k)"),
    _alone("temperature 0 counts as none given", (_SHAPED,),
           ", temperature, top_k, top_p)", ", temperature or 1.0, top_k, top_p)"),
    _alone("the end of the text is ignored", (_STOPS,),
           "if text[-1] == eos:\n            break", "pass"),
    _alone("the end-of-text token is left out", (_ALONE, _STOPS),
           "if text[-1] == eos:\n            break",
           "if text[-1] == eos:\n            return text[len(prompt) : -1]"),
    _alone("an end in the prompt counts", (_STOPS,), _WHILE,
           _WHILE.replace(":", " and eos not in text:")),
    _alone("one token too many", (_STOPS, _FED, _SENSE), _WHILE, _WHILE.replace("<", "<=")),
    _alone("at least one token", (_STOPS,), _WHILE, _WHILE.replace("n_new", "max(n_new, 1)")),
    _alone("prompt and all", (_ALONE, _SHAPED, _STOPS, _FED, _SENSE), _RETURN, "return text"),
    _alone("everything fed again each time", (_FED,), _FEED,
           "target.rewind(0)\n        logits = target.feed(text)"),
    _alone("the last token fed as well", (_FED,), _RETURN,
           f"target.feed(text[-1:])\n    {_RETURN}"),
    _alone("fed the last token alone", (_ALONE, _SHAPED, _FED), _FEED,
           "logits = target.feed(text[-1:])"),
    _alone("the prompt token by token", (_FED,), _FEED,
           "for token in text[target.n_cached() :]:\n"
           "            logits = target.feed([token])"),
    _alone("arguments are not looked at", (_SENSE,), "check_start(prompt, n_new, target)", "pass"),
]  # fmt: skip
