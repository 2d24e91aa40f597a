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
    systems = {_normalize(alias): system for system, (_, _, names) in SYSTEMS.items() for alias in (system, *names)}
    if _normalize(name) in systems:
        return systems[_normalize(name)]
    near = [systems[each] for each in difflib.get_close_matches(_normalize(name), systems, n=2, cutoff=0.7)]
    hint = f"Did you mean {' or '.join(dict.fromkeys(near))}? " if near else ""
    raise ValueError(f"There is no system {name!r}. {hint}Expected one of {', '.join(SYSTEMS)}; or give --all.")


def _normalize(name):
    return re.sub(r"[\s_-]+", "", name.lower())
