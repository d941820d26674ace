"""Multiple choice: the option that an answer settles on, in many styles, and never by accident."""

import pytest

from training.tasks import choice, items

OPTIONS = {"A": "crowbalm", "B": "marsh fever", "C": "fever", "D": "silver root"}
LISTED = "A) crowbalm\nB) marsh fever\nC) fever\nD) silver root"

STYLES = {
    # a letter and little else
    "B": "B",
    "b": "B",
    "a": "A",
    "A.": "A",
    "(b)": "B",
    "[B]": "B",
    '"B"': "B",
    "'B'": "B",
    "**B**": "B",
    "__B__": "B",
    "`B`": "B",
    "# B": "B",
    "<b>B</b>": "B",
    "Ｂ": "B",
    "（Ｂ）": "B",
    # a statement
    "Answer: B": "B",
    "ANSWER: b.": "B",
    "Answer:\n\nB": "B",
    "**Answer:** (B)": "B",
    "Answer → B": "B",
    "answer = B": "B",
    "Ans: B": "B",
    "Correct: B": "B",
    "The answer’s B": "B",
    "The letter is B": "B",
    "Sure! The answer is: B": "B",
    "Answer is option (d)": "D",
    "The correct answer is (B) because A is too weak.": "B",
    "The answer to this question would be most likely B.": "B",
    "The best choice is B, since A, C and D are poisons.": "B",
    "I am not sure. I think the correct option is D": "D",
    "B is the correct answer": "B",
    "(B) is right": "B",
    "The answer, I believe, is B.": "B",
    "So the answer has to be, in my opinion, B": "B",
    "My choice: B": "B",
    "Option: B": "B",
    "Answer (A, B, C or D): B": "B",
    "Final Answer: The final answer is $\\boxed{D}$. I hope it is correct.": "D",
    "\\boxed{B}": "B",
    "$\\boxed{\\text{B}}$": "B",
    "<answer>C</answer>": "C",
    "<think>Maybe A? Answer: A.</think>\nB": "B",
    "thoughts that the template began, answer: A</think>The answer is B": "B",
    # other languages
    "答案是B": "B",
    "答案：B。": "B",
    "正确答案是（B）": "B",
    "不选A，选B": "B",
    "正解はB": "B",
    "Die Antwort ist B.": "B",
    "La respuesta correcta es B": "B",
    "La réponse est C.": "C",
    # other forms
    '{"answer": "B"}': "B",
    '{"answer": "B", "reason": "A is weak"}': "B",
    "The correct choice here is B.": "B",
    "Choose: B": "B",
    "Selected: B": "B",
    "Answer: The B option": "B",
    "Answer: the A option": "A",
    "B would be my answer.": "B",
    "Of the options, only B fits.": "B",
    "A is tempting, but B is better.": "B",
    "B!!!": "B",
    "we get B": "B",
    "A) wrong\nB) right\nC) wrong\nD) wrong": "B",
    "A. Correct\nB. Incorrect": "A",
    # letter and text
    "B) marsh fever": "B",
    "B. marsh fever": "B",
    "B: marsh fever": "B",
    "B - marsh fever": "B",
    "The answer is **(C) fever**.": "C",
    "Answer: b) marsh fever": "B",
    "B because A is wrong": "B",
    "B\nbecause the plant grows there": "B",
    "The plant grows there.\nB": "B",
    # text alone
    "marsh fever": "B",
    "The answer is fever.": "C",
    "It is treated with Silver Root.": "D",
    "Answer: crowbalm": "A",
    # hints
    "I would pick option D": "D",
    "I'd go with C": "C",
    "It's not A, so it must be C.": "C",
    "Therefore, (B).": "B",
    # corrections and exclusions
    "A... no, B": "B",
    "A. Wait, actually B.": "B",
    "Answer: A. No, wait: answer: C": "C",
    "A at first sight, but the answer must be D, not C": "D",
    "The answer isn't A. It's D.": "D",
    "Option A is wrong and option B is right.": "B",
    "A and B are wrong, so the answer is C": "C",
    "Neither A nor B; the answer is C": "C",
    "Is the answer A? No. The answer is B.": "B",
    "The answer is B. Or is the answer A?": "B",
    "Answer: B) marsh fever\n\nWhy not option A? Option C is no plant.": "B",
    "After ruling out A the answer is B": "B",
    "I am not sure, but the answer is B": "B",
    "There is no doubt that the answer is B": "B",
    "If I had to guess, my answer would be B.": "B",
    "It seems the answer is A. However, the correct answer is B.": "B",
    "Wait, option A could work too.\nSo the answer is B.": "B",
    # a labelled line decides over what is said beside it
    "Answer: A; B is the best-known plant": "A",
    "Answer: A. Option B is right for grey cough only.": "A",
    "Answer: A\n\nNote: B is true of another plant": "A",
    "Answer: A. Had the patient a fever, the answer would be B.": "A",
    "First answer: B. Final answer: A. Second-best answer: B": "A",
    "The answer is B.\nFinal answer: A\nMany say that B is correct.": "A",
    "Answer: A\nThe answer is B for most.\nAnswer: C": "C",
    "Answer: A. Wait, the correct answer is B.": "B",
    # denied, supposed, or said by others
    "The answer is A. Students often say the answer is B.": "A",
    "Some might say that the answer is A. The answer is B.": "B",
    "The answer is A. Had the patient a fever, the answer would be B.": "A",
    "The answer is A. B would be correct if there were a fever.": "A",
    "the incorrect answer is B": None,
    "Wrong answer: B": None,
    "Wrong answer: (B)": None,
    "The least likely answer is B": None,
    "Nobody would say that B is right": None,
    "There is no way the answer is B": None,
    "I rule out answer B": None,
    "I would never choose B": None,
    "I would not choose B": None,
    "I doubt that the answer is B": None,
    "It's impossible that B is right": None,
    "It is false that B is right": None,
    "I don't know if B is correct": None,
    "I don't think the answer is B": None,
    # the question said again, and a model that runs on
    f"{LISTED}\nAnswer: C": "C",
    "Answer: B\n\nWhich plant?\nA) x\nB) y\nAnswer: D": "B",
    # no answer
    "": None,
    "  \n": None,
    "I cannot answer this question.": None,
    "As an AI I can't choose between them.": None,
    "The answer cannot be determined.": None,
    "Answer: I don't know": None,
    "None of the above": None,
    "Answer: E": None,
    "Not B": None,
    "Answer: not A": None,
    "It is not marsh fever.": None,
    "<think>The answer is B, I think, or": None,
    # several answers
    "A or B": None,
    "A, B": None,
    "A\nB": None,
    "Answer: A, B": None,
    "Answer: A\nB": None,
    "Answer: A or B": None,
    "Answer: A/B": None,
    "The answer is either A or B.": None,
    "Both B and C": None,
    "(A) or (B)": None,
    "crowbalm or silver root": None,
    "I choose A. Hmm, or option B": None,
    LISTED: None,
    # letters that are none
    "A patient with a cough needs rest.": None,
    "Answer: A patient": None,
    "The answer is a plant.": None,
    "The answer is a": None,
    "I think so.": None,
    "Vitamin B is lacking.": None,
    "This is hepatitis C": None,
    "Grade B plants, C-reactive protein, A-levels": None,
}


