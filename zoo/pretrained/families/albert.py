"""ALBERT (arXiv:1909.11942): one block for all steps, and a projection behind embeddings that are narrower than states.

Plain, it gives a text its vector; with a head it classifies texts or tags tokens. A network of several groups, or of
several blocks in one, which nobody has published, becomes a stack of blocks, to which their weights are copied.

Its SentencePiece models read texts behind rules of their own: letters in lower case, without accents. There the rules
run one after the other, and last the table inside the model; here they become one such table.
"""

import unicodedata
from functools import partial

import sentencepiece

from zoo.pretrained.network import Family, Network, of_type, register
from zoo.pretrained.parts import block_rules, dense_rules, embedding_rules, model_table, summary_tables, task_and_labels
from zoo.pretrained.rules import Rule, copies
from zoo.pretrained.sentencepiece_files import tokenizer_of
from zoo.pretrained.vocabulary import our_ids
from zoo.text.base import BOS, EOS
from zoo.text.tokenizer import charsmap_of, rules_of, with_charsmap
from zoo.text.tokenizer_files import require

UNKNOWN = 1  # the id that the unknown piece has in all of its vocabularies
LAYERS = [*(f"attention.{name}" for name in ("query", "key", "value", "dense")), "ffn", "ffn_output"]  # of a block
NORMS = ["attention.LayerNorm", "full_layer_layer_norm"]
UNNEEDED = {
    "*position_ids": "numbers from 0 on",
    "*pooler.*": "trained to tell whether two sentences are in order; a vector is made of the states",
    "predictions.*": "guesses masked words",
    "sop_classifier.*": "tells whether two sentences are in order",
}
QUOTES = {"``": '"', "''": '"'}
RULES = [  # the same in a tokenizer.json
    *({"type": "Replace", "pattern": {"String": quotes}, "content": one} for quotes, one in QUOTES.items()),
    *({"type": each} for each in ("NFKD", "StripAccents", "Lowercase")),
]
# Elsewhere are ideographs and private characters, which have no marks and no case, and surrogates.
CHANGING = range(0xD800), range(0xE000, 0x20000), range(0x2F800, 0x2FA20), range(0xE0000, 0xE0200)
NO_SPACES = "\x1c\x1d\x1e\x1f"  # which Python counts among them


def with_plain_letters(model, lower=True, accents=False):
    """The model with a table that does what `AlbertTokenizer` does before it reads a text.

    A character is decomposed (NFKD), loses its marks, becomes lower case, and then what the model's own table makes of
    it, character by character, as the library `tokenizers` applies it. All kinds of white space become spaces.

    Args:
        model: serialised.
        lower: whether letters become lower case.
        accents: whether marks stay, and characters are not decomposed.
    """
    table, rules = rules_of(model), dict(QUOTES)
    characters = (chr(each) for places in CHANGING for each in places)
    for character in {*characters, *(key for key in table if len(key) == 1)}:
        text = character
        if not accents:
            text = "".join(each for each in unicodedata.normalize("NFKD", text) if unicodedata.category(each)[0] != "M")
        text = "".join(table.get(each, each) for each in (text.lower() if lower else text))
        text = "".join(" " if each.isspace() and each not in NO_SPACES else each for each in text)
        if text != character:
            rules[character] = text
    normalizer = sentencepiece.SentencePieceNormalizer(norm_map=sorted(rules.items()))
    return with_charsmap(model, "plain_letters", charsmap_of(normalizer.serialized_normalizer_spec()))


def network(source):
    """A classifier, a tagger, or an encoder of texts."""
    config = source.config
    layers, groups, inner = (
        config.whole(name, usual)
        for name, usual in (("num_hidden_layers", 12), ("num_hidden_groups", 1), ("inner_group_num", 1))
    )
    epsilon, longest = config.number("layer_norm_eps", 1e-12), config.whole("max_position_embeddings")
    size, narrow = config.whole("vocab_size"), config.whole("embedding_size", 128)
    config.must(
        position_embedding_type="absolute", down_scale_factor=1, gap_size=0, net_structure_type=0,
        num_memory_blocks=0, layers_to_keep=[], tie_word_embeddings=(True, False),
    )  # fmt: skip
    config.idle("initializer_range", "attention_probs_dropout_prob", "classifier_dropout_prob", "type_vocab_size")
    special = (config.get(f"{name}_token_id", usual) for name, usual in (("bos", 2), ("eos", 3)))
    ids = our_ids(size, config.get("pad_token_id", 0), UNKNOWN, *special)
    shared = groups == inner == 1
    task, labels = task_and_labels(config)
    recipe = {
        "task": task,
        "text": {"max_input_length": longest},
        "model": model_table(
            config,
            {"units": "hidden_size", "num_heads": "num_attention_heads", "hidden_units": "intermediate_size"},
            ("hidden_act", "gelu_new"),
            ("hidden_dropout_prob", 0.0),
        )
        | {"num_layers": layers * inner},
        "block": {"layer": "post_norm", "epsilon": epsilon},
        "depth": {"layer": "universal", "places": False} if shared else "stack",
        "positions": {"layer": "learned", "max_positions": longest, "norm_epsilon": epsilon, "projected": True},
        "embedding": {"layer": "tokens", "scaled": False, "width": narrow},
    }
    recipe |= summary_tables(source, recipe)
    before = source.prefix("albert.")
    rules = embedding_rules(f"{before}embeddings", ids)
    rules += dense_rules(f"{before}encoder.embedding_hidden_mapping_in", "positions/projection")
    for group in range(groups):
        members = [number for number in range(layers) if int(number / (layers / groups)) == group]
        for place in range(inner):
            paths = ["encoder/blocks/0"] if shared else [f"encoder/blocks/{each * inner + place}" for each in members]
            rules += _block_rules(f"{before}encoder.albert_layer_groups.{group}.albert_layers.{place}", paths)
    if task == "classify":
        rules += dense_rules(f"{before}pooler", "pooling/projection")
    if task != "embed":
        rules += dense_rules("classifier", "readout")
    return Network(
        recipe=recipe,
        ids=ids,
        rules=tuple(rules),
        unneeded=UNNEEDED,
        tokenizers=lambda: (_make_tokenizer(source, ids),),
        labels=labels,
    )


def _block_rules(here, paths):
    """The rules of a block, whose weights go to several places."""
    shared = (copies(len(paths)),) if len(paths) > 1 else ()
    return [
        Rule(rule.theirs, [f"{path}{rule.ours[0]}" for path in paths], *rule.steps, *shared, also=rule.also)
        for rule in block_rules(here, "", LAYERS, NORMS)
    ]


def _make_tokenizer(source, ids):
    """The tokenizer: a SentencePiece model behind the rules for letters, with [CLS] and [SEP] around a text."""
    settings = source.json("tokenizer_config.json")
    require(settings, source.address, add_prefix_space=(True, None))
    lower, accents = settings.get("do_lower_case", True), settings.get("keep_accents", False)
    change = partial(with_plain_letters, lower=lower, accents=accents)
    return tokenizer_of(source, ids, ("Albert",), ((BOS,), (EOS,)), change, RULES)


register(Family("albert", of_type("albert"), network, "AutoModel"))
