"""Child of test_carried: trains to the end, and in two parts; the second has nothing of the first but one file."""

import os
import shutil
import signal
import sys
from pathlib import Path

import keras

from tests.recipes.small import recipe, write_corpus
from zoo import recipes, runs
from zoo.recipes.folder import resume_from
from zoo.training import Interrupted, checkpoint_path

CASES = {  # the kind of recipe, and its settings
    "classifier": ("training.ema=0.9", "training.parts=2"),
    "seq2seq": (),
}
STEPS = ("training.steps=9", "training.validate_every=3", "training.checkpoint_every=2", "training.log_every=1")
STOPPED = 7


class Stop(keras.callbacks.Callback):
    """Presses Ctrl-C after so many updates."""

    def __init__(self):
        super().__init__()
        self.updates = 0

    def on_train_batch_end(self, batch, logs=None):
        self.updates += 1
        if self.updates == STOPPED:
            os.kill(os.getpid(), signal.SIGINT)


def main(root, kind):
    """`root/whole` and `root/there` are runs, `root/carried.npz` is all that is left of a third."""
    one = recipe(kind, *STEPS, *CASES[kind])
    data = write_corpus(one, root / "data")
    runs.train(one, root / "whole", data, log=len)
    try:
        runs.train(one, root / "here", data, callbacks=[Stop()], log=len)
    except Interrupted as stop:
        assert stop.step == STOPPED
    shutil.move(checkpoint_path(root / "here"), root / "carried.npz")
    shutil.rmtree(root / "here")
    file, there = root / "carried.npz", root / "there"
    again = recipes.load_for_training(file)
    assert again == one
    runs.train(again, there, data, resume=resume_from(file, there, False), log=len)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
