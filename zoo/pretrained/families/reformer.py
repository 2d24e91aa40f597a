"""The Reformer of Hugging Face (arXiv:2001.04451): hashing and local attention in turn, two streams, axial positions.

With `is_decoder` it is a language model, else it gives a text its vector or classifies it. Its rotations are drawn anew
in every call there, unless a seed of them is in its settings; here they are drawn once, from that seed if there is one.

They are made of the numbers of `torch.manual_seed(seed); torch.randn(count)`, whose bits are those of the Mersenne
Twister. From sixteen numbers on, they become normal by Box and Muller in blocks of sixteen, the last of which overlaps
the one before it; fewer are drawn in pairs, of twice as many bits.
"""

from functools import partial

import numpy as np

from zoo.pretrained.network import Family, Network, of_type, register
from zoo.pretrained.parts import dense_rules, model_table, norm_rules, summary_tables, task_and_labels
from zoo.pretrained.reading import MOST
from zoo.pretrained.rules import Rule, barring_bias, put, rows, squeeze, widen
from zoo.pretrained.sentencepiece_files import tokenizer_of, unknown_of
from zoo.pretrained.vocabulary import our_ids
from zoo.text.base import BOS, PAD

PROJECTIONS = {"lsh": {"query_key": "query"}, "local": {"query": "query", "key": "key"}}
FORMER = "attention_probs_dropout_prob", "intermediate_size", "num_chunks_before", "num_chunks_after"  # read by nobody
SIZES = {"chunk_length": "attn_chunk_length", "before": "num_chunks_before", "after": "num_chunks_after"}
MOST_DRAWN = 2**26
USUAL, LEAST = {"chunk_length": 64, "before": 1, "after": 0}, {"chunk_length": 1, "before": 0, "after": 0}
UNNEEDED = {"*mask_value_float*": "large numbers", "lm_head.*": "guesses masked words"}
ROTATIONS = "Rotations are drawn once; transformers draws new ones in every call, unless hash_seed is set."
BEGINS = "A text begins with the vector of bos_token_id, or of the pad token, which no prompt has in transformers."
UNUSED_BIAS = {"lm_head.bias": "transformers 5 does not add it"}
BLOCK = 16


