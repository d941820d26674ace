"""The labs' experiments from a command line.

labkit measure EXPERIMENT... --out FILE     measure; a record that exists is continued
labkit measure check FILE_OR_FOLDER...      say what is wrong with records
"""

import argparse
import shlex
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from labkit.labs.each import of_each_lab

if TYPE_CHECKING:
    from labkit.measuring.bench import Bench

AFTER = "after"  # the setting of a roofline that was measured after the other rows


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `main`."""
    parser.add_argument(
        "experiments",
        nargs="+",
        metavar="EXPERIMENT",
        help="a name of an experiment, or all; or check, with records or folders of them",
    )
    parser.add_argument("--out", type=Path, help="the record; it is continued if it exists")
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
    parser.add_argument("--seed", type=int, help="seeds all that draws; 0, and a warning, without")
    parser.add_argument(
        "--memory-gb", type=float, default=0.0, help="use at most so much memory of the GPU, in GB"
    )
    parser.add_argument("--commit", default="", help="the commit of the kit, if git is missing")


def main(args: argparse.Namespace) -> int:
    """Measure; returns the exit status. Measured rows stay, even after a later error."""
    if args.experiments[0] == "check":
        return check(args.experiments[1:])
    from labkit.measuring.bench import Bench
    from labkit.measuring.calibration import Calibrator
    from labkit.measuring.device import cut_memory_to
    from labkit.measuring.machine import use_one_thread
    from labkit.measuring.machine.detected import seed_everything
    from labkit.measuring.profiles import profile, short
    from labkit.measuring.provenance import Provenance
    from labkit.measuring.recorder import Recorder
    from labkit.measuring.records import N_SAMPLES, RecordError

    found = experiments()
    names = list(found) if args.experiments == ["all"] else args.experiments
    try:
        if unknown := [name for name in names if name not in found]:
            raise ValueError(
                f"no experiment is called {unknown[0]!r}; there are all, {', '.join(found)}"
            )
        if args.out is None:
            raise ValueError("--out is missing: the file that the record goes to")
        if args.seed is None:
            print("no --seed is given: everything is seeded with 0", file=sys.stderr)
            args.seed = 0
        seed_everything(args.seed)
        setting = short(profile(args.profile)) if args.short else profile(args.profile)
        setting = replace(setting, n_repeats=max(N_SAMPLES, setting.n_repeats))
        if setting.device == "cpu":
            use_one_thread()
        if args.memory_gb:
            cut_memory_to(args.memory_gb)
        known = {"memory_gb": args.memory_gb} | ({"commit": args.commit} if args.commit else {})
        provenance = Provenance.here(setting, _command(args), args.seed, **known)
        recorder = Recorder(args.out, provenance)
    except (RecordError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    limits = {"point_s": args.point_seconds, "skip_s": args.skip_seconds}
    bench = Bench(setting, recorder, calibrator=Calibrator.on(setting.device), **limits)
    print(recorder.record().provenance)
    try:
        for name in names:
            found[name](bench)
        if "roofline" in names and len(names) > 1:
            _roof_after(bench)
    except KeyboardInterrupt:
        print(f"\nstopped; {args.out} has what was measured, the same command goes on from there")
        return 130
    return 0


def _roof_after(bench: "Bench") -> None:
    """The roofline once more: what was measured first may have been disturbed."""
    from labkit.measuring.machine.hardware import roofline_rows

    def is_done(key: tuple) -> bool:
        return bench.recorder.is_done((*key[:-1], AFTER))

    for row in roofline_rows(bench.profile, is_done):
        bench.recorder.save(replace(row, setting=AFTER))


def check(names: list[str]) -> int:
    """Print what is wrong with records, a line each; returns the exit status."""
    from labkit.measuring.audit import faults_of
    from labkit.measuring.records import RecordError, read_record

    folders = [Path(name) for name in names]
    paths = [path for each in folders for path in sorted(each.glob("*.jsonl")) or [each]]
    known, n_faults = experiments(), 0
    for path in paths:
        try:
            faults = faults_of(read_record(path), known)
        except (RecordError, OSError) as error:
            faults = [str(error)]
        n_faults += len(faults)
        print(f"{path.name}: {len(faults) or 'no'} fault{'s' * (len(faults) != 1)}")
        print(*(f"  {fault}" for fault in faults), sep="\n", end="\n" * bool(faults))
    return int(n_faults > 0 or not paths)


def _command(args: argparse.Namespace) -> str:
    """The command that measures the same again; of paths only the name of the file."""
    words = ["labkit", "measure", *args.experiments]
    words += ["--profile", args.profile] if args.profile else []
    words += ["--short"] if args.short else []
    words += ["--memory-gb", f"{args.memory_gb:g}"] if args.memory_gb else []
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
