"""Hidden cases of lab 06."""


def gain_cases(rng):
    return {}
