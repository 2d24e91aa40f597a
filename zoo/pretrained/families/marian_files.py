"""Marian's own files, as OPUS-MT, marian-train and Firefox' translators have them (https://aclanthology.org/P18-4020).

Weights are one .npz or .bin, such as `model.npz`, whose array `special:model.yml` has the settings; `decoder.yml` or
`config.*.yml` names the files and says how to search. Files that are called as Firefox' need none. What a setting means
was read in Marian's sources, models/transformer.h, translator/beam_search.cpp and common/config_parser.cpp. Its decoder
begins with a vector of zeros, here the row of PAD and of BOS. Its last sinusoid is exactly 10,000 times as long as the
first, which ours and that of `transformers` is not, so the positions are a table.
"""

from zoo.pretrained.languages import make_marian_reader, marian_targets
from zoo.pretrained.marian_formats import parse_yaml, read_shortlist, read_yaml
from zoo.pretrained.network import Family, Network, register
from zoo.pretrained.parts import model_table, sinusoids
from zoo.pretrained.reading import Reading
from zoo.pretrained.rules import Rule, barring_bias, flat, put, rows, scale, transpose, widen
from zoo.pretrained.vocabulary import names_by_id, our_ids, pieces_of, renumber
from zoo.recipes.languages import of_codes
from zoo.text import Tokenizer
from zoo.text.base import BOS, PAD, UNK

SETTINGS = "special:model.yml"
LONGEST, EPSILON = 1024, 1e-6  # positions that are kept; Marian computes as many as a text needs
GELU = 1.702  # its gelu is x * sigmoid(1.702 x)
ACTIVATIONS = {"swish": "silu", "relu": "relu", "gelu": "silu"}
LISTED = "With its shortlist, {}, a piece allows {} others at most, and {} are always allowed (docs/firefox.md)."
NOTE = "Texts are split by the SentencePiece models alone; the source's preprocess.sh is not run."
TRAINED = (  # settings of `special:model.yml` of training alone, or of parts that are refused where they are on
    "version", "dim-rnn", "enc-type", "enc-cell", "enc-cell-depth", "dec-cell-base-depth",
    "dec-cell-high-depth", "transformer-dim-aan", "transformer-aan-depth", "transformer-aan-activation",
    "transformer-aan-nogate", "transformer-guided-alignment-layer", "transformer-depth-scaling", "max-length",
    "ulr-dim-emb", "ulr-trainable-transformation", "lemma-dependency", "factors-combine", "dropout-rnn", "dropout-src",
    "dropout-trg", "transformer-dropout", "transformer-dropout-attention", "transformer-dropout-ffn", "skip",
    "bert-train-type-embeddings", "bert-type-vocab-size", "special-vocab",
)  # fmt: skip
FIREFOX = {"beam-size": 1, "normalize": 1.0, "max-length-factor": 2.0}  # what it asks of its engine
HOW = (  # settings of a search that change how fast it is, or what is told beside the translation
    "relative-paths", "models", "workspace", "log", "log-level", "log-time-zone", "quiet", "quiet-translation", "seed",
    "devices", "num-devices", "cpu-threads", "mini-batch", "mini-batch-words", "mini-batch-fit", "maxi-batch",
    "maxi-batch-sort", "alignment", "word-scores", "skip-cost", "model-mmap", "config", "dump-config", "input",
    "output", "port", "authors", "cite", "build-info", "interpolate-env-vars", "sigterm", "stat-freq",
    "use-legacy-batching", "max-length", "max-length-crop", "gemm-precision", "optimize", "version", "ssplit-mode",
    "ssplit-prefix-file", "max-length-break", "no-const", "sync-sgd", "ignore-model-config", "bergamot-mode",
    "int8shift", "int8shiftAll", "int8shiftAlpha", "int8shiftAlphaAll", "check-bytearray",
)  # fmt: skip
SIZES = {
    "units": ("dim-emb", 512), "num_layers": ("enc-depth", 1), "decoder_layers": ("dec-depth", 1),
    "num_heads": ("transformer-heads", 8), "hidden_units": ("transformer-dim-ffn", 2048),
}  # fmt: skip


