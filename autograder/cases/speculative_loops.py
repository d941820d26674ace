"""Hidden cases of lab 06."""


def loop_cases(rng):
    return {}
