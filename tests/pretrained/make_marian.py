"""Makes the tiny networks in Marian's own files, and what Marian's own engine says of them.

    python tests/pretrained/make_marian.py tests/pretrained/data [NAME ...]

It needs bergamot 0.4.5, whose wheels are for Python 3.9 and 3.10, and numpy, pyyaml and sentencepiece, in an
environment of their own; no test does. `said.json` has what the engine writes, with float32 and one text at a time,
for its batches are cut off at the length of their longest text.
"""

import glob
import importlib.util
import json
import shutil
import struct
import sys
import sysconfig
from pathlib import Path

import numpy as np
import sentencepiece
import yaml

TEXTS = [
    "the cat sat on the mat", "a dog and a cat", "where is the old house", "she sells sea shells", "an apple a day",
    "the house is old and the dog is big", "cats and dogs sat", "a",
]  # fmt: skip
GERMAN = ["die Katze sitzt auf der Matte", "ein Hund und eine Katze", "wo ist das alte Haus", "das Haus ist schön"]
OFF = (
    "tied-embeddings tied-embeddings-src tied-embeddings-all skip layer-normalization ulr ulr-trainable-transformation "
    "right-left transformer-no-projection transformer-train-position-embeddings transformer-depth-scaling "
    "transformer-aan-nogate transformer-pool"
).split()
MODEL = dict.fromkeys(OFF, False) | {
    "type": "transformer", "version": "v1.9.0", "transformer-ffn-depth": 2, "transformer-decoder-dim-ffn": 0,
    "transformer-decoder-ffn-depth": 0, "transformer-ffn-activation": "swish", "transformer-preprocess": "",
    "transformer-postprocess": "dan", "transformer-postprocess-emb": "d", "transformer-postprocess-top": "",
    "transformer-decoder-autoreg": "self-attention", "dec-cell": "gru", "enc-cell": "gru", "dim-rnn": 1024,
    "transformer-dim-aan": 2048, "transformer-aan-activation": "swish", "transformer-aan-depth": 2, "max-length": 256,
    "transformer-guided-alignment-layer": "last", "enc-cell-depth": 1, "enc-type": "bidirectional", "input-types": [],
    "dec-cell-base-depth": 2, "dec-cell-high-depth": 1, "transformer-tied-layers": [], "ulr-dim-emb": 0,
    "lemma-dim-emb": 0, "lemma-dependency": "", "factors-combine": "sum", "factors-dim-emb": 0,
}  # fmt: skip
UNK, FIRST, BEST = 1, 6, 3  # of the shortlist
SEARCH = {"normalize": 1, "word-penalty": 0, "max-length-factor": 3}


def weights(config, seed, end):
    """`{name: array}` of random weights, so large that every part tells; `end` is added to the logit of EOS."""
    generator, units, hidden = np.random.default_rng(seed), config["dim-emb"], config["transformer-dim-ffn"]
    found = {}

    def random(name, *shape, mean=0.0, scale=None):
        found[name] = (mean + generator.standard_normal(shape) * (scale or shape[0] ** -0.5)).astype("float32")

    def norm(name):
        random(f"{name}_ln_scale", 1, units, mean=1.0, scale=0.2)
        random(f"{name}_ln_bias", 1, units, scale=0.2)

    for name, size in zip(("encoder_Wemb", "decoder_Wemb"), config["dim-vocabs"], strict=True):
        random("Wemb" if config["tied-embeddings-all"] else name, size, units, scale=units**-0.5)
    for side in ("encoder", "decoder"):
        for layer in range(1, config[f"{side[:3]}-depth"] + 1):
            recurs = side == "decoder" and config["transformer-decoder-autoreg"] == "rnn"
            if recurs:
                random(f"decoder_l{layer}_rnn_W", units, units, scale=1)
                random(f"decoder_l{layer}_rnn_Wf", units, units, scale=1)
                random(f"decoder_l{layer}_rnn_bf", 1, units)
                norm(f"decoder_l{layer}_rnn_ffn")
            for part in ("self", "context")[recurs : 1 + (side == "decoder")]:
                for each in "qkvo":
                    random(f"{side}_l{layer}_{part}_W{each}", units, units)
                    random(f"{side}_l{layer}_{part}_b{each}", 1, units, scale=0.2)
                norm(f"{side}_l{layer}_{part}_Wo")
            random(f"{side}_l{layer}_ffn_W1", units, hidden)
            random(f"{side}_l{layer}_ffn_b1", 1, hidden, scale=0.2)
            random(f"{side}_l{layer}_ffn_W2", hidden, units)
            random(f"{side}_l{layer}_ffn_b2", 1, units, scale=0.2)
            norm(f"{side}_l{layer}_ffn_ffn")
    if not (config["tied-embeddings-all"] or config["tied-embeddings"]):
        random("decoder_ff_logit_out_Wt", config["dim-vocabs"][1], units, scale=units**-0.5)
    random("decoder_ff_logit_out_b", 1, config["dim-vocabs"][1], scale=0.2)
    found["decoder_ff_logit_out_b"][0, 0] += end
    return found


