"""Seeded outputs and references, of which other libraries' scores are recorded in the tests."""

import random

WORDS = "the a dog cat in on snow runs two men , . near house".split()


def tag_sentences(seed, prefixes, count=30):
    """(outputs, references): lists of strings of random tags, four fifths of them equal."""
    draw = random.Random(seed)
    tags = ["O", *(f"{prefix}-{kind}" for prefix in prefixes for kind in ("PER", "LOC"))]
    outputs, references = [], []
    for _ in range(count):
        reference = [draw.choice(tags) for _ in range(draw.randint(1, 12))]
        references.append(" ".join(reference))
        outputs.append(" ".join(tag if draw.random() < 0.8 else draw.choice(tags) for tag in reference))
    return outputs, references


def labels(seed, kinds=5, count=60, right=0.6):
    """(outputs, references): lists of labels."""
    draw = random.Random(seed)
    names = [f"l{number}" for number in range(kinds)]
    references = [draw.choice(names) for _ in range(count)]
    return [name if draw.random() < right else draw.choice(names) for name in references], references


def sentences(seed, count=40):
    """(outputs, references): lists of strings of English words."""
    draw = random.Random(seed)
    references = [" ".join(draw.choice(WORDS) for _ in range(draw.randint(3, 20))) for _ in range(count)]
    outputs = [
        " ".join(word if draw.random() < 0.7 else draw.choice(WORDS) for word in line.split()[: draw.randint(1, 25)])
        for line in references
    ]
    return outputs, references
