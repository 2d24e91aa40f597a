"""What heads look at: where the cross-attention of a trained Transformer of dates looks while it writes each part."""

import re
from pathlib import Path

import numpy as np

MODEL, DATES = "dates-pre-norm", 200
PARTS = {"year": slice(0, 4), "month": slice(5, 7), "day": slice(8, 10)}  # of what is written, such as 1999-03-21
SOURCES = ("year", "month", "day", "end")
WHOLE = re.compile(r"(?P<day>\d{1,2})(?:st|nd|rd|th|\.)? (?P<month>[^\W\d_]{3,})\.? (?P<year>\d{4})")


def measure():
    """The mean share of a head's weight on each part of the source, by the part that is written."""
    import sentencepiece
    from keras import ops

    import zoo

    folder = zoo.path(MODEL)
    folder = folder if Path(folder).is_dir() else Path(folder).parent
    pieces = [sentencepiece.SentencePieceProcessor(str(Path(folder) / f"{side}.spm")) for side in ("source", "target")]
    model = zoo.load(MODEL)
    texts = [text for text in read(folder) if WHOLE.fullmatch(text[0])][:DATES]
    rows = []
    for source, written in texts:
        ids, kinds = tokens(source, pieces[0])
        target = [2, *pieces[1].encode(written)]
        batch = {"source_ids": [ids], "source_lengths": [len(ids)], "target_ids": [target]}
        batch = {name: ops.convert_to_tensor(np.array(value, "int32")) for name, value in batch.items()}
        begin = len(target) - 1 - len(written)  # of a piece before the first character, if there is one
        weights = cross_weights(model, batch)[:, begin : begin + len(written)]
        rows.append([[on(weights[:, part], kinds, kind) for kind in SOURCES] for part in PARTS.values()])
    # Heads, parts that are written, parts of the source.
    shares = 100 * np.transpose(np.mean(rows, axis=0, dtype=float), (2, 0, 1))
    return {"model": MODEL, "dates": len(rows), "shares": shares.round(2).tolist()}


def on(weights, kinds, kind):
    """The mean weight of each head on the pieces of a kind: `(heads,)`."""
    return weights[:, :, np.array(kinds) == kind].sum(-1).mean(-1)


def read(folder):
    """(what was asked, the date that it is) of the texts that the model was scored with."""
    import gzip
    import json

    with gzip.open(Path(folder) / "outputs.jsonl.gz", "rt", encoding="utf-8") as file:
        return [(row["input"], row["reference"]) for row in map(json.loads, file) if row["output"] == row["reference"]]


def tokens(text, pieces):
    """(ids with the end, the kind of each): a piece is of the part of the date that most of its characters are of."""
    found, at, kinds = WHOLE.fullmatch(text), 0, []
    ids = pieces.encode(text)
    for piece in pieces.id_to_piece(ids):
        letters = piece.replace("▁", "")
        start = text.find(letters, at) if letters else at
        middle = start + len(letters) / 2
        at = start + len(letters)
        parts = (name for name in PARTS if letters and found.start(name) <= middle <= found.end(name))
        kinds.append(next(parts, ""))
    return [*ids, 3], [*kinds, "end"]


def cross_weights(model, batch):
    """`(heads of all blocks, time, source time)` of the decoder's cross-attention."""
    from keras import ops

    kept = []
    for block in model.decoder.blocks:
        layer = block.cross_attention

        def mix(query, key, value, value_mask=None, causal=False, layer=layer):
            weights = layer._weights(layer.split_heads(query), layer.split_heads(key), None)
            kept.append(ops.convert_to_numpy(weights)[0])
            return layer.join_heads(ops.matmul(weights, layer.split_heads(value)))

        object.__setattr__(layer, "mix_all", mix)
    model(batch)
    return np.concatenate(kept)


def draw(found):
    from matplotlib import pyplot as plt

    shares = np.array(found["shares"])
    figure, panels = plt.subplots(1, 3, figsize=(4.0, 3.0), layout="constrained", sharey=True)
    for part, (name, axes) in enumerate(zip(PARTS, panels, strict=True)):
        image = axes.imshow(shares[:, part], cmap="Blues", vmin=0, vmax=100, aspect="auto")
        axes.set_title(f"writing the\n{name}", loc="left")
        axes.set_xticks(range(len(SOURCES)), SOURCES, rotation=90)
        axes.spines[["right", "top"]].set_visible(True)
    heads = len(shares) // 2
    panels[0].set_yticks(range(2 * heads), [f"{block}.{head + 1}" for block in (1, 2) for head in range(heads)])
    panels[0].set_ylabel("head (block.head)")
    figure.colorbar(image, ax=panels, label="% of the weight on", shrink=0.9)
    return figure


def says(found):
    shares = np.array(found["shares"])
    most = [shares[:, place, place].max() for place in range(3)]
    others = [shares[6, 0, 3], shares[7, 1, 3], shares[2, 2, 0]]  # 2.3 and 2.4 at the end, 1.3 at the year
    return [str(found["dates"]), *(f"{share:.0f} %" for share in (*most, *others))]
