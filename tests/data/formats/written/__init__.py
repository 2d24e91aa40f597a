"""Files as other tools write them; `make.py` says how."""