def network(source):
    """A translator."""
    config = settings_of(source)
    config.must(
        **{
            "type": "transformer", "transformer-decoder-autoreg": ("self-attention", "rnn"),
            "transformer-no-projection": False, "transformer-rnn-projection": False,
            "transformer-no-bias": False, "transformer-no-affine": False, "transformer-pool": False,
            "transformer-tied-layers": [], "transformer-train-position-embeddings": False,
            "transformer-train-positions": False, "transformer-ffn-depth": 2, "transformer-postprocess-emb": ("d", ""),
            "layer-normalization": False, "right-left": False, "ulr": False, "lemma-dim-emb": 0, "factors-dim-emb": 0,
            "input-types": [], "transformer-decoder-dim-ffn": (config.get("transformer-dim-ffn", 2048), 0),
            "transformer-decoder-ffn-depth": (0, 2), "transformer-postprocess": ("dan", "an"),
            "transformer-postprocess-top": "",
        }
    )  # fmt: skip
    config.idle(*TRAINED, *HOW)
    if "n" in str(config.get("transformer-preprocess", "")):
        config.refuse(
            "transformer-preprocess has n: its queries are normalised and its keys not, which no block here has"
        )
    recurs, cell = config.get("transformer-decoder-autoreg") == "rnn", config.get("dec-cell", "gru")
    if recurs and cell != "ssru":
        config.refuse(f"dec-cell is {cell}; of decoders that recur only those of ssru are known here")
    sides = {"encoder": ("self",), "decoder": ("rnn" if recurs else "self", "context")}
    model = model_table(config, SIZES)
    model["activation"] = config.one_of("transformer-ffn-activation", ACTIVATIONS, "swish")
    units, depths = model["units"], {"encoder": model["num_layers"], "decoder": model["decoder_layers"]}
    if units % 2:
        config.refuse(f"dim-emb is {units}; sinusoids need an even number")
    tied = config.flag("tied-embeddings-all", False)
    shared = config.flag("tied-embeddings-src", False) or tied
    output = "tied" if config.flag("tied-embeddings", False) or tied else "own"
    biased = not config.flag("output-omit-bias", False)
    search, vocabularies = search_table(config), _read_vocabularies(source, config, shared)
    shortlist_files = config.get("shortlist", [])
    config.finish()
    source_ids, ids = both_ids = [_our_ids(names) for names, _ in vocabularies]
    notes, shortlist = (NOTE,) if source.has("preprocess.sh") else (), {}
    if shortlist_files:
        file, *limits = shortlist_files if isinstance(shortlist_files, list) else [shortlist_files]
        (reads, source_model), (writes, target_model) = vocabularies
        path = source.path(*source.file_names([file]))
        shortlist = read_shortlist(path, limits, (reads, writes), both_ids, source_model == target_model)
        notes += (LISTED.format(path.name, shortlist["table"].shape[1], len(shortlist["always"])),)
    table = sinusoids(LONGEST, units)
    constants = {"source_positions/matrix": table, "positions/matrix": table}
    if not biased:
        constants["target_embedding/output_bias"] = barring_bias(len(ids), (PAD, BOS))
    target = {} if shared else {"target": {"vocab_size": len(ids)}}
    return Network(
        recipe={
            "task": "translate",
            "text": {"shared": shared} | target,
            "model": model,
            "attention": "ssru" if recurs else "multi_head",
            "block": {"layer": "post_norm", "epsilon": EPSILON},
            "positions": {"layer": "learned", "max_positions": LONGEST},
            "embedding": {"layer": "tokens", "output": output, "output_bias": True},
            "search": search,
            "data": of_codes(*source.languages),
        },
        ids=ids,
        source_ids=source_ids,
        rules=(
            *_embedding_rules(source, shared, output, biased, source_ids, ids),
            *(
                rule
                for side, parts in sides.items()
                for number in range(depths[side])
                for rule in _block_rules(side, number, parts, config)
            ),
        ),
        unneeded={SETTINGS: "the settings, which were read", "*_QuantMultA": "inputs of products stay float32"},
        constants=constants,
        tokenizers=lambda: make_tokenizers(source, vocabularies),
        barred=(PAD, BOS),
        languages=source.languages if marian_targets(vocabularies[0][0]) else (),
        notes=notes,
        shortlist=shortlist,
    )


def make_tokenizers(source, vocabularies):
    """The tokenizers of (source, target); pieces with the names of our special ones, but other ids, are renamed."""
    (reads, path), (writes, model) = vocabularies
    others = {"<s>": "<bos>", "<pad>": "<blank>"}
    read, written = ([*(others.get(name, name) for name in names), "<pad>"] for names in (reads, writes))
    reader = make_marian_reader(source, path.read_bytes(), read, _our_ids(reads), path)
    return reader, Tokenizer(renumber(model.read_bytes(), written, _our_ids(writes), where=model))


def settings_of(source):
    """The `Reading` of both files of settings, of which the network's own count, as in Marian."""
    where = f"{source.address}: {SETTINGS}"
    text = source.tensors[SETTINGS].read().astype("uint8").tobytes().rstrip(b"\0")
    name, search = source.yaml
    search = search if name else _firefox_settings(source)
    return Reading(search | parse_yaml(text.decode("utf-8", "replace"), where), f"{where} or {name or 'decoder.yml'}")


def _firefox_settings(source):
    """The settings of Firefox' engine, where files are named like its own, `vocab.ende.spm`; else nothing."""
    files = {each.name.split(".")[0]: each.name for each in sorted(source.folder.glob("*.*.*")) if each.is_file()}
    sides = [files.get(side, files.get("vocab")) for side in ("srcvocab", "trgvocab")]
    return FIREFOX | {"vocabs": sides, "shortlist": [files["lex"]] if "lex" in files else []} if all(sides) else {}