def draw_normals(seed, count):
    """`(count,)` float32, as PyTorch draws them on a processor, up to rounding."""
    generator = np.random.RandomState(seed % 2**32)

    def draw_bits(number):
        return generator.randint(0, 2**32, number, dtype="uint32").astype("uint64")

    def draw_blocks(number):
        shares = (draw_bits(number) % 2**24 * 2.0**-24)[: number // BLOCK * BLOCK].reshape(-1, 2, BLOCK // 2)
        return np.stack(_box_muller(shares[:, 0], shares[:, 1]), 1).reshape(-1)

    if count >= BLOCK:
        numbers = np.resize(draw_blocks(count), count)
        if count % BLOCK:
            numbers[-BLOCK:] = draw_blocks(BLOCK)
    else:
        high, low = draw_bits(2 * (count + count % 2)).reshape(-1, 2).T
        shares = (high * 2**32 + low) % 2**53 * 2.0**-53
        numbers = np.stack(_box_muller(shares[1::2], shares[::2]), 1).reshape(-1)[:count]
    return numbers.astype("float32")


def _box_muller(share, turn):
    """Box and Muller's two normal numbers of two uniform ones."""
    radius = np.sqrt(-2 * np.log1p(-share))
    return radius * np.cos(2 * np.pi * turn), radius * np.sin(2 * np.pi * turn)


def draw_rotations(seed, shape, factors):
    """The rotations of `LSHSelfAttention`, `(*shape, factor / 2)` for each factor of its number of buckets.

    Args:
        seed: its `hash_seed`.
        shape: (heads, width of a head, rounds).
        factors: even numbers.
    """
    halves = [each // 2 for each in factors]
    numbers = draw_normals(seed, int(np.prod(shape)) * sum(halves)).reshape(*shape, sum(halves))
    return np.split(numbers, np.cumsum(halves)[:-1], axis=-1)


def buckets_for(time, longest, chunk):
    """The number of buckets, or its factors, that the Reformer chooses where its settings give none.

    Args:
        time: positions of a text.
        longest: its `max_position_embeddings`.
        chunk: positions of a chunk.
    """
    power = max((2 * (time // chunk)).bit_length() - 1, 1)
    if 2**power > 2 * max(int((longest // chunk) ** 0.5), chunk):
        return [2 ** (power // 2), 2 ** (power - power // 2)]
    return 2**power


def network(source):
    """A language model, a classifier, or an encoder of texts."""
    config = source.config
    kinds = config.get("attn_layers", ["local", "lsh"] * 3)
    if not isinstance(kinds, list) or not kinds or {*map(str, kinds)} - PROJECTIONS.keys():
        config.refuse(f'attn_layers is {kinds}; expected a list of "lsh" and "local"')
        kinds = ["local"]
    model = model_table(
        config,
        {
            "units": ("hidden_size", 256),
            "num_heads": ("num_attention_heads", 12),
            "hidden_units": ("feed_forward_size", 512),
        },
        ("hidden_act", "relu"),
        ("hidden_dropout_prob", 0.05),
    ) | {"num_layers": len(kinds)}
    units, writes = model["units"], config.flag("is_decoder", False)
    config.must(tie_word_embeddings=False, num_hidden_layers=len(kinds), sinusoidal_pos_embds=False)
    config.must(**{"local_num_chunks_before": (1, 0)} if writes else {})  # it meets one of few chunks twice there
    config.idle("axial_norm_std", "initializer_range", "chunk_size_lm_head", "classifier_dropout", *FORMER)
    config.idle("local_attention_probs_dropout_prob", "lsh_attention_probs_dropout_prob")
    (task, labels), names = task_and_labels(config), config.words("architectures")
    if names[0] and writes != names[0].endswith("WithLMHead") or task == "tag":
        config.refuse(
            f"architectures is {names} and is_decoder {str(writes).lower()}; a decoder is known here as "
            "ReformerModelWithLMHead, and any other network as a plain one or with a head for classes or masked words"
        )
    size, pad = config.whole("vocab_size", 320), config.get("pad_token_id", 0)
    unknown = unknown_of(source) if source.has("spiece.model") or source.has("tokenizer.json") else None
    first = config.get("bos_token_id")
    ids = our_ids(size, pad, unknown, pad if first is None else first, config.get("eos_token_id", 2))
    epsilon, barred = config.number("layer_norm_eps", 1e-12), (PAD, BOS) if writes else ()
    positions, longest, placed = _read_positions(config, source.prefix("reformer."), units)
    attention, draws = _read_attention(config, kinds, model["num_heads"], longest)
    recipe = {
        "task": "continue" if writes else task,
        "text": {} if writes else {"max_input_length": longest},
        "model": model | ({"context": longest} if writes or positions["layer"] == "axial" else {}),
        "attention": attention,
        "block": {"layer": "pre_norm", "epsilon": epsilon},
        "depth": {"layer": "reversible", "joined": "both"},
        "positions": positions,
        "embedding": {"layer": "tokens", "scaled": False},
    }
    rules, constants = [*placed], {}
    if writes:
        recipe["embedding"] |= {"output": "own", "output_bias": True}
        rules.append(Rule("lm_head.decoder.weight", "embedding/output_matrix", rows(ids)))
        if str(config.get("transformers_version", "2.9")).startswith(("2.", "3.", "4.")):
            bias = Rule("lm_head.bias", "embedding/output_bias", rows(ids), put(barred), also=("lm_head.decoder.bias",))
            rules.append(bias)
        else:
            constants["embedding/output_bias"] = barring_bias(len(ids), barred)
    elif task == "classify":
        rules += dense_rules("classifier.dense", "pooling/projection", writes=(partial(widen, units),))
        rules += dense_rules("classifier.out_proj", "readout", reads=(partial(widen, units),))
    recipe |= summary_tables(source, recipe)
    side = "decoder" if writes else "encoder"
    before = source.prefix("reformer.")
    rules += [
        Rule(f"{before}embeddings.word_embeddings.weight", "embedding/matrix", rows(ids)),
        *norm_rules(f"{before}encoder.layer_norm", f"{side}/final_norm"),
        *_block_rules(f"{before}encoder.layers", f"{side}/blocks", kinds),
    ]
    return Network(
        recipe=recipe,
        ids=ids,
        rules=tuple(rules),
        unneeded=(UNUSED_BIAS if writes else {}) | UNNEEDED,
        constants=constants | {f"{side}/blocks/{path}": numbers for path, numbers in draws.items()},
        tokenizers=lambda: (tokenizer_of(source, ids, ("Reformer",), ((), ())),),
        labels=labels,
        barred=barred,
        notes=(ROTATIONS, *([BEGINS] if writes else [])),
    )


def _read_positions(config, before, units):
    """(the table of a recipe, how many positions there are, the rules of their weights)."""
    longest, here = config.whole("max_position_embeddings", 4096), f"{before}embeddings.position_embeddings"
    shape, widths = config.get("axial_pos_shape", [64, 64]), config.get("axial_pos_embds_dim", [64, 192])
    if not config.flag("axial_pos_embds", True):
        rule = Rule(f"{here}.embedding.weight", "positions/matrix")
        return {"layer": "learned", "max_positions": longest}, longest, [rule]
    valid = all(isinstance(each, list) and len(each) == 2 for each in (shape, widths))
    valid = valid and all(type(each) is int and 0 < each <= MOST for each in [*shape, *widths])
    if not valid or sum(widths) != units:
        config.refuse(
            f"axial_pos_shape is {shape} and axial_pos_embds_dim {widths}; expected two sizes each, the latter of "
            f"together hidden_size = {units}"
        )
        return {"layer": "axial"}, longest, []
    rules = [
        Rule(f"{here}.weights.{n}", f"positions/{name}", squeeze(1 - n)) for n, name in enumerate(("rows", "columns"))
    ]
    return {"layer": "axial", "columns": shape[1], "row_units": widths[0]}, shape[0] * shape[1], rules


def _read_attention(config, kinds, heads, longest):
    """(the table of a recipe, `{path in the blocks: numbers}` of the rotations)."""
    hashed = [place + 1 for place, kind in enumerate(kinds) if kind == "lsh"]
    head, hashes = config.whole("attention_head_size", 64), config.whole("num_hashes", 1)
    seed, num_buckets = config.whole("hash_seed", None, least=0, most=2**64 - 1), config.get("num_buckets")
    config.idle(*(f"{kind}_{name}" for kind in PROJECTIONS for name in SIZES.values()))  # of a kind that no layer has
    sizes = {
        kind: {ours: config.whole(f"{kind}_{theirs}", USUAL[ours], LEAST[ours]) for ours, theirs in SIZES.items()}
        for kind in {*kinds}
    }
    table = sizes.get("local", sizes.get("lsh")) | {"layer": "local", "head_units": head}
    if not hashed:
        return table, {}
    most = config.get("max_position_embeddings", 4096)
    buckets = num_buckets or buckets_for(longest, most, sizes["lsh"]["chunk_length"])
    factors = buckets if isinstance(buckets, list) else [buckets]
    if not all(type(each) is int and 0 < each <= MOST and each % 2 == 0 for each in factors):
        config.refuse(f"num_buckets is {num_buckets}; expected an even number, or a list of them")
        factors = [2]
    if heads * head * hashes * sum(factors) > MOST_DRAWN:
        config.refuse(f"num_hashes is {hashes} and num_buckets {buckets}: so many rotations no network has")
        hashes = 1
    # There the first factor counts least, and here most.
    table["hashed"] = {"blocks": hashed, "num_buckets": factors[::-1], "rounds": hashes, **sizes["lsh"]}
    draws = {
        f"{place - 1}/attention/rotation_{len(factors) - 1 - number}": drawn
        for place in hashed
        for number, drawn in enumerate(draw_rotations(place if seed is None else seed, (heads, head, hashes), factors))
    }
    return table, draws


def _block_rules(theirs, ours, kinds):
    rules = []
    for place, kind in enumerate(kinds):
        here, path = f"{theirs}.{place}", f"{ours}/{place}"
        layers = {f"attention.self_attention.{name}": our for name, our in PROJECTIONS[kind].items()}
        layers |= {"attention.self_attention.value": "value", "attention.output.dense": "output"}
        for name, our in layers.items():
            rules += dense_rules(f"{here}.{name}", f"{path}/attention/{our}_projection", bias=False)
        rules += dense_rules(f"{here}.feed_forward.dense.dense", f"{path}/feedforward/hidden")
        rules += dense_rules(f"{here}.feed_forward.output.dense", f"{path}/feedforward/output_projection")
        for number, name in enumerate(("attention", "feed_forward")):
            rules += norm_rules(f"{here}.{name}.layer_norm", f"{path}/norms/{number}")
    return rules


register(Family("reformer", of_type("reformer"), network, "AutoModel"))
