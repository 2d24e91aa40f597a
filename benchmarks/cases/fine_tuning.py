"""An update of a tagger that begins with the real all-MiniLM-L6-v2, against PyTorch with `transformers` and AdamW.

The recipe is what `seqzoo new tag --from` proposes, with a constant learning rate, because both must compute the same
losses. The sentences are those of the hub's pos-en, in the batches that our training makes, by length: PyTorch gets the
same batches, cut to their longest sentence. `Trainer` of `transformers` draws its batches from all lengths unless
`group_by_length` is set, and then has more padding to compute. The smoothing of the labels is the recipe's.
"""

import atexit
import shutil
import tempfile

from harness.engine import Engine

MODULE, PEERS, ENVIRONMENT = "cases.fine_tuning_engines", "cases.fine_tuning_peers", "imported"
BATCHES, RATE = 8, 2e-4


def cells(quick):
    """First one without dropout, in which the losses of the first updates must agree to one in a hundred."""
    return [_cell("no dropout", 0.0)] if quick else [_cell("no dropout", 0.0), _cell("dropout 0.1", 0.1)]


def _cell(name, dropout):
    home = tempfile.mkdtemp(prefix="fine-tuning-")
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    work = {"home": home, "dropout": dropout}
    own = [
        Engine(f"ours, {backend}", MODULE, "ours", work, variables={"KERAS_BACKEND": backend})
        for backend in ("tensorflow", "jax")
    ]
    peer = Engine("PyTorch", PEERS, "torch_eager", work, ENVIRONMENT)
    names = [each.name for each in (*own, peer)]
    return {
        "name": f"tagger on MiniLM, {name}",
        "engines": [*own, peer],
        "pairs": [(each.name, peer.name) for each in own],
        "equal": [names],
        # The first losses are equal to 1e-6. Then PyTorch also trains the vector of token types, which the import adds
        # to the positions, and so its losses fall a little faster. With dropout the masks differ, too.
        "tolerance": 0.01 if dropout == 0 else 0.3,
        "before": BATCHES,  # each shape of a batch is compiled once
        "about": {"dropout": dropout},
    }