def pieces(path, texts, size):
    with open(path, "wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(texts * 3), model_writer=file, vocab_size=size, hard_vocab_limit=False, bos_id=-1,
            pad_id=-1, eos_id=0, unk_id=1, minloglevel=2, normalization_rule_name="identity",
        )  # fmt: skip
    model = sentencepiece.SentencePieceProcessor(model_file=str(path))
    return [model.id_to_piece(number) for number in range(model.vocab_size())]


def write(folder, config, vocabs, seed, end=1.5):
    """model.npz and decoder.yml."""
    held = weights(config, seed, end)
    held["special:model.yml"] = np.frombuffer(yaml.dump(config).encode() + b"\0", "int8")
    np.savez(folder / "model.npz", **held)
    search = {"relative-paths": True, "models": ["model.npz"], "vocabs": vocabs, "beam-size": 4} | SEARCH
    (folder / "decoder.yml").write_text(yaml.dump(search))


def engine():
    """`import bergamot` would ask a host for its models, so its extension is loaded by itself."""
    path = glob.glob(sysconfig.get_paths()["purelib"] + "/bergamot/_bergamot*.so")[0]
    spec = importlib.util.spec_from_file_location("_bergamot", path)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def binary_shortlist(lists, first, best):
    """A file of `marian-conv --shortlist`, of the target ids that each source id allows (data/shortlist.h)."""
    offsets = np.cumsum([0, *map(len, lists)]).astype("<u8")
    ids = np.array([each for allowed in lists for each in sorted(allowed)], "<u4")
    behind = struct.pack("<4Q", first, best, len(offsets), len(ids)) + offsets.tobytes() + ids.tobytes()
    checksum = 0
    for word in np.frombuffer(behind, "<u8", len(behind) // 8).tolist():
        checksum ^= (word + 0x9E3779B9 + (checksum << 6) + (checksum >> 2)) % 2**64
    return struct.pack("<2Q", 0xF11A48D5013417F5, checksum) + behind


def translations(folder, vocabs, texts, beams, **settings):
    """What the engine writes."""
    bergamot = engine()
    config = {
        "relative-paths": True, "models": ["model.npz"], "vocabs": vocabs, "beam-size": beams, "max-length-break": 128,
        "mini-batch-words": 999, "ssplit-mode": "sentence", "ssplit-prefix-file": "", "workspace": 128,
        "skip-cost": False, "cpu-threads": 0, "quiet": True, "quiet-translation": True, "gemm-precision": "float32",
        "alignment": "soft",
    }  # fmt: skip
    path = folder / "bergamot.yml"
    path.write_text(yaml.dump(config | SEARCH | settings))
    service = bergamot.Service(bergamot.ServiceConfig(numWorkers=1, logLevel="error"))
    model = service.modelFromConfigPath(str(path.absolute()))
    found = []
    for text in texts:
        one = bergamot.VectorString()
        one.append(text)
        found += [each.target.text for each in service.translate(model, one, bergamot.ResponseOptions())]
    path.unlink()
    return found


def lexicon(path, names, seed):
    """A lexicon as text: of each piece of the source six of the target, and what the engine passes over."""
    generator, lines = np.random.default_rng(seed), ["NULL he 0.9", "he NULL 0.9", "nowhere he 0.4", "he nowhere 0.5"]
    for source in names:
        shares = generator.permutation(np.arange(1, 7) / 32)
        chosen = generator.choice(len(names), 6, replace=False)
        lines += [f"{names[each]} {source} {share}" for each, share in zip(chosen, shares, strict=True)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def likeliest(path, names, best):
    """Of each source id, the `best` target ids of a lexicon."""
    found = [{} for _ in names]
    for line in path.read_text(encoding="utf-8").splitlines():
        target, source, share = line.split()
        if "NULL" not in (source, target):
            source, target = (names.index(each) if each in names else UNK for each in (source, target))
            found[source][target] = float(share)
    return [sorted(each, key=each.get)[-best:] for each in found]


def said(folder, vocabs, texts=TEXTS, **more):
    kept = {"texts": texts} | {f"{name}_texts": translations(folder, vocabs, texts, beams)
                               for name, beams in (("greedy", 1), ("beam", 4))} | more  # fmt: skip
    (folder / "said.json").write_text(json.dumps(kept, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def marian_files(folder):
    """One vocabulary and one matrix."""
    size = len(pieces(folder / "vocab.spm", TEXTS + GERMAN, 60))
    tiny = {"dim-emb": 16, "enc-depth": 2, "dec-depth": 1, "transformer-heads": 4, "transformer-dim-ffn": 24}
    write(folder, MODEL | tiny | {"dim-vocabs": [size, size], "tied-embeddings-all": True}, ["vocab.spm"] * 2, seed=5)
    said(folder, ["vocab.spm"] * 2)


def marian_files_apart(folder):
    """Two vocabularies in YAML, three matrices, gelu."""
    names = [pieces(folder / f"{side}.spm", texts, 60) for side, texts in (("source", TEXTS), ("target", GERMAN))]
    for side, each in zip(("src", "trg"), names, strict=True):
        lines = [f"{json.dumps(name, ensure_ascii=False)}: {number}\n" for number, name in enumerate(each)]
        (folder / f"{side}.vocab.yml").write_text("".join(lines), encoding="utf-8")
    tiny = {"dim-emb": 16, "enc-depth": 1, "dec-depth": 2, "transformer-heads": 2, "transformer-dim-ffn": 24}
    tiny |= {"transformer-ffn-activation": "gelu", "dim-vocabs": [len(each) for each in names]}
    write(folder, MODEL | tiny, ["/home/me/src.vocab.yml", "/home/me/trg.vocab.yml"], seed=0)
    said(folder, ["source.spm", "target.spm"])


def marian_student(folder):
    """A decoder that recurs, and a shortlist."""
    names = pieces(folder / "vocab.spm", TEXTS + GERMAN, 60)
    size = len(names)
    tiny = {"dim-emb": 16, "enc-depth": 2, "dec-depth": 2, "transformer-heads": 4, "transformer-dim-ffn": 24}
    tiny |= {"transformer-decoder-autoreg": "rnn", "dec-cell": "ssru", "transformer-ffn-activation": "relu"}
    write(folder, MODEL | tiny | {"dim-vocabs": [size, size], "tied-embeddings-all": True}, ["vocab.spm"] * 2, seed=30)
    lexicon(folder / "lex.s2t", names, seed=5)
    binary = folder / "lex.s2t.bin"
    binary.write_bytes(binary_shortlist(likeliest(folder / "lex.s2t", names, BEST), FIRST, BEST))
    asked = {"shortlist": [binary.name, True], "check-bytearray": True}
    narrow = translations(folder, ["vocab.spm"] * 2, TEXTS, 1, **asked)
    binary.unlink()
    said(folder, ["vocab.spm"] * 2, shortlist_texts=narrow)


def main(home, *names):
    for make in (marian_files, marian_files_apart, marian_student):
        if names and make.__name__ not in names:
            continue
        folder = Path(home) / make.__name__
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        make(folder)
        print(make.__name__, (folder / "said.json").read_text())


if __name__ == "__main__":
    main(*sys.argv[1:])
