"""`labkit measure EXPERIMENT... --out FILE`: the labs' experiments from a command line."""

import argparse
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

from labkit.labs import of_each_lab


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `main`."""
    parser.add_argument(
        "experiments", nargs="+", metavar="EXPERIMENT", help="a name of an experiment, or all"
    )
    parser.add_argument(
        "--out", type=Path, required=True, help="the record; it is continued if it exists"
    )
    parser.add_argument("--profile", help="cpu, t4 or gpu80; that of this machine if not given")
    parser.add_argument(
        "--point-seconds", type=float, default=4.0, help="seconds for the runs of one point"
    )
    parser.add_argument(
        "--skip-seconds", type=float, default=30.0, help="skip points whose run would take longer"
    )
    parser.add_argument(
        "--short", action="store_true", help="measure only the points of the tables"
    )
    parser.add_argument("--seed", type=int, default=0)


def main(args: argparse.Namespace) -> int:
    """Measure; returns the exit status. What is measured stays, whatever happens after."""
    from labkit.measuring.bench import Bench
    from labkit.measuring.machine import use_one_thread
    from labkit.measuring.profiles import profile, short
    from labkit.measuring.provenance import Provenance
    from labkit.measuring.records import Recorder, RecordError

    known = experiments()
    names = list(known) if args.experiments == ["all"] else args.experiments
    try:
        if unknown := [name for name in names if name not in known]:
            raise ValueError(
                f"no experiment is called {unknown[0]!r}; there are all, {', '.join(known)}"
            )
        setting = short(profile(args.profile)) if args.short else profile(args.profile)
        if setting.device == "cpu":
            use_one_thread()
        recorder = Recorder(args.out, Provenance.here(setting, _command(args), args.seed))
    except (RecordError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    bench = Bench(setting, recorder, point_s=args.point_seconds, skip_s=args.skip_seconds)
    print(recorder.record().provenance)
    try:
        for name in names:
            known[name](bench)
    except KeyboardInterrupt:
        print(f"\nstopped; {args.out} has what was measured, the same command goes on from there")
        return 130
    return 0


def _command(args: argparse.Namespace) -> str:
    """The command that measures the same again; of paths only the name of the file."""
    words = ["labkit", "measure", *args.experiments]
    words += ["--profile", args.profile] if args.profile else []
    words += ["--short"] if args.short else []
    words += ["--point-seconds", f"{args.point_seconds:g}"]
    words += ["--skip-seconds", f"{args.skip_seconds:g}", "--seed", str(args.seed)]
    return shlex.join([*words, "--out", args.out.name])


def experiments() -> dict[str, Callable]:
    """The experiments of all labs by name, each a function of a `Bench`; the roofline first."""
    from labkit.measuring.bench import roofline

    known = {"roofline": roofline}
    for lab in of_each_lab("experiments", "EXPERIMENTS"):
        known |= lab
    return known
