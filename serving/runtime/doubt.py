"""Warnings about doubtful answers: pieces that no tokenizer knows, circles, and an end at the bound.

It needs only the standard library. A TensorFlow graph has the same rules in `serving.export.gate`, and a browser in
`serving/gallery/page/engine/doubt.js`.
"""

from dataclasses import replace
from numbers import Real

TIMES, LEAST = 3, 5  # a circle is a sequence of pieces at least 3 times in a row, 5 pieces or more together
IN_CIRCLES, BOUNDED = "the answer goes in circles", "the answer ends at the bound"  # how two warnings begin
SEPARATOR = "; "  # between the warnings about one text


def unknown_warning(count, pieces):
    """The warning about a text of which the tokenizer does not know `count` of the pieces."""
    return f"{count} of {pieces} pieces of the text are unknown to the model"


def circle_warning(size):
    """The warning about an answer in which the same pieces, so many of them, follow each other again and again."""
    return f"{IN_CIRCLES}: its pieces repeat with a period of {size}"


def bound_warning(most):
    """The warning about an answer that is as long as it may be."""
    return f"{BOUNDED} of {most} pieces"


def unlike_warning(share):
    """The warning about a text whose pieces are rarer than those of such a share of the validation's texts."""
    rarer = f"its pieces are rarer than in {_of_validation(share)}"
    return f"the text is unlike those that the model was validated on: {rarer}"


def longer_warning(pieces, most):
    """The warning about a text of more pieces than any of the validation had."""
    return f"the text has {pieces} pieces, more than the {most} of the longest that the model was validated on"


def unsure_warning(confidence, share):
    """The warning about an answer of less confidence than such a share of the answers to the validation had."""
    return f"the model is unsure: its confidence is {confidence:.2f}, lower than in {_of_validation(share)}"


def beyond_warning(rating, low, high):
    """The warning about a rating that is lower or higher than all of the validation's."""
    rating, low, high = (f"{float(f'{each:.4g}'):g}" for each in (rating, low, high))
    return f"the rating is {rating}, beyond the {low} to {high} of the validation"


def check_least(least, kind, name):
    """Refuse a `min_confidence` that is none, or that a model of this kind cannot have.

    Raises:
        ValueError: it is not from 0 to 1, or the answers have no confidence.
    """
    if not isinstance(least, Real) or not 0 <= least <= 1:
        raise ValueError(f"min_confidence is a number from 0 to 1; received {least!r}.")
    if not kind.has_confidence:
        raise ValueError(
            f"{name} is of kind {kind.name!r}, whose answers have no confidence. Leave min_confidence "
            "(--min-confidence) out."
        )


def refuse_unsure(kind, results, least):
    """The results, but an error in the place of answers of a lower confidence than `least`."""
    return [
        replace(
            kind.blank(),
            error=f"the model is not sure enough: its confidence is {result.confidence:g}, and at least {least:g} is "
            "asked for",
            warning=result.warning,
        )
        if result.confidence is not None and result.confidence < least
        else result
        for result in results
    ]


def _of_validation(share):
    return f"{100 * share:.1f} % of the validation"


def join(*warnings):
    """Several warnings as one; None if there is none."""
    return SEPARATOR.join(filter(None, warnings)) or None


def add_doubts(reading, written, most=None):
    """The reading of a text with the warnings about its answer: the ids `written`, `most` of them at most.

    A model that continues a prompt has no `most`: that it goes on to the end is what it is asked for.
    """
    size = circle_size(written)
    is_cut = most is not None and len(written) >= most
    warning = join(reading.warning, size and circle_warning(size), bound_warning(most) if is_cut else None)
    return replace(reading, warning=warning)


def circle_size(ids):
    """The smallest number of pieces that follow each other again and again somewhere in `ids`, or None.

    Pieces go in circles of n where a sequence of n stands at least three times in a row, and these are five pieces or
    more: three times n pieces, or five, each equal to the piece n places before it, but for the first n.

    >>> from serving.runtime.doubt import circle_size
    >>> circle_size([5, 7, 8, 7, 8, 7, 8]), circle_size([7, 7, 7, 7])
    (2, None)
    """
    for size in range(1, len(ids) // TIMES + 1):
        run, needed = 0, max(TIMES * size, LEAST) - size
        for place in range(size, len(ids)):
            run = run + 1 if ids[place] == ids[place - size] else 0
            if run == needed:
                return size
    return None