def search_table(config):
    """The table `search`, with the defaults of marian-decoder."""
    config.must(**{
        "word-penalty": 0, "n-best": False, "no-spm-decode": False, "output-sampling": (False, []), "tsv": False,
        "output-approx-knn": [], "weights": [], "fp16": False, "precision": (["float32"], "float32"),
    })  # fmt: skip
    return {
        "beam": config.whole("beam-size", 12),
        "alpha": config.number("normalize", 0),
        "length_ratio": config.number("max-length-factor", 3),
        "bad_words": [] if config.flag("allow-unk", False) else [[UNK]],
        "max_output_length": LONGEST // 2,
        "penalty": "length",
        "ends": "places",
        "longest": "count",
        "stop": "full",
    }


def _read_vocabularies(source, config, shared):
    """[(the pieces by their ids, the path of the SentencePiece model)] of both sides; [] where they are refused."""
    sizes, files = config.get("dim-vocabs"), config.get("vocabs", ["vocab.spm", "vocab.spm"])
    if not (isinstance(sizes, list) and isinstance(files, list) and len(sizes) == len(files) == 2):
        config.refuse(
            f"dim-vocabs is {sizes} and vocabs {files}; expected two of each: there is one source, one target"
        )
        return []
    vocabularies = []
    for side, size, name in zip(("source", "target"), sizes, files, strict=True):
        path = source.path(*source.file_names([name]))
        if path.suffix == ".spm":
            names, model = [piece for piece, _, _ in pieces_of(path.read_bytes(), path)], path
        else:
            names, model = names_by_id(read_yaml(path), size, path), source.path(f"{side}.spm")
        if len(names) != size or not {"</s>", "<unk>"} <= {*names}:
            config.refuse(f"{path.name} has {len(names):,} pieces; expected {size:,}, with </s> and <unk> among them")
        vocabularies.append((names, model))
    if shared and vocabularies[0][0] != vocabularies[1][0]:
        config.refuse("embeddings of source and target are tied, and their vocabularies are not the same")
    return vocabularies


def _our_ids(names):
    """For each id of ours the one there. A row of zeros behind the vocabulary stands for PAD and BOS."""
    return our_ids(len(names) + 1, len(names), names.index("<unk>"), len(names), names.index("</s>"))


def _embedding_rules(source, shared, output, biased, source_ids, ids):
    target = "target_embedding"
    rules = [Rule("Wemb" if shared else "decoder_Wemb", f"{target}/matrix", widen(1, 0), rows(ids))]
    rules += [] if shared else [Rule("encoder_Wemb", "source_embedding/matrix", widen(1, 0), rows(source_ids))]
    if output == "own":
        old = "decoder_ff_logit_out_W" in source.tensors  # the other way round
        name = f"decoder_ff_logit_out_W{'' if old else 't'}"
        rules.append(Rule(name, f"{target}/output_matrix", *([transpose] if old else []), widen(1, 0), rows(ids)))
    if biased:
        steps = flat, widen(1, 0), rows(ids), put((PAD, BOS))
        rules.append(Rule("decoder_ff_logit_out_b", f"{target}/output_bias", *steps))
    return rules


def _block_rules(side, number, parts, config):
    here, ours, rules = f"{side}_l{number + 1}", f"{side}/blocks/{number}", []
    for place, part in enumerate(parts):
        if part == "rnn":
            rules.append(Rule(f"{here}_rnn_W", f"{ours}/attention/input_projection/kernel"))
            rules += _dense_rules(f"{here}_rnn_", "f", f"{ours}/attention/gate")
            rules += _norm_rules(f"{here}_rnn_ffn", f"{ours}/norms/{place}")
            continue
        attention = f"{ours}/{'cross_attention' if part == 'context' else 'attention'}"
        for theirs, name in {"q": "query", "k": "key", "v": "value", "o": "output"}.items():
            rules += _dense_rules(f"{here}_{part}_", theirs, f"{attention}/{name}_projection")
        rules += _norm_rules(f"{here}_{part}_Wo", f"{ours}/norms/{place}")
    wide, narrow = (), ()
    if config.get("transformer-ffn-activation") == "gelu":
        wide, narrow = [scale(GELU)], [scale(1 / GELU)]
    rules += _dense_rules(f"{here}_ffn_", "1", f"{ours}/feedforward/hidden", wide, wide)
    rules += _dense_rules(f"{here}_ffn_", "2", f"{ours}/feedforward/output_projection", narrow)
    return rules + _norm_rules(f"{here}_ffn_ffn", f"{ours}/norms/{len(parts)}")


def _dense_rules(theirs, name, ours, kernel=(), bias=()):
    return [Rule(f"{theirs}W{name}", f"{ours}/kernel", *kernel), Rule(f"{theirs}b{name}", f"{ours}/bias", flat, *bias)]


def _norm_rules(theirs, ours):
    names = {"scale": "gamma", "bias": "beta"}
    return [Rule(f"{theirs}_ln_{name}", f"{ours}/{our}", flat) for name, our in names.items()]


def knows(source):
    """Whether there is no config.json, and weights with Marian's settings among them."""
    return not source.has("config.json") and SETTINGS in source.tensors


register(Family("marian-nmt", knows, network))
