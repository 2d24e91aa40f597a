"""Numbers as options of the command line."""

import argparse


def positive(text):
    """A whole number of at least 1, as the `type` of an option.

    Raises:
        argparse.ArgumentTypeError: anything else; argparse names the option and exits with status 2.
    """
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1, received {text!r}")
    return int(text)
