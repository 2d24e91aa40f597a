"""Child of test_resume: trains to the end in one directory, dies in another, or resumes there."""

import sys
from pathlib import Path

from tests.training import tiny

if __name__ == "__main__":
    root, phase, step = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    if phase == "die":
        model, _ = tiny.train(root / "whole")
        tiny.dump(root / "whole.npz", model)
        tiny.train(root / "parts", tiny.Murderous(0, at=step))
    model, _ = tiny.train(root / "parts", resume=True)
    tiny.dump(root / "parts.npz", model)
