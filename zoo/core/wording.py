"""Words of messages; imports nothing."""


def quantity(count: int, noun: str) -> str:
    """A number with its noun: "1 word", "2,000 words"."""
    return f"{count:,} {noun}{'s' * (count != 1)}"
