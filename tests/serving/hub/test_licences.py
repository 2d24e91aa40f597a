"""Licences are SPDX expressions, or it is said why not."""

import pytest

from serving.hub.facts import asks_for_names, check_licence


@pytest.mark.parametrize(
    "expression",
    [
        *("CC-BY-4.0", "MIT OR Apache-2.0", "(MIT AND CC0-1.0) OR Apache-2.0", "LicenseRef-CC-BY-2.0-FR"),
        *("GPL-2.0-or-later WITH Classpath-exception-2.0", " MIT ", "EUPL-1.2+", "((MIT))"),
    ],
)
def test_what_is_an_expression_passes(expression):
    check_licence("the data", expression)


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("", "Invalid license expression"),
        (None, "Invalid license expression"),
        ("CC BY 4.0", "CC BY 4.0"),
        ("cc-by-4.0", "SPDX writes CC-BY-4.0"),
        ("MIT Apache-2.0", "Invalid license expression"),
        ("MIT OR", "Invalid license expression"),
        ("OR MIT", "Invalid license expression"),
        ("(MIT", "Invalid license expression"),
        ("MIT)", "Invalid license expression"),
        ("MIT WITH", "Invalid license expression"),
        ("MIT; Apache-2.0", "MIT;"),
        ("free", "Unknown license: 'free'"),
        ("LicenseRef-", "LicenseRef-"),
        ("LicenseRef-a b", "Invalid license expression"),
    ],
)
def test_what_is_none_is_refused_with_the_reason(expression, why):
    with pytest.raises(ValueError, match=f"licence of the data must be an SPDX expression.*{why}"):
        check_licence("the data", expression)


def test_which_ask_for_names():
    assert asks_for_names(["MIT", "CC-BY-SA-4.0", "CC0-1.0", "ODC-By-1.0", "LicenseRef-CC-BY-2.0-FR"]) == [
        "CC-BY-SA-4.0",
        "ODC-By-1.0",
        "LicenseRef-CC-BY-2.0-FR",
    ]
