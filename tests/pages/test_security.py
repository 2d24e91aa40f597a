"""Every promise of SECURITY.md names tests, and these tests exist."""

import re

from tests.house_rules import ROOT

TEXT = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
ROWS = [line for line in TEXT.splitlines() if line.startswith("| ") and not line.startswith("| promise")]


def test_every_promise_has_tests_that_exist():
    assert len(ROWS) >= 12
    for row in ROWS:
        named = re.findall(r"\[(test_\w+)\]\((tests/[\w/]+\.py)\)", row)
        assert named, row
        for name, path in named:
            text = (ROOT / path).read_text(encoding="utf-8")
            assert re.search(rf"^(async )?def {name}\(", text, re.MULTILINE), (name, path)
