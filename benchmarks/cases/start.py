"""How long one answer takes from nothing, and what it needs: `seqzoo run`, hashes checked, against the least.

The peer is the least that any program would do: Python that imports NumPy, ONNX Runtime and SentencePiece, and opens
the same graph and tokenizers without looking at their hashes. Seconds and memory are those of the whole process.
"""

from harness.engine import Engine

MODULE = "cases.start_engines"


def cells(quick):
    texts = [["3. März 2021"]] if quick else [["3. März 2021"], ["3. März 2021"] * 100]
    found = [_cell(f"seqzoo run dates, texts: {len(each)}", "run", "bare", {"texts": each}) for each in texts]
    return (
        found
        if quick
        else [*found, _cell("import zoo", "imported", "imported", {"module": "zoo"}, {"module": "keras"})]
    )


def _cell(name, ours, peer, settings, other=None):
    engines = [
        Engine("ours", MODULE, ours, settings),
        Engine("the least", MODULE, peer, settings if other is None else other),
    ]
    equal = [["ours", "the least"]] if other is None else []
    return {"name": name, "engines": engines, "pairs": [("ours", "the least")], "equal": equal, "before": 1}
