"""The part of a page that a program writes anew, between two lines that name the program."""


def written(text, program, content, page):
    """The text of a page with new content in its part.

    Args:
        text: the page as it is.
        program: what writes it, such as "docs/models.py".
        content: what is to stand between the two lines.
        page: what an error calls the page.

    Raises:
        ValueError: the page has no such part.
    """
    begin, end = f"<!-- python {program} writes what follows -->", f"<!-- the end of what python {program} writes -->"
    before, first, rest = text.partition(f"{begin}\n")
    _, last, after = rest.partition(f"{end}\n")
    if not (first and last):
        raise ValueError(f"{page} has no place for the table: expected the lines {begin} and {end}.")
    return before + first + content + last + after
