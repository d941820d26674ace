"""A course as a folder that any web server can hold: notebooks, zips, and an index that pip reads.

Old wheels stay, so that notebooks which ask for them still find them.
"""

import hashlib
import html
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

from autograder.builder.colab import colab_address
from autograder.builder.course import student_notebooks, write_changed
from autograder.builder.editions import NOTEBOOK, Edition, edition_of, list_name, revision_of
from autograder.builder.pages import PAGE, pages
from autograder.builder.readme import summary
from autograder.builder.source import (
    Lab,
    raise_revisions,
    read_course,
    read_labs,
)
from autograder.errors import Refusal

LABS = """\
<p><a href="course.html">Rules, dates, points</a> · <a href="reading.html">Reading list</a> ·
<a href="glossary.html">Glossary 詞彙表</a></p>
<p>Download a lab's notebook, open it and run its first cell. The cell installs what the lab needs.
Without a network, take the zip: it holds the notebook and what the first cell installs.</p>
<table><tr><th>lab</th><th>what you build</th><th>revision</th><th></th><th></th><th></th></tr>
{rows}
</table>"""


def write_site(
    folder: Path,
    labs: Sequence[Lab],
    address: str,
    *,
    revise: bool = False,
    explained: bool = False,
) -> list[Path]:
    """Write the releases of these labs into `folder`, beside those of others; returns the files.

    address: where the folder will be read, "" if students take the zips; revise: raise the revision
    of each lab that changed since it was released there, in course.toml and in its notebook.
    Raises: Refusal if such a lab's revision was not raised.
    """
    editions = [edition_of(lab, explained=explained) for lab in labs]
    released = {each.lab: last for each in editions if (last := _clashing(each, folder))}
    if released and not revise:
        names = ", ".join(lab.name for lab in released)
        raise Refusal(
            f"{folder} holds another content of this revision of {names}, or a later one: raise "
            "it in notebooks/course.toml and build, or release with --revise, which does both"
        )
    files: dict[Path, bytes] = {}
    if released:
        raise_revisions({lab.name: last + 1 for lab, last in released.items()})
        editions = [edition_of(lab, explained=explained) for lab in labs]
        files |= student_notebooks(released)
    for edition in editions:
        files |= {folder / path: content for path, content in _files_of(edition, address)}
    written = [write_changed(path, content) for path, content in files.items()]
    for path, text in _pages(folder, address):
        written.append(write_changed(folder / path, text.encode()))
    return [*written, write_changed(folder / "SHA256SUMS", _sums(folder).encode())]


def _released(lab: Lab, folder: Path) -> str:
    """The version of a lab in the folder, "" if there is none."""
    path = folder / list_name(lab)
    try:
        listed = json.loads(path.read_text(encoding="utf-8"))
        version = listed.get("wheels", listed)["labkit"][0]  # before 0.2 there was nothing else
        return version if revision_of(version) else ""
    except FileNotFoundError:
        return ""
    except (ValueError, LookupError, TypeError, AttributeError):
        raise Refusal(f"{path} cannot be read: take it away and release again") from None


def _clashing(edition: Edition, folder: Path) -> int:
    """The revision in the folder if its content differs and it is not lower than ours; else 0."""
    version = _released(edition.lab, folder)
    last = revision_of(version) if version not in ("", edition.version) else 0
    return last if last >= revision_of(edition.version) else 0


def _files_of(edition: Edition, address: str) -> Iterator[tuple[str, bytes]]:
    """The released files of a lab, by path; the list of files comes last."""
    for wheel in edition.wheels:
        yield f"wheels/{wheel.file_name}", wheel.content
    yield NOTEBOOK.format(edition.lab.name), edition.notebook(address)
    yield f"zips/{edition.lab.name}.zip", edition.zipped(address)
    yield list_name(edition.lab), edition.listed()


def _pages(folder: Path, address: str) -> Iterator[tuple[str, str]]:
    """The pages for students, and the index that pip reads (PEP 503), of all that lies there."""
    rows = [
        _row(lab, version, address) for lab in read_labs() if (version := _released(lab, folder))
    ]
    title, labs = html.escape(read_course().title), LABS.format(rows="\n".join(rows))
    yield "index.html", PAGE.format(title=title, body=labs)
    yield from pages().items()
    links: dict[str, list[str]] = {}
    for path in sorted((folder / "wheels").glob("*.whl")):
        project = path.name.partition("-")[0].replace("_", "-")
        target = f"../../wheels/{quote(path.name)}#sha256={_sha256(path)}"
        links.setdefault(project, []).append(f'<a href="{target}">{path.name}</a><br>')
    for project, lines in links.items():
        yield f"simple/{project}/index.html", PAGE.format(title=project, body="\n".join(lines))
    projects = "\n".join(f'<a href="{project}/">{project}</a><br>' for project in links)
    yield "simple/index.html", PAGE.format(title="Wheels", body=projects)


def _row(lab: Lab, version: str, address: str) -> str:
    path = NOTEBOOK.format(lab.name)
    link = colab_address(address, path)
    cells = [
        lab.name,
        html.escape(summary(lab)),
        str(revision_of(version)),
        f'<a href="{path}" download>notebook</a>',
        f'<a href="zips/{lab.name}.zip">zip</a>',
        f'<a href="{link}">Open in Colab</a>' if link else "",
    ]
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _sums(folder: Path) -> str:
    """The file that `sha256sum --check` reads."""
    return "".join(
        f"{_sha256(path)}  {path.relative_to(folder).as_posix()}\n"
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "SHA256SUMS"
    )


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
