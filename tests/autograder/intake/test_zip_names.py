"""Names in zips of Windows, which do not say how they spell them: read, or refused, never mixed up.

As reported for other programs: kuba--/zip 233, libarchive 484, zip4j 73 and 45.
"""

import io
import struct
import zipfile
import zlib

import pytest
from deliveries import LAB, collected, roster_of, zipped
from hypothesis import given
from hypothesis import strategies as st

from autograder.intake.collect import NoSubmissions

CLASSES = {
    "cp950": ["許功蓋", "許功", "功蓋許", "王小明", "陳怡君", "林志豪"],
    "cp936": ["王伟", "李娜", "张敏", "赵秀英", "刘洋", "欧阳思远"],
    "cp932": ["佐藤健一", "表ソ能", "山田さくら", "高橋ユウキ", "渡辺愛"],
    "cp949": ["김민준", "이서연", "박지우", "최하준", "정도윤", "강시우"],
    "cp437": ["José", "Zoë", "Müller", "Françoise"],
    "cp850": ["João", "Ânia", "Müller"],
    "cp1252": ["José", "Jürgen Groß", "Béatrice"],
    "utf-8": ["José", "王小明", "김민준", "Ёлка"],
}


class RawName(zipfile.ZipInfo):
    """An entry whose name stands in the zip as these bytes, without the flag of UTF-8."""

    def __init__(self, name, field=b""):
        super().__init__(name.hex())
        self.raw, self.extra = name, field

    def _encodeFilenameFlags(self):
        return self.raw, self.flag_bits & ~0x800


def raw_zip(files):
    """A zip of name -> content, the name as bytes or as a whole entry."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            entry = name if isinstance(name, RawName) else RawName(name)
            archive.writestr(entry, content)
    return buffer.getvalue()


def path_field(raw, text):
    """The field 0x7075 that some programs write beside a name."""
    data = struct.pack("<BL", 1, zlib.crc32(raw)) + text.encode()
    return struct.pack("<HH", 0x7075, len(data)) + data


def found_in(tmp_path, files, roster=None):
    place = tmp_path / "class.zip"
    place.write_bytes(raw_zip(files))
    return collected(place, roster)


@pytest.mark.parametrize("encoding", CLASSES)
@pytest.mark.parametrize("path", [f"{{}}/{LAB}.ipynb", "{}.ipynb", "export\\{}\\x.ipynb"])
def test_names_of_each_windows_are_read_and_no_two_people_become_one(tmp_path, encoding, path):
    names = CLASSES[encoding]
    files = {path.format(name).encode(encoding): name for name in names}
    assert found_in(tmp_path, files) == {name: [name.encode()] for name in names}


@pytest.mark.parametrize("encoding", ["cp950", "cp936", "cp932", "cp949"])
def test_a_field_beside_the_name_says_what_it_is_if_it_is_about_this_name(tmp_path, encoding):
    name = {"cp932": "山田", "cp949": "김민준"}.get(encoding, "李明")
    raw = f"{name}.ipynb".encode(encoding)
    bare = {raw: "a", b"bob.ipynb": "b"}
    told = {RawName(raw, path_field(raw, "somebody.ipynb")): "a", b"bob.ipynb": "b"}
    of_another = {RawName(raw, path_field(b"other", "somebody.ipynb")): "a", b"bob.ipynb": "b"}
    assert found_in(tmp_path, told) == {"somebody": [b"a"], "bob": [b"b"]}
    try:
        without = found_in(tmp_path, bare)
    except NoSubmissions:
        with pytest.raises(NoSubmissions, match="does not tell the encoding"):
            found_in(tmp_path, of_another)
    else:
        assert found_in(tmp_path, of_another) == without


def test_where_two_encodings_fit_alike_the_class_decides_and_else_nobody_guesses(tmp_path):
    files = {f"{name}.ipynb".encode("cp949"): name for name in ("김민준", "이서연")}
    with pytest.raises(NoSubmissions) as refused:
        found_in(tmp_path, files)
    assert "the encoding of 2 names" in str(refused.value)
    assert "Give the class as --roster" in str(refused.value)
    roster = roster_of(tmp_path, "name,id\n김민준,1\n이서연,2\n")
    found = found_in(tmp_path, files, roster)
    assert found == {"김민준": ["김민준".encode()], "이서연": ["이서연".encode()]}


def test_one_export_beside_others_with_names_in_doubt_is_refused_too(tmp_path):
    name = "김민준_12_assignsubmission_file_/x.ipynb".encode("cp949")
    place = tmp_path / "exports"
    place.mkdir()
    (place / "1.zip").write_bytes(raw_zip({name: "a"}))
    (place / "2.zip").write_bytes(zipped({"Ann Lee_13_assignsubmission_file_/x.ipynb": "b"}))
    with pytest.raises(NoSubmissions, match="does not tell the encoding"):
        collected(place)


def test_a_students_own_zip_in_any_encoding_is_never_a_reason_to_refuse_the_class(tmp_path):
    inside = raw_zip({"作業.ipynb".encode("cp950"): "a", b"\xff\xfe\x81.txt": "t"})
    place = tmp_path / "class.zip"
    place.write_bytes(zipped({"ann.zip": inside, "bob.ipynb": "b"}))
    assert collected(place) == {"ann": [b"a"], "bob": [b"b"]}


LETTERS = {
    "cp950": "許功蓋王小明陳怡君林志豪珮瑄",
    "cp936": "王伟李娜张敏赵秀英刘洋欧阳囍垚",
    "cp932": "表ソ能予佐藤山田さくらユウ髙",
    "cp949": "김민준이서연박지우최하",
    "cp437": "Josépalbmñ",
}
classes = st.sampled_from(list(LETTERS)).flatmap(
    lambda encoding: st.tuples(
        st.just(encoding),
        st.lists(st.text(LETTERS[encoding], min_size=1, max_size=4), min_size=2, max_size=6,
                 unique=True),
    )
)  # fmt: skip


@given(classes, st.sampled_from(["{}.ipynb", f"{{}}/{LAB}.ipynb", "{}_1{n}_2{n}_x.ipynb"]))
def test_whatever_the_encoding_each_notebook_is_one_persons_or_all_are_refused(
    tmp_path_factory, people, path
):
    encoding, names = people
    files = {path.format(name, n=n).encode(encoding): str(n) for n, name in enumerate(names)}
    try:
        found = found_in(tmp_path_factory.getbasetemp(), files)
    except NoSubmissions as refused:
        assert "Give the class as --roster" in str(refused)
    else:
        assert sorted(found.values()) == [[str(n).encode()] for n in range(len(names))]
