"""Two texts as one line, the input in Python and on the command line of an artefact that reads pairs."""

PAIR = ("first_text", "second_text")  # the inputs of `serving_default`
PLACES = "first text: ", "second text: "  # before an error or a warning about one of the two


def pair(text):
    """`(first, second)` of "first TAB second".

    Raises:
        ValueError: the text does not have exactly one TAB.
    """
    count = text.count("\t")
    if count != 1:
        raise ValueError(
            f"A pair is two texts with one TAB between them; received {count} TABs in {text[:80]!r}. "
            "Put one TAB between the first text and the second."
        )
    return tuple(text.split("\t"))
