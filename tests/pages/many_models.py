"""An index of a hub with thirty models of several tasks, drawn at random: what docs/models.py is tested with.

`python -m tests.pages.many_models DIR` writes one.
"""

import random
import sys

from tests.hub import tiny

CELLS = ("simple-rnn", "gru-none", "gru-additive", "gru-dot", "lstm-additive", "self-attentive")
LAYERED = ("post-norm", "pre-norm", "macaron", "universal", "depth-adaptive", "product-key", "reformer")
SYSTEMS = {  # the beginning of the names -> task, kind, languages, score, where it lies, names' ends
    "pronounce-hu": ("transduce", "generate", ["hu"], "wer", (6, 16), ("", *CELLS[:3], *LAYERED[:5])),
    "translate-en-zh": ("translate", "generate", ["en", "zh"], "bleu", (22, 30), (*CELLS[3:], *LAYERED[:5])),
    "shakespeare": (
        "continue",
        "continue",
        ["en"],
        "nats_per_character",
        (1.7, 2.3),
        ("", "tensorized", "reformer", "x"),
    ),
    "pos-en": ("tag", "tag", ["en"], "accuracy", (93, 95), ("", "star")),
    "intents-en": ("classify", "classify", ["en"], "accuracy", (84, 90), ("",)),
    "pronounce-hy": ("transduce", "generate", ["hy"], "wer", (12, 14), ("",)),
    "pronounce-ko": ("transduce", "generate", ["ko"], "wer", (15, 30), ("",)),
    "babi": ("classify", "classify", ["en"], "accuracy", (95, 100), ("1", "2", "3")),
    "dates": ("translate", "generate", ["de", "en", "fr", "ru", "zh"], "exact_match", (99.9, 100), ("",)),
}
DATA = {"pronounce": "WikiPron", "translate": "Tatoeba | en-zh", "pos": "EWT", "intents": "CLINC150", "babi": "bAbI"}


def entries(seed=7):
    """Entries of the index; one model is withdrawn, one has two versions, one was not timed, two are of another
    processor, one has no score."""
    draw = random.Random(seed)
    made = []
    for base, (task, kind, languages, score, (low, high), ends) in SYSTEMS.items():
        for end in ends:
            value, size = draw.uniform(low, high), draw.randint(300_000, 9_000_000)
            half = draw.uniform(0.02, 0.1) * (high - low) * 2
            interval = [max(value - half, 0), min(value + half, 100)]
            entry = tiny.entry("-".join(filter(None, (base, end))), task=task, kind=kind, languages=languages)
            entry |= {"data": DATA.get(base.split("-")[0], base), "parameters": size // 2, "int8": draw.random() < 0.7}
            entry["description"] = f"A model of\n{base}, one | of <many>."
            files = {"manifest.json": 900, "source.spm": 9_000, "model.int8.onnx": size, "model.onnx": 3 * size}
            entry |= {"bytes": files, "files": dict.fromkeys(files, "0" * 64)}
            entry["scores"] = {"count": 450, "per": 1.5, score: value, f"{score}_interval": interval}
            if task == "continue":  # the windows of its text are as long as its context
                entry["scores"] |= {"count": draw.randint(10, 99), "characters": 450}
            entry["speed"] = {"milliseconds": draw.uniform(2, 60), "batch": 1, "precision": "int8", "processor": "A"}
            made.append(entry)
    named = {each["name"]: each for each in made}
    named["pronounce-hu-universal"]["withdrawn"] = "It was trained on its test set."
    named["pronounce-hu-pre-norm"]["speed"] = None
    named["pronounce-hu-macaron"]["speed"] |= {"processor": "B"}
    named["dates"]["speed"] |= {"processor": "B"}
    named["pos-en-star"]["scores"] = {}
    del named["translate-en-zh-macaron"]["scores"]["bleu_interval"]
    older = named["intents-en"] | {"scores": {"accuracy": 11.0}}
    named["intents-en"]["version"] = 2
    return [older, *made]


if __name__ == "__main__":
    tiny.write_index(sys.argv[1], *entries())
