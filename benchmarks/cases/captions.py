"""Captions from strings to strings by a Transformer of 512 units, with the engines and the searches of `cases.energy`.

Its sentences have the lengths of real ones, because it is trained, for 22 minutes of one core: its quality does not
matter. The artefact is not in this checkout. With Multi30k's files in DIR, from the folder `build/captions`:

    seqzoo train multi30k-de-en-transformer-pre-norm --data DIR --out run --set model.units=512 \\
        --set model.hidden_units=2048 --set model.num_heads=8 --set model.num_layers=3 --set training.steps=1000 \\
        --set training.learning_rate=0.0008 --set training.warmup=120 --set training.validate_every=500
    seqzoo export run --out exported && mv exported/*/1 artefact
    zcat DIR/test_2016_flickr.de.gz > texts.txt
"""

from harness.processor import ROOT

from cases.energy import cell, summary

__all__ = ["cells", "summary"]
HOME = ROOT / "build" / "captions"
SENTENCES = 128


def cells(quick):
    """What is exported stays in the folder."""
    model = HOME / "artefact"
    if not model.exists():
        raise SystemExit(f"There is no {model} yet; the head of {__file__} has the commands that make it.")
    if quick:
        return [cell(HOME, model, 0.0, 32, SENTENCES, tensorflow=False)]
    return [cell(HOME, model, alpha, batch, SENTENCES, tensorflow=False) for alpha in (0.0, 0.6) for batch in (32, 1)]
