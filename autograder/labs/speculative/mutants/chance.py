"""Wrong answers of lab 06, as students give them: `speculative`, and its chances and ends."""

from autograder.labs.speculative.mutants.parts import (
    ADD,
    CALLS,
    CAP,
    COUNTED,
    ENDS,
    EVERY,
    GAMMA_NOW,
    GREEDY,
    LAW,
    REPORT,
    SILENT,
    TELL_DRAFT,
    TELL_TARGET,
    TOLD,
    TWICE,
    USE,
    VERIFY,
    inline,
    mutant,
)

N = "target_probs[n_kept]"

LAWS = [
    inline(
        "one uniform for the whole block",
        (LAW,),
        before="u = torch.rand(())",
        keep="u < target_probs[i, x] / rows[i, x]",
    ),
    inline("the residual is the target", (LAW,), replace=f"sample({N}, rng)"),
    inline(
        "what the draft has too little of",
        (LAW, CALLS, TWICE, GREEDY, REPORT),
        replace=f"sample(residual(rows[n_kept], {N}), rng)",
    ),
    inline(
        "the absolute difference",
        (LAW, CALLS, TWICE, GREEDY, REPORT),
        replace=f"sample(({N} - rows[n_kept]).abs(), rng)",
    ),
    inline(
        "the residual's most likely token",
        (LAW,),
        replace=f"int(residual({N}, rows[n_kept]).argmax())",
    ),
    inline(
        "the residual of the position after",
        (LAW, GREEDY),
        replace="sample(residual(target_probs[n_kept + 1], "
        "rows[min(n_kept + 1, len(rows) - 1)]), rng)",
    ),
    inline(
        "the ratio upside down",
        (LAW, GREEDY),
        keep="torch.rand(()) < rows[i, x] / target_probs[i, x]",
    ),
    inline(
        "a lenient ratio", (LAW,), keep="torch.rand(()) < target_probs[i, x] / (0.8 * rows[i, x])"
    ),
    inline(
        "kept whenever the target likes it more", (LAW,), keep="target_probs[i, x] >= rows[i, x]"
    ),
    inline("kept when half as likely", (LAW,), keep="target_probs[i, x] / rows[i, x] >= 0.5"),
    inline(
        "kept with the target's probability",
        (LAW, TOLD),
        keep="torch.rand(()) < target_probs[i, x]",
    ),
    inline(
        "kept if the target's favourite", (LAW, TOLD), keep="x == int(target_probs[i].argmax())"
    ),
    inline(
        "the rejected token stays",
        (LAW, CALLS, TWICE, GREEDY, REPORT),
        replace="drafted[n_kept]",
    ),
    mutant(
        "the target's rows shifted by one",
        (LAW, TOLD, GREEDY),
        VERIFY,
        VERIFY.replace("target_probs,", "torch.cat([target_probs[1:], target_probs[-1:]]),"),
    ),
    mutant(
        "the bonus from the position before",
        (LAW, TOLD, GREEDY),
        VERIFY,
        f"{VERIFY}\n        if n_kept == len(drafted) > 0:\n"
        "            token = sample(target_probs[-2], rng)",
    ),
    mutant(
        "the bonus from the draft",
        (LAW, GREEDY, SILENT),
        VERIFY,
        f"{VERIFY}\n        if n_kept == len(drafted) > 0:\n"
        "            more = draft.feed(drafted[-1:])[-1]\n"
        "            token = sample(distribution(more, temperature, top_k, top_p), rng)",
    ),
    mutant(
        "the rejected position is dropped",
        (LAW, ENDS, *COUNTED, GREEDY),
        ADD,
        "text += cut_after([*drafted[:n_kept], *[token][n_kept < len(drafted) :]], eos)",
    ),
    mutant(
        "the draft's own text",
        (LAW, GREEDY),
        VERIFY,
        "n_kept, token = len(drafted), sample(target_probs[-1], rng)",
    ),
]

ENDINGS = [
    mutant("gamma is not capped", (ENDS, USE, REPORT), CAP, GAMMA_NOW),
    mutant(
        "what follows the end of the text stays",
        (ENDS,),
        ADD,
        "text += [*drafted[:n_kept], token]\n        if eos in text[-n_kept - 1 :]:\n"
        "            break",
    ),
    mutant(
        "the end is looked for at a block's end",
        (ENDS,),
        ADD,
        "text += [*drafted[:n_kept], token]",
    ),
    mutant("the end of the text is ignored", (ENDS,), "if text[-1] == eos:", "if False:"),
    mutant(
        "an end in the prompt counts",
        (ENDS,),
        "while len(text) < end:",
        "while len(text) < end and eos not in text:",
    ),
    mutant(
        "the end-of-text token is left out",
        (LAW, ENDS),
        "if text[-1] == eos:\n            break",
        "if text[-1] == eos:\n            return text[len(prompt) : -1]",
    ),
    mutant("prompt and all", EVERY, "return text[len(prompt) :]", "return text"),
]

SETTINGS = [
    mutant(
        "the draft is told nothing",
        (TOLD, GREEDY),
        TELL_DRAFT,
        "draft_probs.append(distribution(logits))",
    ),
    mutant(
        "the draft hears of the temperature alone",
        (TOLD,),
        TELL_DRAFT,
        "draft_probs.append(distribution(logits, temperature))",
    ),
    mutant(
        "the target is told nothing",
        (TOLD, GREEDY),
        TELL_TARGET,
        "target_probs = distribution(logits)",
    ),
    mutant(
        "the target hears of the temperature alone",
        (TOLD,),
        TELL_TARGET,
        "target_probs = distribution(logits, temperature)",
    ),
    mutant(
        "temperature 0 counts as none given",
        (GREEDY,),
        "check_sampling(temperature, top_k, top_p)",
        "temperature = temperature or 1.0",
    ),
    mutant(
        "a greedy draft is told to sample",
        (GREEDY,),
        TELL_DRAFT,
        TELL_DRAFT.replace("temperature", "temperature or 1.0"),
    ),
]

CHANCE = [*LAWS, *ENDINGS, *SETTINGS]
