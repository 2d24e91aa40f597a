"""Sizes of files as people write them: bytes, kB, MB, GB (thousands), KiB, MiB, GiB (1024)."""

import argparse
import re

UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}


def size(text):
    """The number of bytes of an argument such as 5MB; a type for argparse."""
    found = re.fullmatch(r"\s*([0-9]{1,12}(?:\.[0-9]{1,6})?)\s*([A-Za-z]*)\s*", text)
    if not found or found[2].lower() not in UNITS:
        raise argparse.ArgumentTypeError(f"expected a size such as 500kB, 5MB or 1GiB; received {text!r}")
    return int(float(found[1]) * UNITS[found[2].lower()])


def shown(count):
    """A number of bytes as text.

    >>> from tools.sizes import shown
    >>> shown(0), shown(1234), shown(2_500_000)
    ('0.0 MB', '0.0 MB', '2.5 MB')
    """
    return f"{count / 1e6:,.1f} MB"
