"""What the cases of `benchmarks/run.py` share: engines in processes of their own, and results by processor."""

import sys
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[2]))  # for `tools`, which a benchmark of its own may not see
