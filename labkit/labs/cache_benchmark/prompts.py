"""The prompts of the prefix-caching experiments: one document, four questions, and small edits."""

from collections.abc import Mapping

from labkit.models.prompts import long_prompt

SHORT_PROMPT = "Once upon a time,"
QUESTIONS = (
    "Who wove blankets of grey wool?",
    "What did the apprentice break?",
    "What did Aldo say about his own first year?",
    "What stands on the shelf today?",
)
NAMES = ("Aldo", "Emma", "Nils", "Otto")  # the first stands in the document
EDITS = ("same", "space before", "space after", "one name")


def document(n_characters: int = 1800) -> str:
    """The beginning of the long prompt, up to the end of a paragraph.

    Raises: ValueError if no paragraph ends within n_characters.
    """
    text = long_prompt()
    if n_characters >= len(text):
        return text
    end = text[:n_characters].rfind("\n\n")
    if end < 0:
        raise ValueError(f"no paragraph ends within the first {n_characters} characters")
    return text[:end]


def asked(question: str) -> str:
    """The text of a question after the document, or after the last answer."""
    return f"\n\nQuestion: {question}\nAnswer:"


def edited_prompts(n_characters: int = 1800) -> Mapping[str, str]:
    """The prompt of the invalidation test, and what `EDITS` make of it, in that order.

    "one name": the weaver is called Otto instead of Aldo, once, where he is first named.
    """
    prompt = document(n_characters) + asked(QUESTIONS[0])
    return {
        "same": prompt,
        "space before": " " + prompt,
        "space after": prompt + " ",
        "one name": prompt.replace("Aldo", "Otto", 1),
    }
