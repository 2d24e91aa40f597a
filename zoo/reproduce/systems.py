"""The systems whose papers' claims are measured, and the names by which they are called; imports no framework."""

import difflib
import re

SYSTEMS = {  # name -> title, module of this package, other names
    "recurrent": ("SimpleRNN, GRU and LSTM", "recurrent", ("rnn", "simple rnn", "gru", "lstm")),
    "attention": ("Sequence to sequence with attention", "attention", ("seq2seq", "additive", "dot", "bahdanau")),
    "transformer": ("Transformer, post-LN and pre-LN", "transformer", ("post-ln", "pre-ln", "post-norm", "pre-norm")),
    "macaron": ("Macaron Net", "macaron", ("macaron net",)),
    "product-key": ("Product-key memory", "product_key", ("product-key memory", "pkm")),
    "tensorized": ("Tensorized Transformer", "tensorized", ("tensorized transformer", "tensorised", "multi-linear")),
    "adaptive-span": ("Adaptive attention span", "adaptive_span", ("adaptive attention span",)),
    "universal": ("Universal Transformer", "universal", ("universal transformer", "act")),
    "depth-adaptive": ("Depth-Adaptive Transformer", "depth_adaptive", ("depth-adaptive transformer",)),
    "star": ("Star-Transformer", "star", ("star-transformer",)),
    "reformer": ("Reformer", "reformer", ("lsh", "reversible", "revnet")),
}


def find(name):
    """The name of a system as `SYSTEMS` has it; case, spaces, hyphens and underscores do not matter.

    Raises:
        ValueError: there is no such system; the message names those that are spelled alike.
    """
    known = {_plain(other): own for own, (_, _, others) in SYSTEMS.items() for other in (own, *others)}
    if _plain(name) in known:
        return known[_plain(name)]
    near = [known[each] for each in difflib.get_close_matches(_plain(name), known, n=2, cutoff=0.7)]
    meant = f"Did you mean {' or '.join(dict.fromkeys(near))}? " if near else ""
    raise ValueError(f"There is no system {name!r}. {meant}Expected one of {', '.join(SYSTEMS)}; or give --all.")


def _plain(name):
    return re.sub(r"[\s_-]+", "", name.lower())
