"""What stands around the code: how it is cited, how a fault is told, and that its types can be found."""

import re
import tomllib

import yaml

from tests.house_rules import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_citation_is_of_this_version():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["cff-version"] == "1.2.0" and cited["type"] == "software"
    assert {"message", "title", "authors"} <= cited.keys() and all("name" in each for each in cited["authors"])
    assert str(cited["version"]) == PROJECT["project"]["version"] and cited["license"] == PROJECT["project"]["license"]


def test_the_templates_of_issues_are_forms():
    forms = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("[0-9]-*.yml"))
    assert len(forms) >= 3
    for form in forms:
        own = yaml.safe_load(form.read_text(encoding="utf-8"))
        assert {"name", "description", "body"} <= own.keys()
        asked = [each for each in own["body"] if each["type"] != "markdown"]
        assert all(each["type"] in ("input", "textarea", "dropdown", "checkboxes") for each in asked)
        assert len({each["id"] for each in asked}) == len(asked) and all(each["attributes"]["label"] for each in asked)
    fault = forms[0].read_text(encoding="utf-8")
    assert "SECURITY.md" in fault and "SEQZOO_DEBUG=1" in fault


def test_security_is_linked():
    for page in ("README.md", "docs/README.md"):
        assert re.search(r"\]\((\.\./)?SECURITY\.md\)", (ROOT / page).read_text(encoding="utf-8")), page
    assert "security.md" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")


def test_types_are_packaged():
    for package in ("zoo", "serving"):
        assert (ROOT / package / "py.typed").is_file()
        assert "py.typed" in PROJECT["tool"]["setuptools"]["package-data"][package]
