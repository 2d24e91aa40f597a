"""Other servers for `benchmarks/server_load.py`."""

PEERS = {}
