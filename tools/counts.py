"""Argument types for options of the command line."""

import argparse


def positive(text):
    """The `type` of an option that is a whole number of at least 1.

    Raises:
        argparse.ArgumentTypeError: the text is anything else; argparse adds the option's name and exits with status 2.
    """
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1, received {text!r}")
    return int(text)
