"""All checks of lab 02, and its open cases; the checks are written in the modules imported here."""

from labkit.checks.answers import AnswerCase

# Everything, so that no check can be forgotten here.
from labkit.labs.throughput.checks.generate import *  # noqa: F403
from labkit.labs.throughput.checks.generate import FixedCase
from labkit.labs.throughput.checks.rates import *  # noqa: F403
from labkit.labs.throughput.checks.rates import FitCase, LimitCase, RateCase
from labkit.labs.throughput.checks.record import *  # noqa: F403
from labkit.labs.throughput.checks.sweep import *  # noqa: F403
from labkit.labs.throughput.checks.sweep import SweepCase
from labkit.labs.throughput.checks.table import *  # noqa: F403
from labkit.labs.throughput.checks.timer import *  # noqa: F403
from labkit.labs.throughput.checks.timer import TimerCase

A, B, C, D = (4, 1, 16), (4, 64, 16), (4, 4096, 16), (8, 64, 64)

PUBLIC_CASES: dict[str, list] = {
    "time_runs": [
        TimerCase(work_s=(8.0, 3.0, 0.5, 0.75, 0.25), n_warmup=2),
        TimerCase(work_s=(0.5, 1.5), n_warmup=0, begins_busy=True),
        TimerCase(work_s=(4.0, 0.5), n_warmup=1, launch_s=0.0625),
    ],
    "generate_fixed": [
        FixedCase(batch_size=2, n_input=5, n_new=4),
        FixedCase(batch_size=3, n_input=30, n_new=6, stops_after=2, seed=1),
        FixedCase(batch_size=1, n_input=1, n_new=1, seed=2),
    ],
    "sweep": [
        SweepCase(points=(B, A, D)),
        SweepCase(points=(A, C, B, D), too_large=(C, D)),
        SweepCase(points=(A, B, C), done=(A, C)),
        SweepCase(points=(A, D, B), broken=D),
    ],
    "tokens_per_s": [
        RateCase(batch_size=4, n_new=16, samples_s=(0.5,), expected=128.0),
        RateCase(batch_size=2, n_new=10, samples_s=(0.25, 0.5, 4.0), expected=40.0),
    ],
    "fit_steps": [
        FitCase((1, 2, 4, 8), (0.5, 0.75, 1.25, 2.25), prefill_s=0.5, step_s=0.25),
        FitCase((1, 3, 5), (1.0, 2.0, 6.0), prefill_s=0.5, step_s=1.25, is_exact=False),
    ],
    "limit_of": [
        LimitCase(0.030, 36, 0.00075, 0.005, 0.001, "launch"),
        LimitCase(0.120, 28, 0.001, 0.090, 0.010, "memory"),
        LimitCase(0.900, 12, 0.002, 0.020, 0.500, "compute"),
        LimitCase(0.004, 12, 0.002, 0.005, 0.001, None),
    ],
    "which_limit": [AnswerCase("which_limit")],
    "three_models": [AnswerCase("three_models")],
    "my_table": [AnswerCase("my_table")],
    "flawed_report": [AnswerCase("flawed_report")],
}
