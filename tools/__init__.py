"""The command line: thin shells over zoo and serving."""
