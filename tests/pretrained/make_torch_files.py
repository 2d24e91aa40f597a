"""Files as torch writes them, for `make.py`; it needs torch, and no test does."""

import numpy as np
import torch


def torch_files(folder):
    """Both forms of torch.save, with views, halves, one tensor under two names and whole numbers."""
    whole = torch.arange(24, dtype=torch.float32).reshape(4, 6) / 7
    held = {"whole": whole, "turned": whole.T, "part": whole[1:3, 2:5], "again": whole, "scalar": torch.tensor(3.5)}
    held |= {"half": whole.half(), "brain": whole.bfloat16(), "numbers": torch.arange(5), "none": torch.zeros(0, 3)}
    held = torch.nn.Module.state_dict(torch.nn.Linear(2, 3)) | held  # an OrderedDict with notes of its own
    torch.save(held, folder / "new.bin")
    torch.save(held, folder / "old.bin", _use_new_zipfile_serialization=False)
    np.savez(folder / "right.npz", **{name: each.float().numpy() for name, each in held.items()})
