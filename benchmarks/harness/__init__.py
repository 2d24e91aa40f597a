"""What the cases of `benchmarks/run.py` share: engines in processes of their own, and results by processor."""
