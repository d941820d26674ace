"""Wrong answers to `training_bytes`: edits of the reference, or the whole answer."""

# fails adds_up_all_that_adam_keeps reads_any_recipe

# %% each width counted once
def training_bytes(n_params: int, recipe: Mapping[str, int]) -> int:
    return n_params * sum(set(recipe.values()))

# fails reads_any_recipe

# %% Adam's names written into the code
def training_bytes(n_params: int, recipe: Mapping[str, int]) -> int:
    return n_params * (
        recipe["weights"] + recipe["gradients"] + recipe["master_weights"]
        + recipe["first_moment"] + recipe["second_moment"]
    )

# fails adds_up_all_that_adam_keeps reads_any_recipe

# %% one parameter
def training_bytes(n_params: int, recipe: Mapping[str, int]) -> int:
    return sum(recipe.values())

# %% recipe taken for bits
def training_bytes(n_params: int, recipe: Mapping[str, int]) -> int:
    return n_params * sum(recipe.values()) // 8

# %% the weights alone
def training_bytes(n_params: int, recipe: Mapping[str, int]) -> int:
    return n_params * recipe.get("weights", 8)

# fails adds_up_all_that_adam_keeps reads_any_recipe leaves_the_recipe_as_it_was

# %% counts the entries
def training_bytes(n_params: int, recipe: Mapping[str, int]) -> int:
    return n_params * len(recipe)

# %% 16 whatever the recipe
def training_bytes(n_params: int, recipe: Mapping[str, int]) -> int:
    return n_params * 16

# fails leaves_the_recipe_as_it_was

# %% takes the entries out of the recipe
def training_bytes(n_params: int, recipe: Mapping[str, int]) -> int:
    total = 0
    while recipe:
        total += recipe.popitem()[1]
    return n_params * total