@pytest.mark.parametrize(("answer", "letter"), STYLES.items(), ids=range(len(STYLES)))
def test_style(answer, letter):
    found, reason = choice.extract(answer, OPTIONS)
    assert found == letter, reason
    assert reason


def test_article_before_an_option_text_means_the_text():
    options = {"A": "a poison", "B": "a remedy", "C": "an illness", "D": "a plant of the fens"}
    assert choice.extract("The answer is a remedy.", options)[0] == "B"
    assert choice.extract("Answer: A plant of the fens", options)[0] == "D"
    assert choice.extract("It is an illness.", options)[0] == "C"


def test_more_than_four_options_and_the_pronoun():
    options = {letter: f"text {letter}" for letter in "ABCDEFGHIJ"}
    assert choice.extract("Answer: J", options)[0] == "J"
    assert choice.extract("Answer: I", options)[0] == "I"
    assert choice.extract("Answer: I think it is B", options)[0] == "B"


def test_right_wrong_and_invalid_are_told_apart():
    facts = {"options": OPTIONS, "correct": "B"}
    right, wrong = choice.score("Answer: B", facts), choice.score("Answer: C", facts)
    unclear = choice.score("Answer: A or B", facts)
    assert (right.value, right.is_valid, right.reason) == (1, True, "answers B, right")
    assert (wrong.value, wrong.is_valid, wrong.reason) == (0, True, "answers C, wrong")
    assert (unclear.value, unclear.is_valid) == (0, False)
    assert unclear.reason == "ambiguous: it answers A and B"


def test_the_answers_of_the_corpus_are_right():
    for item in items("choice", "dev-test"):
        assert choice.score(item.reference, item.facts).value == 1


PIECES = [
    "A ",
    "( ",
    "(A",
    "no, ",
    "is: ",
    "Answer: ",
    "A or ",
    "<think>",
    "A) x\n",
    "_",
    "\n",
    "'",
]


@pytest.mark.parametrize("piece", PIECES)
def test_two_megabytes_of_anything_are_read_without_harm(piece):
    flood = piece * (2 * 10**6 // len(piece))
    assert choice.extract(f"{flood}\n\nAnswer: C", OPTIONS)[0] in ("C", None)
    choice.extract(f"Answer: C\n\n{flood}", OPTIONS)
