"""Wrong answers of lab 1, as students give them."""

from autograder.labs.memory.mutants.answers import ANSWERS
from autograder.labs.mutants import Mutant

_PRODUCT = "return n_params * bytes_per_param"
_TOKEN = "2 * shape.n_layers * shape.n_kv_heads * shape.head_dim * bytes_per_number"
_CACHE = "return batch_size * n_tokens * kv_bytes_per_token(shape, bytes_per_number)"
_LARGEST = "return max(0, int((vram_bytes - overhead_bytes) // bytes_per_param))"
_ROOM = "left_bytes = vram_bytes - model_bytes - overhead_bytes"
_LONGEST = "return max(0, int(left_bytes // (batch_size * token_bytes)))"

_WEIGHTS = ("every_parameter_takes_its_bytes", "large_counts_stay_exact")
_TRAINING = ("adds_up_all_that_adam_keeps", "reads_any_recipe")
_HEADS = "counts_the_heads_that_are_stored"
_HEAD_DIM = "takes_the_width_of_a_head_as_given"
_WIDTH = "cached_numbers_may_be_narrower_or_wider"
_UNIT, _GROWS = "one_token_is_the_unit", "grows_with_every_token"
_OWN_CACHE, _HANDS_ON = "every_sequence_keeps_its_own", "hands_the_width_on"
_FILL, _WIDER = "weights_fill_what_the_overhead_leaves", "wider_parameters_leave_room_for_fewer"
_WHOLE_PARAM, _FULL = "a_parameter_fits_whole_or_not_at_all", "a_full_card_holds_no_parameters"
_NO_WIDTH = "refuses_parameters_without_width"
_SHARED, _OVERHEAD = "the_batch_shares_what_the_weights_leave", "an_overhead_comes_off_first"
_WHOLE_TOKEN, _NO_ROOM = "a_token_fits_whole_or_not_at_all", "no_room_means_no_tokens"
_EMPTY = "refuses_an_empty_batch"

PRODUCTS = [
    Mutant("weight_bytes", "bits for bytes", _WEIGHTS, _PRODUCT, f"{_PRODUCT} * 8"),
    Mutant("weight_bytes", "gigabytes", _WEIGHTS, _PRODUCT, f"{_PRODUCT} / 1e9"),
    Mutant("weight_bytes", "prints instead of returning", _WEIGHTS, "return n_p", "n_p"),
    Mutant(
        "weight_bytes", "2 bytes whatever is asked", _WEIGHTS[:1], _PRODUCT, "return n_params * 2"
    ),
    Mutant(
        "weight_bytes",
        "floats on the way",
        _WEIGHTS[1:],
        _PRODUCT,
        "return int(float(n_params) * bytes_per_param)",
    ),
    Mutant(
        "weight_bytes",
        "the open cases learnt by heart",
        _WEIGHTS,
        _PRODUCT,
        "return {(7_000_000_000, 2): 14_000_000_000}.get((n_params, bytes_per_param), 497_759_232)",
    ),
    Mutant(
        "training_bytes",
        "each width counted once",
        _TRAINING[:1],
        "sum(recipe.values())",
        "sum(set(recipe.values()))",
    ),
    Mutant(
        "training_bytes",
        "Adam's names written into the code",
        _TRAINING[1:],
        "sum(recipe.values())",
        """(
        recipe["weights"] + recipe["gradients"] + recipe["master_weights"]
        + recipe["first_moment"] + recipe["second_moment"]
    )""",
    ),
    Mutant("training_bytes", "16 whatever the recipe", _TRAINING, "sum(recipe.values())", "16"),
    Mutant(
        "training_bytes", "counts entries", _TRAINING, "sum(recipe.values())", "4 * len(recipe)"
    ),
    Mutant("training_bytes", "one parameter", _TRAINING, "return n_params * sum", "return sum"),
    Mutant(
        "training_bytes",
        "recipe taken for bits",
        _TRAINING,
        "sum(recipe.values())",
        "sum(recipe.values()) // 8",
    ),
    Mutant("kv_bytes_per_token", "query heads", (_HEADS, _WIDTH), "n_kv_heads", "n_heads"),
    Mutant(
        "kv_bytes_per_token",
        "query heads at the default width only",
        (_HEADS,),
        _TOKEN,
        """2 * shape.n_layers * shape.head_dim * bytes_per_number * (
        shape.n_heads if bytes_per_number == 2 else shape.n_kv_heads
    )""",
    ),
    Mutant(
        "kv_bytes_per_token",
        "d_model divided among the heads",
        (_HEAD_DIM,),
        "shape.head_dim",
        "(shape.d_model // shape.n_heads)",
    ),
    Mutant(
        "kv_bytes_per_token",
        "d_model in place of what is stored",
        (_HEADS, _HEAD_DIM, _WIDTH),
        "shape.n_kv_heads * shape.head_dim",
        "shape.d_model",
    ),
    Mutant(
        "kv_bytes_per_token",
        "always 2 bytes",
        (_WIDTH,),
        "head_dim * bytes_per_number",
        "head_dim * 2",
    ),
    Mutant(
        "kv_bytes_per_token",
        "keys without values",
        (_HEADS, _HEAD_DIM, _WIDTH),
        "return 2 * ",
        "return ",
    ),
    Mutant(
        "kv_bytes_per_token",
        "one layer",
        (_HEADS, _HEAD_DIM, _WIDTH),
        "2 * shape.n_layers",
        "2",
    ),
    Mutant(
        "kv_cache_bytes",
        "keys and values counted twice",
        (_UNIT,),
        "return batch_size",
        "return 2 * batch_size",
    ),
    Mutant("kv_cache_bytes", "length forgotten", (_GROWS,), "batch_size * n_tokens", "batch_size"),
    Mutant("kv_cache_bytes", "batch forgotten", (_OWN_CACHE,), "batch_size * n_tokens", "n_tokens"),
    Mutant(
        "kv_cache_bytes",
        "width not handed on",
        (_HANDS_ON,),
        "(shape, bytes_per_number)",
        "(shape)",
    ),
    Mutant(
        "kv_cache_bytes",
        "quadratic, as attention's work is",
        (_GROWS,),
        "batch_size * n_tokens",
        "batch_size * n_tokens**2",
    ),
    Mutant(
        "kv_cache_bytes",
        "the last token left out",
        (_UNIT, _GROWS),
        "batch_size * n_tokens",
        "batch_size * max(0, n_tokens - 1)",
    ),
    Mutant(
        "kv_cache_bytes",
        "a constant",
        (_UNIT, _GROWS, _OWN_CACHE, _HANDS_ON),
        _CACHE,
        "return 131_072",
    ),
]

