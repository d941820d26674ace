"""Record what the pair reaches on the shared tasks: `python -m training.evaluate_pair`.

Writes `data/evaluation.json` from `training.evaluate`, which goes on where it was stopped. Open
answers stay without a score: they want a judge, and the kit calls none by itself.
"""

import argparse
import json
import sys
from pathlib import Path

from labkit.measuring.timing import machine
from labkit.models.folder import SHIPPED
from training import evaluate
from training.prompts import DATA

OUT = Path("evaluations")


def main() -> int:
    """Evaluate both models, dev-test split, and keep the summaries."""
    record = {"machine": machine(), "models": {}}
    for name in SHIPPED:
        if status := evaluate.main([name, "--out", str(OUT / name)]):
            return status
        summary = json.loads((OUT / name / "summary.json").read_text(encoding="utf-8"))
        record["models"][name] = summary
    (DATA / "evaluation.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    sys.exit(main())
