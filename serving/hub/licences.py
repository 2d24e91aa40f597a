"""Licences as SPDX expressions (https://spdx.github.io/spdx-spec/v3.0.1/annexes/spdx-license-expressions/)."""

import re

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

CREDITED = re.compile(r"(?:LicenseRef-)?CC-BY|ODC-By", re.IGNORECASE)  # these ask for the names of the authors


def check(what, expression):
    """Refuse what is no SPDX expression.

    Args:
        what: of what it is the licence, for the message.
        expression: such as "CC-BY-4.0" or "MIT OR Apache-2.0".

    Raises:
        ValueError: the expression is not well formed, has an unknown identifier, or is spelled otherwise than in SPDX.
    """
    try:
        proper = canonicalize_license_expression(expression or "")
        why = None if "".join(proper.split()) == "".join(expression.split()) else f"SPDX writes {proper}"
    except InvalidLicenseExpression as error:
        why = str(error)
    if why:
        raise ValueError(
            f"The licence of {what} must be an SPDX expression, such as CC-BY-4.0, CC0-1.0 or MIT OR Apache-2.0; "
            f"received {expression!r}: {why}. Write a licence without an identifier as LicenseRef-NAME, and say in "
            "the attribution where its text is."
        )


def asks_for_names(expressions):
    """Those of the expressions that ask for attribution."""
    return [each for each in expressions if CREDITED.search(each)]
