"""What the checks of an exercise earn of its points."""

from collections.abc import Sequence

from labkit.checks.core import Check, Finding


def share_of_points(findings: Sequence[Finding], points: float) -> list[float]:
    """The points each finding earns, out of `points` for all of them, by weight.

    What is not decided earns what the others earn of their points, so it neither costs nor gives.
    While a gate is not passed, all that is earned is scaled down to half of `points`; a finding may
    leave a smaller share.
    """
    shares = points_by_weight([finding.check for finding in findings], points)
    pairs = list(zip(findings, shares, strict=True))
    decided = sum(share for each, share in pairs if not each.is_undecided)
    right = sum(share for each, share in pairs if each.passed) / (decided or 1.0)
    earned = [
        round(share * right, 4) if each.is_undecided else share * each.passed
        for each, share in pairs
    ]
    is_met = all(each.passed or each.is_undecided for each in findings if each.check.gate)
    most = points * min([1.0 if is_met else 0.5, *(each.share for each in findings)])
    factor = min(1.0, most / sum(earned)) if any(earned) else 1.0
    return earned if factor == 1 else [round(share * factor, 4) for share in earned]


def points_by_weight(checks: Sequence[Check], points: float) -> list[float]:
    """The points that each check is worth; the last one takes what rounding leaves."""
    total = sum(check.weight for check in checks)
    shares = [round(points * check.weight / total, 4) for check in checks[:-1]]
    return [*shares, round(points - sum(shares), 4)]
