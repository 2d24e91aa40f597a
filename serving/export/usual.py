"""Measures what is usual for a model, by the texts that validate it: the bounds of `serving.runtime.usual`."""

import re

from serving.kinds.rate import Rating
from serving.runtime import Runtime
from serving.runtime.loaded import Loaded
from serving.runtime.reading import is_answered
from serving.runtime.usual import bounds, familiarity

READ, ENOUGH = 2000, 100  # texts: the most that are read, and the fewest that tell a share of them
ANSWERED, LARGE = 500, 100  # texts that are answered; of a large network
PROMPTS = (8, 16, 32, 64)  # characters


def measure(directory, texts, large=False):
    """The bounds of the manifest.

    Args:
        directory: an artefact, whose manifest has no bounds yet.
        texts: those that validate, a line each.
        large: whether the network is so large that few texts are answered.
    """
    loaded = Loaded(directory, None, "float32", verify=False)
    kind, common = loaded.kind, loaded.source.log_probabilities
    sides = len(kind.sides(loaded.manifest))
    parts = [part for text in texts for part in text.split("\t", sides - 1)]
    parts += beginnings(texts) if kind.prompts else []
    cut = {"words": "spaces"} if kind.by_words else {}  # data have their words cut
    all_readings = loaded.read_words(parts, *cut.values()) if kind.by_words else loaded.read(parts, not kind.prompts)
    readings = [each for each in all_readings if is_answered(each)]
    familiarities = [familiarity(each, common) for each in readings]
    pieces = [len(each.ids) - each.around for each in readings]
    if kind.prompts:  # what goes on from them is written by chance
        return bounds(familiarities, pieces) | {"texts": len(texts)}
    answers = Runtime(directory, precision="float32", verify=False).run(
        spread(texts, LARGE if large else ANSWERED), **cut
    )
    confidences = [each.confidence for each in answers if each.confidence is not None and not each.error]
    ratings = [each.rating for each in answers if isinstance(each, Rating) and each.rating is not None]
    return bounds(familiarities, pieces, confidences) | ({"ratings": [min(ratings), max(ratings)]} if ratings else {})


def beginnings(texts):
    """What a prompt may be: the first pieces of a line, whose names and headings are rarer than what is within."""
    lines = [text[place.end() :] for text in texts for place in re.finditer("\n+", text)]
    return [line[:size] for line in lines for size in PROMPTS if len(line) >= size]


def spread(texts, most):
    """At most so many of the texts, from the beginning to the end, for a file may be sorted."""
    return texts[:: -(-len(texts) // most) or 1]
