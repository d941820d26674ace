"""Wrong answers of lab 06, as students give them: `speculative`, what is fed, kept and told."""

from autograder.labs.speculative.mutants.parts import (
    ADD,
    BLOCK,
    CACHES,
    CALLS,
    CAP,
    COUNTED,
    CROP,
    DRAFT,
    DRAFT_CROP,
    ENDS,
    GAMMA,
    GAMMA_NOW,
    GREEDY,
    LAW,
    REFUSED,
    REPORT,
    SILENT,
    START,
    TARGET,
    TOLD,
    TWICE,
    USE,
    changed,
    mutant,
)

KEPT = [
    mutant("the target's cache keeps what was rejected", (LAW, *COUNTED, GREEDY), CROP, "pass"),
    mutant(
        "the target's cache keeps one too many",
        (LAW, *COUNTED, GREEDY),
        CROP,
        "target.rewind(min(target.n_cached(), len(text)))",
    ),
    mutant(
        "the target's cache keeps one too few",
        (LAW, *COUNTED, GREEDY, SILENT, GAMMA),
        CROP,
        "target.rewind(max(len(text) - 2, 0))",
    ),
    changed(
        "the draft's cache keeps what was rejected",
        (CACHES,),
        (DRAFT, "draft.feed(drafted[-1:] or text[draft.n_cached() :] or text[-1:])[-1]"),
        (DRAFT_CROP, "pass"),
    ),
    mutant(
        "the draft never gets the last token it proposed",
        (CACHES, GREEDY),
        DRAFT,
        "draft.feed([(text + drafted)[-1]])[-1]",
    ),
    changed(
        "the draft begins with the last token of the prompt",
        (CACHES, TOLD, GREEDY),
        ("        draft.feed(text[:-1])\n", ""),
        (DRAFT, "draft.feed([(text + drafted)[-1]])[-1]"),
        (
            DRAFT_CROP,
            "draft.rewind(max(draft.n_cached() - len(drafted) + n_kept + 1, 0) "
            "if n_kept < len(drafted) else draft.n_cached())",
        ),
    ),
    mutant(
        "the target is fed all again",
        (TWICE,),
        TARGET,
        "target.rewind(0)\n        logits = target.feed(text + drafted)[len(text) - 1 :]",
    ),
    mutant("the draft is fed all again", (TWICE,), DRAFT_CROP, "draft.rewind(0)"),
    mutant(
        "the draft forgets what was accepted",
        (TWICE,),
        DRAFT_CROP,
        "draft.rewind(min(draft.n_cached(), max(len(text) - 1 - n_kept, 0)))",
    ),
]

COUNTED_WRONG = [
    mutant(
        "no bonus token",
        (CALLS, TWICE, REPORT, SILENT, GAMMA),
        ADD,
        "text += cut_after([*drafted[:n_kept], *[token][n_kept == len(drafted) > 0 :]], eos)",
    ),
    mutant(
        "drafts one fewer",
        (CALLS, REPORT, SILENT, GAMMA),
        CAP,
        "max(min(gamma() if callable(gamma) else gamma, end - len(text) - 1) - 1, 0)",
    ),
    mutant(
        "a call of the target for each token",
        (CALLS, CACHES, REPORT, SILENT, GAMMA),
        TARGET,
        "logits = torch.cat([target.feed([x]) for x in [text[-1], *drafted]])",
    ),
    mutant(
        "a call for the last token alone",
        (CALLS, REPORT, SILENT, GAMMA),
        TARGET,
        "logits = target.feed([text[-1]])\n        if drafted:\n"
        "            logits = torch.cat([logits, target.feed(drafted)])",
    ),
    mutant(
        "the draft is never asked",
        (LAW, ENDS, TOLD, GREEDY, CALLS, USE, TWICE, CACHES, REPORT, SILENT, GAMMA),
        CAP,
        "0",
    ),
    changed(
        "gamma is not capped, the text cut",
        (USE, REPORT),
        (CAP, GAMMA_NOW),
        ("return text[len(prompt) :]", "return text[len(prompt) : end]"),
    ),
    mutant(
        "the prompt token by token",
        (CALLS,),
        "        target.feed(text[:-1])\n",
        "        for token in text[:-1]:\n            target.feed([token])\n",
    ),
    mutant("one more than can be used", (ENDS, USE, REPORT), CAP, CAP.replace("- 1)", ")")),
    mutant("one more than gamma", (USE,), CAP, CAP.replace("else gamma,", "else gamma + 1,")),
    mutant(
        "the draft is fed its last token at once",
        (USE,),
        TARGET,
        f"if drafted:\n            draft.feed(drafted[-1:])\n        {TARGET}",
    ),
]

REST = [
    mutant("the bonus token counts as accepted", (REPORT,), BLOCK,
            "blocks.append(Block(len(drafted), min(n_kept + 1, len(drafted)), len(text)))"),
    mutant("the position after the block", (REPORT,), BLOCK,
            "blocks.append(Block(len(drafted), n_kept, len(text) + n_kept + 1))"),
    mutant("the position without the prompt", (REPORT,), BLOCK,
            "blocks.append(Block(len(drafted), n_kept, len(text) - len(prompt)))"),
    mutant("gamma for the tokens drafted", (REPORT,), BLOCK,
            "blocks.append(Block(n_drafts + 1, n_kept, len(text)))"),
    mutant("plain steps go unreported", (REPORT,), "if blocks is not None:",
            "if blocks is not None and drafted:"),
    mutant("no report", (REPORT,), BLOCK, "pass"),
    mutant("a silent draft is drawn from", (SILENT,), "if torch.isneginf(logits).all():",
            "if False:"),
    mutant("a silent draft is given up for good", (SILENT,),
            "                break\n            draft_probs",
            "                gamma = lambda: 0\n                break\n            draft_probs"),
    mutant("gamma is asked for once", (GAMMA,), START,
            f"{START}\n    gamma = {GAMMA_NOW}"),
    mutant("gamma is asked for twice", (GAMMA,), "n_drafts = min(",
            "n_drafts = callable(gamma) and gamma()\n        n_drafts = min("),
    mutant("at least one is drafted", (GAMMA,), CAP,
            f"min(max({GAMMA_NOW}, 1), end - len(text) - 1)"),
    mutant("arguments are not looked at", (REFUSED,), START, "pass"),
    mutant("vocabularies are not compared", (REFUSED,), START,
            "check_start(prompt, n_new, target, None, gamma)"),
    mutant("any gamma goes", (REFUSED,), START, "check_start(prompt, n_new, target, draft)"),
]  # fmt: skip

FEEDING = [*KEPT, *COUNTED_WRONG, *REST]
