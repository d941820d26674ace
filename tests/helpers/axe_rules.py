"""WCAG 2.2 AA on a page in a browser, as axe can judge it."""

from typing import Any

from axe_playwright_python.sync_playwright import Axe

RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}


def keeps_the_rules(page: Any, part: str | None = None, rules: dict = RULES) -> None:
    """Nothing in this part of a page breaks a rule, and axe found something to judge."""
    response = Axe().run(page, part, rules).response
    wrong = [
        (rule["id"], node["html"][:200], node["failureSummary"])
        for rule in response["violations"]
        for node in rule["nodes"]
    ]
    assert wrong == [], (page.url, wrong)  # pytest shows no values of a helper
    assert response["passes"], page.url
