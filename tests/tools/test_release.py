"""`python -m maintenance.release`: what it writes, what it refuses, and that a failure changes nothing."""

import subprocess

import pytest

from maintenance import release
from tests.house_rules import ROOT

TEXTS = {name: (ROOT / name).read_text(encoding="utf-8") for name in release.CHANGED}


def git(folder, *words):
    own = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *own, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def checkout(tmp_path):
    """A checkout of the three files that a release changes."""
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    git(tmp_path, "init")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--message", "all")
    return tmp_path


def test_version_and_date_stand_in_three_files():
    new = release.prepare_texts(TEXTS, "7.8.9", "2031-02-03")
    assert '\nversion = "7.8.9"\n' in new["pyproject.toml"]
    assert "\nversion: 7.8.9\ndate-released: 2031-02-03\n" in new["CITATION.cff"]
    assert "\n## 7.8.9 (2031-02-03)\n" in new["CHANGELOG.md"] and "(unreleased)" not in new["CHANGELOG.md"]
    for name, text in new.items():  # and nothing else was changed
        changed = set(text.splitlines()) - set(TEXTS[name].splitlines())
        assert all("7.8.9" in line or "2031-02-03" in line for line in changed)


def test_a_second_release_has_one_date():
    first = release.prepare_texts(TEXTS, "7.8.9", "2031-02-03")
    first["CHANGELOG.md"] = "# Changelog\n\n## next (unreleased)\n\n- new\n" + first["CHANGELOG.md"]
    second = release.prepare_texts(first, "7.9.0", "2031-03-03")
    assert second["CITATION.cff"].count("date-released") == 1 and "## 7.9.0 (2031-03-03)" in second["CHANGELOG.md"]


def test_a_changelog_without_news_is_refused():
    empty = TEXTS | {"CHANGELOG.md": "# Changelog\n\n## 1.0.0 (unreleased)\n\n## 0.9.0 (2020-01-01)\n\n- old\n"}
    with pytest.raises(ValueError, match="nothing to release"):
        release.prepare_texts(empty, "1.0.0", "2031-02-03")


@pytest.mark.parametrize(
    ("version", "date", "said"), [("1.0", "2031-02-03", "three numbers"), ("1.0.0", "soon", "a date")]
)
def test_what_is_no_version_or_date_is_refused(checkout, version, date, said):
    with pytest.raises(ValueError, match=said):
        release.check(checkout, version, date)


def test_a_checkout_with_changes_is_refused(checkout):
    release.check(checkout, "0.1.0", "2031-02-03")
    (checkout / "CHANGELOG.md").write_text("changed")
    with pytest.raises(ValueError, match=r"(?s)not committed.*CHANGELOG\.md"):
        release.check(checkout, "0.1.0", "2031-02-03")


def test_versions_only_grow(checkout):
    git(checkout, "tag", "v0.10.0")
    release.check(checkout, "0.10.1", "2031-02-03")
    for version, said in (("0.10.0", "released already"), ("0.9.9", "later than 0.9.9")):
        with pytest.raises(ValueError, match=said):
            release.check(checkout, version, "2031-02-03")


def test_a_step_that_fails_changes_nothing(checkout):
    with pytest.raises(ValueError, match="the hub is not sound"):  # it has none
        release.release(checkout, "0.1.0", "2031-02-03")
    assert {name: (checkout / name).read_text(encoding="utf-8") for name in release.CHANGED} == TEXTS
    assert not (checkout / "dist").exists()
