"""Child of test_resume and test_writer: trains to the end in one directory, is stopped and dies in others, or resumes
there."""

import contextlib
import os
import signal
import sys
from pathlib import Path

from tests.training import tiny
from zoo.core import array_files
from zoo.core.storage import write_atomically
from zoo.training import Interrupted, SmoothedCrossEntropy, fit, make_steps


def die_writing(step):
    """From now on, this process is killed in the middle of the write of a checkpoint."""
    save = array_files.save

    def half(file):
        file.write(b"half a checkpoint")
        file.flush()
        os.kill(os.getpid(), signal.SIGKILL)

    def write(path, arrays):
        if f'"step": {step},' in str(arrays.get("state.json", "")):
            write_atomically(path, half)
        save(path, arrays)

    array_files.save = write


if __name__ == "__main__":
    root, phase, step = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a process in the background ignores
    if phase != "resume":
        model, _ = tiny.train(root / "whole")
        tiny.dump(root / "whole.npz", model)
    if phase == "die-writing":
        die_writing(step)
        tiny.train(root / "parts")
    if phase == "die":
        steps = make_steps(tiny.ByName(), tiny.make_optimizer(), SmoothedCrossEntropy(0.1))
        for resume, batches in ((False, tiny.Interrupted(0, at=step - 2)), (True, tiny.Batches(0))):
            with contextlib.suppress(Interrupted):
                fit(steps, batches, tiny.Batches(9), tiny.PLAN, root / "stopped", resume)
            tiny.dump(root / f"stopped-{resume}.npz", steps.model)
        tiny.train(root / "parts", tiny.Murderous(0, at=step))
    model, _ = tiny.train(root / "parts", resume=True)
    tiny.dump(root / "parts.npz", model)
