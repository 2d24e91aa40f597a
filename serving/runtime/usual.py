"""What is usual for a model: what its texts and answers were like when it was validated. Others have a warning.

The manifest has these bounds under `usual`, which an export measures (`serving.export.measuring`):

    familiarity   sum of log p(piece) / characters of a text, p where the pieces were learnt: a text of another language
                  or about something else is made of rarer pieces, and of more of them; the mean of all texts
    spread        how far below the mean a text may be, times the square root of the number of its pieces: the mean of
                  few pieces varies more than that of many, and "Yes." is no unusual text
    pieces        the number of them in the longest text
    confidence    of an answer
    ratings       the lowest and the highest rating of a model that rates

Of the validation's texts, a share of `SHARE` has a familiarity below both, and a share of `SHARE` a lower confidence.
Without a spread `familiarity` is the bound of texts of any length. Texts of fewer than `FEWEST`
pieces are not judged.
"""

import math
import statistics
from dataclasses import replace

from serving.kinds.rate import Rating
from serving.runtime import doubt
from serving.runtime.reading import is_blank

SHARE = 0.015
FEWEST = 8  # pieces that tell what a text is like: "zoo" and "quick" have rare letters, and are English


def familiarity(reading, log_probabilities):
    """How common the pieces of a text are, as the log-probability of a character; None of a text without any."""
    return sum(map(log_probabilities.__getitem__, reading.ids)) / len(reading.text) if reading.text else None


def warn_unusual(reading, usual, log_probabilities):
    """The reading of a text, with warnings if the text is unlike those that validated the model.

    Args:
        reading: a `serving.runtime.reading.Reading`.
        usual: the bounds of the manifest.
        log_probabilities: of each piece of the tokenizer.
    """
    if reading.error or is_blank(reading.text):
        return reading
    pieces, most = len(reading.ids) - reading.around, usual.get("pieces")
    distance = deviation(familiarity(reading, log_probabilities), pieces, usual["familiarity"])
    rare = pieces >= FEWEST and distance < -usual.get("spread", 0)
    warning = doubt.join(
        rare and doubt.unlike_warning(1 - SHARE), most and pieces > most and doubt.longer_warning(pieces, most)
    )
    return replace(reading, warning=doubt.join(reading.warning, warning)) if warning else reading


def warn_answer(result, usual):
    """The result, with a warning if the model is less sure of it than of nearly all answers to the validation, or if it
    is a rating beyond all of theirs."""
    least, confidence = usual.get("confidence"), result.confidence
    unsure = None not in (least, confidence) and confidence < least and doubt.unsure_warning(confidence, 1 - SHARE)
    rating = result.rating if isinstance(result, Rating) and "ratings" in usual else None
    low, high = usual.get("ratings", (None, None))
    beyond = rating is not None and not low <= rating <= high and doubt.beyond_warning(rating, low, high)
    if result.error or not (unsure or beyond):
        return result
    return replace(result, warning=doubt.join(result.warning, unsure, beyond))


def deviation(familiarity, pieces, mean):
    """How far the familiarity of so many pieces is from the mean, in units in which all lengths vary alike."""
    return (familiarity - mean) * math.sqrt(pieces)


def bounds(familiarities, pieces, confidences=None):
    """The bounds of the manifest, from what was measured of each text; without `confidences` none of length either."""
    mean = statistics.fmean(familiarities)
    distances = [deviation(*each, mean) for each in zip(familiarities, pieces, strict=True)]
    limits = {"texts": len(distances), "familiarity": mean, "spread": max(0.0, -lowest(distances))}
    if confidences is None:
        return limits
    return limits | {"pieces": max(pieces)} | ({"confidence": lowest(confidences)} if confidences else {})


def lowest(values):
    """The number that a share of `SHARE` of the values lies below."""
    return sorted(values)[int(SHARE * len(values))]
