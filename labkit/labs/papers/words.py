"""What lab 8 says about answers, in both languages."""

from collections.abc import Mapping
from typing import Any

WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "no id": "write your student id into `student_id`: your letters and numbers depend on it.",
        "blank": "not answered yet.",
        "field blank": "`{field}` is not filled in yet.",
        "not letters": 'the answer should be letters, such as "A C"; it is {read}.',
        "no such letter": "there is no option {letter}; they end with {last}.",
        "doubled": "you gave the letter {letter} twice: {read}.",
        "wrong count": "the answer should have {wanted} letters, and has {n}: {read}.",
        "not fields": "the answer should be a dict with {fields}; it is {read}.",
        "not a number": "`{field}` is not a number: {read}.",
        "read letters": "{read}, {n} of {n} letters; marked when you hand it in.",
        "read": "{read}; marked when you hand it in.",
        "right letters": "of your letters {read}, {n} of {wanted} are right.",
        "missed": "You missed {letter}. {why}",
        "chosen": "You chose {letter}. {why}",
        "no step": "in the right order, {second} follows directly after {first}.",
        "wrong number": "`{field}`, {read}, does not follow from your numbers.",
        "choose one": "Choose one. Write its letter into the cell.",
        "choose": "Choose {n}. Write their letters into the cell.",
        "order": "Put the steps in order, from first to last. Write their letters into the cell.",
        "fill": "Write the numbers into the cell.",
        "in numbers": ", in numbers",
        "printed": "All questions are in `{path}`. Open it in a browser to print it.",
        "audit": "One of these sentences is false: its bold number is wrong. Write its letter "
        "into the cell.",
        "instead": "One sentence of the question above has a wrong number in bold. Which number "
        "belongs there (`instead`)? Give it in the unit of the sentence. It may be wrong by 2 %, "
        "but a count must be exact.",
    },
    "zh": {
        "no id": "請先在 `student_id` 填上學號：選項的順序與數字都由學號決定。",
        "blank": "尚未作答。",
        "field blank": "`{field}` 尚未填寫。",
        "not letters": '答案應該是字母，例如 "A C"；讀到的是 {read}。',
        "no such letter": "沒有選項 {letter}，最後一個選項是 {last}。",
        "doubled": "字母 {letter} 出現了兩次：{read}。",
        "wrong count": "讀到 {n} 個字母：{read}；這一題需要 {wanted} 個。",
        "not fields": "答案應該是含有 {fields} 的 dict；讀到的是 {read}。",
        "not a number": "`{field}` 不是數字：{read}。",
        "read letters": "{read}，{n} 個字母都有了；繳交後才會評分。",
        "read": "{read}；繳交後才會評分。",
        "right letters": "你選的 {read} 當中，{wanted} 個對了 {n} 個。",
        "missed": "漏選 {letter}。{why}",
        "chosen": "選了 {letter}。{why}",
        "no step": "正確順序裡，{first} 的下一步就是 {second}。",
        "wrong number": "`{field}` 填的 {read} 與你的數字不符。",
        "choose one": "請選一項，把字母寫進儲存格。",
        "choose": "請選 {n} 項，把字母寫進儲存格。",
        "order": "請由先到後排出順序，把字母寫進儲存格。",
        "fill": "請把數字寫進儲存格。",
        "in numbers": "（計算）",
        "printed": "所有題目都在 `{path}` 裡，用瀏覽器開啟即可列印。",
        "audit": "下列敘述中有一句是錯的：它的粗體數字不對。請把它的字母寫進儲存格。",
        "instead": "上面那一題有一句的粗體數字是錯的，正確的數字是多少（`instead`）？"
        "單位與該句相同；個數須完全正確，其餘容許 2 % 的誤差。",
    },
}

OF_THE_SENTENCE = "as in the sentence"  # the unit of an audit's number
PERCENT = "percent"  # the unit of a number that may be off by half a point
UNITS_ZH = {
    OF_THE_SENTENCE: "與該句相同",
    "FLOP": "次浮點運算",
    "GB": "GB（十億位元組）",
    "GB/s": "每秒 GB",
    "Gbit/s": "每秒 Gbit",
    "bytes": "位元組",
    "cycles": "個週期",
    "elements": "個元素",
    "index": "索引",
    "ms": "毫秒",
    "passes": "次 forward",
    PERCENT: "百分比",
    "probability": "機率",
    "ratio": "倍數",
    "rows": "列",
    "tokens": "個 token",
    "tokens per s": "每秒 token 數",
}


def unit_in(unit: str, language: str) -> str:
    """A unit of the items in a language."""
    return UNITS_ZH[unit] if language == "zh" else unit


def say(what: str, language: str, **values: Any) -> str:
    """A sentence of the table with its values."""
    return WORDS[language][what].format(**values)


def in_general(what: str, **values: Any) -> str:
    """The English sentence for several students: "…" where each has another value."""
    return WORDS["en"][what].format_map(_Dots(values))


class _Dots(dict):
    def __missing__(self, name: str) -> str:
        return "…"


def language_of(wanted: Any) -> str:
    """The language that is meant: "zh" for anything like Chinese, else "en"."""
    text = wanted.strip().casefold() if isinstance(wanted, str) else ""
    return "zh" if text.startswith(("zh", "中", "繁")) else "en"
