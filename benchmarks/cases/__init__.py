"""The cases of `benchmarks/run.py`. `cells(quick)` of a case lists what is measured.

A cell is a dict: `name`; `engines`, each a `harness.engine.Engine`; `pairs` of names, ours and a peer; `equal`, lists
of names whose values must agree, within `tolerance`; `before`, how often each engine works before it is timed;
`about`, further entries of its rows.
"""
