"""Licences are SPDX expressions, or it is said why not."""

import pytest

from serving.hub.licences import KNOWN, asks_for_names, check


@pytest.mark.parametrize(
    "expression",
    [
        *("CC-BY-4.0", "MIT OR Apache-2.0", "(MIT AND CC0-1.0) OR Apache-2.0", "LicenseRef-CC-BY-2.0-FR"),
        *("GPL-2.0-or-later WITH Classpath-exception-2.0", " MIT ", "EUPL-1.2+", "((MIT))"),
    ],
)
def test_what_is_an_expression_passes(expression):
    check("the data", expression)


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("", "it is empty"),
        (None, "it is empty"),
        ("CC BY 4.0", "'CC' is not an identifier"),
        ("cc-by-4.0", "CC-BY-4.0 is"),
        ("MIT Apache-2.0", "'Apache-2.0' stands where AND, OR or the end is expected"),
        ("MIT OR", "it ends where an identifier is expected"),
        ("OR MIT", "'OR' stands where an identifier is expected"),
        ("(MIT", "a parenthesis is not closed"),
        ("MIT)", "'\\)' stands where"),
        ("MIT WITH", "the name of an exception"),
        ("MIT; Apache-2.0", "';' is not part"),
        ("free", "'free' is not an identifier"),
        ("LicenseRef-", "not an identifier"),
        ("LicenseRef-a b", "'b' stands where"),
    ],
)
def test_what_is_none_is_refused_with_the_reason(expression, why):
    with pytest.raises(ValueError, match=f"licence of the data must be an SPDX expression.*{why}"):
        check("the data", expression)


def test_every_known_identifier_is_one():
    assert len(set(KNOWN)) == len(KNOWN)
    for each in KNOWN:
        check("the weights", each)


def test_which_ask_for_names():
    assert asks_for_names(["MIT", "CC-BY-SA-4.0", "CC0-1.0", "ODC-By-1.0", "LicenseRef-CC-BY-2.0-FR"]) == [
        "CC-BY-SA-4.0",
        "ODC-By-1.0",
        "LicenseRef-CC-BY-2.0-FR",
    ]
