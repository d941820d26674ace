"""What learning platforms and students deliver, as small trees of files; Moodle's worksheets."""

import csv
import io
import zipfile

from autograder.course.roster import read_roster
from autograder.intake.collect import collect

LAB = "04_kv_cache"


def zipped(files):
    """A zip in memory: path -> bytes or text."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def delivered(folder, files):
    """The files below a folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def both(tmp_path, files):
    """The same delivery as a folder and as a zip."""
    tmp_path.mkdir(exist_ok=True)
    packed = tmp_path / "packed.zip"
    packed.write_bytes(zipped(files))
    return delivered(tmp_path / "unpacked", files), packed


def collected(place, roster=None):
    """What is collected for the lab, by student: the contents or problems of all attempts."""
    by_student = {}
    for each in collect(place, LAB, roster):
        by_student.setdefault(each.student, []).append(each.content or each.problem)
    return by_student


def roster_of(tmp_path, text):
    """The roster that a table of the class gives."""
    path = tmp_path / "class.csv"
    path.write_text(text, encoding="utf-8")
    return read_roster(path)


# What stands before a number; the headings of number, name, state, grade, largest grade, whether it
# can be changed, time of handing in and of grading; yes and no; 15 October 2026, 23:59.
# The headings of the last two are made up: there only the cells can tell.
LANGUAGES = {
    "en": ("Participant ", "Identifier", "Full name", "Status", "Grade", "Maximum grade",
           "Grade can be changed", "Last modified (submission)", "Last modified (grade)",
           "Yes", "No", "Thursday, 15 October 2026, 11:59 PM"),
    "zh_tw": ("參與者", "識別碼", "全名", "狀態", "成績", "最高分數", "可以更改成績",
              "最後修改（學生）", "最後修改（老師）", "是", "否", "2026年 10月 15日(四) 23:59"),
    "zh_tw 3": ("參與者 ", "識別碼", "全名", "狀態", "成績", "最高分數", "成績可以更改",
                "最後修改的(作業)", "最後修改的(得分)", "是", "否",
                "2026年10月15日 星期四 下午 11:59"),
    "zh_cn": ("参与者", "标识符", "姓名", "状态", "成绩", "最高成绩", "允许更改成绩",
              "上次修改（作业）", "上次修改（评分）", "是", "否", "2026年10月15日 星期四 23:59"),
    "de": ("Teilnehmer/in", "ID", "Vollständiger Name", "Status", "Bewertung", "Bestwertung",
           "Bewertung kann geändert werden", "Zuletzt geändert (Abgabe)",
           "Zuletzt geändert (Bewertung)", "Ja", "Nein", "Donnerstag, 15. Oktober 2026, 23:59"),
    "fr": ("Participant ", "Identifiant", "Nom complet", "Statut", "Note", "Note maximale",
           "La note peut être modifiée", "Dernière modification (travail remis)",
           "Dernière modification (note)", "Oui", "Non", "jeudi 15 octobre 2026, 23:59"),
    "es": ("Participante", "Identificador", "Nombre completo", "Estado", "Calificación",
           "Calificación máxima", "La calificación puede ser cambiada",
           "Última modificación (entrega)", "Última modificación (calificación)", "Sí", "No",
           "jueves, 15 de octubre de 2026, 23:59"),
    "ja": ("参加者", "ID", "フルネーム", "ステータス", "評点", "最大評点", "評点を変更できる",
           "最終更新日時 (提出)", "最終更新日時 (評定)", "はい", "いいえ",
           "2026年 10月 15日(木曜日) 23:59"),
    "pt_br": ("Participante", "Identificador", "Nome completo", "Status", "Nota", "Nota máxima",
              "Nota pode ser alterada", "Última modificação (envio)", "Última modificação (nota)",
              "Sim", "Não", "quinta-feira, 15 out. 2026, 23:59"),
    "it": ("Partecipante ", "Identificativo", "Nome completo", "Stato", "Valutazione",
           "Valutazione massima", "La valutazione può essere cambiata",
           "Ultima modifica (consegna)", "Ultima modifica (valutazione)", "Sì", "No",
           "giovedì, 15 ottobre 2026, 23:59"),
    "nl": ("Deelnemer", "ID", "Volledige naam", "Status", "Cijfer", "Maximumcijfer",
           "Cijfer kan gewijzigd worden", "Laatst gewijzigd (inzending)",
           "Laatst gewijzigd (beoordeling)", "Ja", "Nee", "donderdag, 15 oktober 2026, 23:59"),
    "pl": ("Uczestnik ", "Identyfikator", "Imię i nazwisko", "Status", "Ocena", "Maksymalna ocena",
           "Ocena może być zmieniona", "Ostatnia modyfikacja (zadanie)",
           "Ostatnia modyfikacja (ocena)", "Tak", "Nie", "czwartek, 15 październik 2026, 23:59"),
    "ru": ("Участник", "Идентификатор", "Полное имя", "Статус", "Оценка", "Максимальная оценка",
           "Оценка может быть изменена", "Последнее изменение (ответ)",
           "Последнее изменение (оценка)", "Да", "Нет", "четверг, 15 октября 2026, 23:59"),
    "ko": ("참가자", "식별자", "칸1", "칸2", "칸3", "칸4", "칸5", "칸6", "칸7", "예", "아니오",
           "2026년 10월 15일(목) 오후 11:59"),
    "a later release": ("Participant ", *(f"heading {n}" for n in range(8)), "Yes", "No",
                        "Thursday, October 15, 2026, 11:59 PM"),
}  # fmt: skip
PEOPLE = ("Ann Lee", "王小明", "Böhm, José")


def worksheet(language, is_blind=False):
    """The lines of a worksheet: the third person handed nothing in, the second one's is locked."""
    word, *headings, yes, no, late = LANGUAGES[language]
    number, name, state, grade, largest, is_open, handed_in, graded = headings
    lines = [[number, name, "Email address", state, grade, largest, is_open, handed_in, graded,
              "Feedback comments"]]  # fmt: skip
    for n, person in enumerate(PEOPLE):
        lines.append([
            f"{word}{101 + n}", person, f"p{n}@x.edu", f"{state} {n % 2}",
            "-" if n else "7.50", "10.00", no if n == 1 else yes, "-" if n == 2 else late,
            "-", "",
        ])  # fmt: skip
    return [line[:1] + line[3:] if is_blind else line for line in lines]


def as_file(path, lines):
    buffer = io.StringIO()
    csv.writer(buffer).writerows(lines)
    path.write_text("\ufeff" + buffer.getvalue(), encoding="utf-8")
    return path
