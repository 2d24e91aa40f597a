"""Licences as SPDX expressions (https://spdx.github.io/spdx-spec/v3.0.1/annexes/spdx-license-expressions/).

The list has the identifiers that occur for weights and for data of this kind; what is not among them is written as
`LicenseRef-NAME`, and the card then has to say where its text is.
"""

import difflib
import re

KNOWN = """
0BSD AFL-3.0 AGPL-3.0-only AGPL-3.0-or-later Apache-2.0 Artistic-2.0 BSD-2-Clause BSD-3-Clause BSL-1.0
CC-BY-2.0 CC-BY-2.5 CC-BY-3.0 CC-BY-4.0 CC-BY-NC-2.0 CC-BY-NC-3.0 CC-BY-NC-4.0
CC-BY-NC-ND-3.0 CC-BY-NC-ND-4.0 CC-BY-NC-SA-2.0 CC-BY-NC-SA-3.0 CC-BY-NC-SA-4.0 CC-BY-ND-3.0 CC-BY-ND-4.0
CC-BY-SA-2.0 CC-BY-SA-2.5 CC-BY-SA-3.0 CC-BY-SA-4.0 CC-PDDC CC0-1.0
CDLA-Permissive-1.0 CDLA-Permissive-2.0 CDLA-Sharing-1.0 ECL-2.0 EPL-2.0 EUPL-1.2 GFDL-1.3-only GFDL-1.3-or-later
GPL-2.0-only GPL-2.0-or-later GPL-3.0-only GPL-3.0-or-later ISC LGPL-2.1-only LGPL-2.1-or-later LGPL-3.0-only
LGPL-3.0-or-later MIT MIT-0 MPL-2.0 ODC-By-1.0 ODbL-1.0 OFL-1.1 PDDL-1.0 PSF-2.0 Python-2.0 Unicode-3.0
Unicode-DFS-2016 Unlicense W3C Zlib
""".split()
OWN = re.compile(r"LicenseRef-[A-Za-z0-9.-]+")
TOKEN = re.compile(r"\s*([()]|[A-Za-z0-9.+-]+)")
JOINED = ("AND", "OR")
CREDITED = re.compile(r"(?:LicenseRef-)?CC-BY|ODC-By", re.IGNORECASE)  # these ask for the names of the authors


def check(what, expression):
    """Refuse what is no SPDX expression.

    Args:
        what: of what it is the licence, for the message.
        expression: such as "CC-BY-4.0" or "MIT OR Apache-2.0".

    Raises:
        ValueError: the expression is not well formed, or has an identifier that is not known.
    """
    try:
        _parse(expression)
    except _Wrong as wrong:
        raise ValueError(
            f"The licence of {what} must be an SPDX expression, such as CC-BY-4.0, CC0-1.0 or MIT OR Apache-2.0; "
            f"received {expression!r}: {wrong}. Write a licence without an identifier as LicenseRef-NAME, and say in "
            "the attribution where its text is."
        ) from None


def asks_for_names(expressions):
    """Those of the expressions that ask for attribution."""
    return [each for each in expressions if CREDITED.search(each)]


class _Wrong(ValueError):
    """Why an expression is none."""


def _parse(expression):
    tokens, place = [], 0
    text = expression.strip() if isinstance(expression, str) else ""
    while place < len(text):
        found = TOKEN.match(text, place)
        if not found:
            raise _Wrong(f"{text[place]!r} is not part of an identifier")
        tokens.append(found[1])
        place = found.end()
    if not tokens:
        raise _Wrong("it is empty")
    rest = _expression(tokens)
    if rest:
        raise _Wrong(f"{rest[0]!r} stands where AND, OR or the end is expected")


def _expression(tokens):
    """What is left of the tokens behind an expression."""
    rest = _term(tokens)
    while rest[:1] and rest[0] in JOINED:
        rest = _term(rest[1:])
    return rest


def _term(tokens):
    if not tokens:
        raise _Wrong("it ends where an identifier is expected")
    first, *rest = tokens
    if first == "(":
        rest = _expression(rest)
        if rest[:1] != [")"]:
            raise _Wrong("a parenthesis is not closed")
        return rest[1:]
    if first in (")", *JOINED, "WITH"):
        raise _Wrong(f"{first!r} stands where an identifier is expected")
    if first.removesuffix("+") not in KNOWN and not OWN.fullmatch(first):
        near = difflib.get_close_matches(first.lower(), [each.lower() for each in KNOWN], n=1, cutoff=0.6)
        proper = next((each for each in KNOWN if [each.lower()] == near), None)
        raise _Wrong(f"{first!r} is not an identifier of SPDX that is known here" + (f", {proper} is" if near else ""))
    if rest[:1] == ["WITH"]:
        if not rest[1:]:
            raise _Wrong("it ends where the name of an exception is expected")
        return rest[2:]
    return rest