INVERSES = [
    Mutant(
        "largest_model",
        "overhead charged per byte of a parameter",
        (_FILL,),
        "(vram_bytes - overhead_bytes) // bytes_per_param",
        "vram_bytes // bytes_per_param - overhead_bytes",
    ),
    Mutant(
        "largest_model",
        "overhead ignored",
        (_FILL, _FULL),
        "(vram_bytes - overhead_bytes)",
        "vram_bytes",
    ),
    Mutant("largest_model", "always 2 bytes", (_WIDER,), "// bytes_per_param", "// 2"),
    Mutant(
        "largest_model",
        "divides in floats",
        (_WHOLE_PARAM,),
        "(vram_bytes - overhead_bytes) // bytes_per_param",
        "(vram_bytes - overhead_bytes) / bytes_per_param",
    ),
    Mutant(
        "largest_model",
        "rounds to the nearest",
        (_WHOLE_PARAM,),
        "int((vram_bytes - overhead_bytes) // bytes_per_param)",
        "-(-(vram_bytes - overhead_bytes) // bytes_per_param)",
    ),
    Mutant(
        "largest_model",
        "negative models",
        (_FULL,),
        _LARGEST,
        "return (vram_bytes - overhead_bytes) // bytes_per_param",
    ),
    Mutant(
        "largest_model",
        "a parameter of no bytes divides by zero",
        (_NO_WIDTH,),
        "if bytes_per_param <= 0:",
        "if bytes_per_param < 0:",
    ),
    Mutant(
        "largest_model",
        "billions",
        (_FILL, _WIDER, _WHOLE_PARAM),
        _LARGEST,
        "return max(0, int((vram_bytes - overhead_bytes) // bytes_per_param)) / 1e9",
    ),
    Mutant(
        "longest_sequence",
        "batch forgotten",
        (_SHARED,),
        "(batch_size * token_bytes)",
        "token_bytes",
    ),
    Mutant(
        "longest_sequence",
        "overhead forgotten",
        (_OVERHEAD,),
        _ROOM,
        "left_bytes = vram_bytes - model_bytes if overhead_bytes < vram_bytes else 0",
    ),
    Mutant(
        "longest_sequence",
        "weights forgotten",
        (_SHARED, _OVERHEAD, _WHOLE_TOKEN, _NO_ROOM),
        _ROOM,
        "left_bytes = vram_bytes - overhead_bytes",
    ),
    Mutant(
        "longest_sequence",
        "fractions of tokens",
        (_WHOLE_TOKEN,),
        "int(left_bytes // (batch_size * token_bytes))",
        "left_bytes / (batch_size * token_bytes)",
    ),
    Mutant(
        "longest_sequence",
        "divides in floats",
        (_WHOLE_TOKEN,),
        "int(left_bytes // (batch_size * token_bytes))",
        "int(left_bytes / (batch_size * token_bytes))",
    ),
    Mutant(
        "longest_sequence",
        "negative lengths",
        (_NO_ROOM,),
        _LONGEST,
        "return left_bytes // (batch_size * token_bytes)",
    ),
    Mutant(
        "longest_sequence",
        "an empty batch divides by zero",
        (_EMPTY,),
        "if batch_size <= 0 or token_bytes <= 0:",
        "if batch_size < 0 or token_bytes < 0:",
    ),
    Mutant(
        "longest_sequence",
        "tokens of the whole batch",
        (_SHARED,),
        _LONGEST,
        "return max(0, left_bytes // (batch_size * token_bytes)) * batch_size",
    ),
]

MUTANTS = PRODUCTS + INVERSES + ANSWERS
