"""As a program on JAX: what docs/collectives.py measures of small recipes, a line of JSON each."""

import json
import sys

from tests.house_rules import ROOT
from zoo import recipes
from zoo.core import devices

sys.path.append(str(ROOT / "docs"))

SMALL = {
    "dates-gru-additive": ["model.units=8", "data.train_size=200", "data.valid_size=20", "text.vocab_size=300"],
    "tinyshakespeare-transformer-pre-norm": ["model.units=8", "model.hidden_units=16", "model.num_layers=1"],
    "gutenberg-9-reformer": [
        *("model.units=8", "model.hidden_units=16", "model.num_layers=2", "model.context=32", "training.batch_size=2"),
        *("attention.chunk_length=4", "attention.num_buckets=4"),
    ],
    "gutenberg-9-product-key": [
        *("model.units=32", "model.hidden_units=16", "model.context=16", "training.batch_size=2"),
        *("feedforward.num_keys=8", "feedforward.query_dim=4", "feedforward.k=8"),
    ],
}


def main():
    from collectives import measure

    for name, changes in SMALL.items():
        recipe = recipes.load(name, changes)
        devices.start(2, recipe.training)
        print(json.dumps(measure(recipe)))


if __name__ == "__main__":
    main()
