"""A recipe that trains in seconds, with texts of two letters."""

from zoo import recipes

SETTINGS = {
    "name": "small",
    "system": "recurrent",
    "task": "reversal",
    "description": "A test.",
    "data": "reversal",
    "train_size": 60,
    "valid_size": 7,
    "test_size": 11,
    "longest": 5,
    "source_vocab_size": 31,
    "target_vocab_size": 31,
    "source_pieces": "word",
    "target_pieces": "word",
    "units": 5,
    "batch_size": 8,
    "num_buckets": 1,
    "steps": 4,
    "validate_every": 2,
    "average": 2,
    "beam": 2,
    "max_output_length": 6,
}


def recipe(**changes):
    return recipes.make(SETTINGS | changes)
