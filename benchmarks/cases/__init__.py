"""The cases of `benchmarks/run.py`. `cells(quick)` of a case lists what is measured.

A cell is a dict: `name`; `engines`, each a `harness.engine.Engine`; `pairs` of names, ours and a peer; `equal`, lists
of names whose values must agree, within `tolerance`; `unequal`, the share of a list's entries that may differ all the
same, and then its rows tell how many did; `before`, how often each engine works before it is timed; `about`, further
entries of its rows.
"""
