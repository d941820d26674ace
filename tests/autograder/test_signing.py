"""What a course signs, its notebooks can tell from all else."""

import hashlib
import json

import pytest

from autograder import places
from autograder.errors import Refusal
from autograder.signing import key_file, make_key, public_key, signature_of

CONTENT = {"labkit": ["0.1.0+lab01.2.habc", "0" * 64]}


def another(path):
    """The secret half of another course's key."""
    path.unlink()
    places.COURSE.write_text('title = "Another course"')
    made = make_key().read_bytes()
    places.COURSE.write_text('title = "A course"\nkey = "f1"')
    return made


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A course without a key."""
    monkeypatch.setattr(places, "COURSE", tmp_path / "course.toml")
    places.COURSE.write_text('title = "A course"\nkey = ""\n[policy]\nlate = "refuse"\n')
    return places.COURSE


def test_a_signature_is_a_number_that_the_public_half_turns_into_the_digest(course):
    make_key()
    number = pow(int(signature_of(CONTENT), 16), 65537, int(public_key(), 16))
    digest = hashlib.sha256(json.dumps(CONTENT).encode()).hexdigest()
    assert f"{number:x}".startswith("1" + "ff" * 202 + "00") and f"{number:x}".endswith(digest)


def test_the_secret_half_is_its_owners_alone_and_the_settings_keep_their_lines(course):
    path = make_key()
    assert path.stat().st_mode & 0o777 == 0o600
    secret = path.read_text().splitlines()[1]
    lines = course.read_text().splitlines()
    assert lines == ['title = "A course"', f'key = "{public_key()}"', "[policy]", 'late = "refuse"']
    assert secret not in course.read_text()
    assert int(public_key(), 16).bit_length() == 2048


def test_a_course_keeps_its_key(course):
    make_key()
    for spoil in (lambda: None, key_file().unlink):
        spoil()
        with pytest.raises(Refusal, match="the course has a key already"):
            make_key()


def test_without_a_key_nothing_is_signed(course):
    assert signature_of(CONTENT) == ""


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda path: path.unlink(), "is missing: copy it from where `autograder key` wrote it"),
        (lambda path: path.write_text("{}"), "cannot be read as a key"),
        (lambda path: path.write_text("\x00"), "cannot be read as a key"),
        (lambda path: path.write_bytes(another(path)), "is not the key of course.toml"),
    ],
)
def test_a_key_that_does_not_fit_signs_nothing(spoil, message, course):
    spoil(make_key())
    with pytest.raises(Refusal, match=message):
        signature_of(CONTENT)
