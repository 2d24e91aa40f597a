"""How many parameters the parts of a model have, by the formulas of the papers."""


def dense(inputs, units, bias=True):
    """`W x + b`."""
    return inputs * units + bias * units


def norm(units):
    """LayerNormalization's gain and offset."""
    return 2 * units


def multi_head(units, query=None, value=None, bias=True):
    """`W_Q, W_K, W_V, W_O` of https://arxiv.org/abs/1706.03762, section 3.2, and their biases."""
    query, value = query or units, value or units
    return dense(query, units, bias) + 2 * dense(value, units, bias) + dense(units, units, bias)


def additive(units, query, value):
    """`v^T tanh(W_s s + W_h h + b)` of https://arxiv.org/abs/1409.0473, appendix A.1.2."""
    return query * units + value * units + units + units


def dot_product(units, query, value):
    """`(W_K h)^T (W_Q s)` of https://arxiv.org/abs/1508.04025, section 3.1."""
    return query * units + value * units


def feedforward(units, hidden_units):
    """`W_2 f(W_1 x + b_1) + b_2` of https://arxiv.org/abs/1706.03762, section 3.3."""
    return dense(units, hidden_units) + dense(hidden_units, units)


def block(units, hidden_units, cross=False, feedforwards=1):
    """The sub-layers of a Transformer's block, and a norm for each."""
    attentions = 2 if cross else 1
    sublayers = attentions * multi_head(units) + feedforwards * feedforward(units, hidden_units)
    return sublayers + (attentions + feedforwards) * norm(units)


def recurrent(cell, inputs, units):
    """A kernel, a recurrent kernel and a bias for each gate; a GRU that resets after the product has two biases."""
    gates, biases = {"simple_rnn": (1, 1), "gru": (3, 2), "gru_reset_before": (3, 1), "lstm": (4, 1)}[cell]
    return gates * (inputs * units + units * units + biases * units)


def rotations(heads, head_dim, rounds, buckets):
    """Of LSH attention, which are not trained: a direction for each pair of buckets."""
    return heads * head_dim * rounds * buckets // 2


D, F = 6, 8  # units and hidden units; of what reads three units, its query, and of what looks at seven, its value
SOURCES, TARGETS, L = 11, 13, 3  # words, and labels
ENCODER, DECODER = block(D, F), block(D, F, cross=True)  # of one layer each
LSH = 2 * 3 * D + D * D  # queries are keys, so there are three projections
MEMORY = dense(5, 2 * 6) + 2 * 2 * 7 * 3 + 7**2 * 5  # W_h and b_h, two sets of half-keys a head, num_keys^2 values
READ = SOURCES * 5 + TARGETS * 5 + dense(10, 5)  # of a recurrent translator: embeddings, and from last state to first
WRITE = dense(20, 5) + TARGETS  # `t = tanh(W [s; c; y])`, and a bias of each word
LANGUAGE_MODEL, TRANSLATOR = TARGETS * D + ENCODER + norm(D), SOURCES * D + TARGETS * D + ENCODER + norm(D)


def seq2seq(cell, attention=0, states=1):
    """https://arxiv.org/abs/1409.0473: both directions are read, and the cell reads `[y; c]`."""
    return READ + (states - 1) * dense(10, 5) + 2 * recurrent(cell, 5, 5) + recurrent(cell, 15, 5) + attention + WRITE


TRAINED = {  # case of the contract battery -> its trained parameters
    "additive-cross": additive(5, 3, 7),
    "additive-causal-self": additive(5, 3, 3),
    "dot-cross": dot_product(5, 3, 7),
    "dot-causal-self": dot_product(5, 3, 3),
    "multi-head-cross": multi_head(D, 3, 7),
    "multi-head-self": multi_head(D, 3, 3),
    "multi-head-causal-self": multi_head(D, 3, 3),
    "multi-head-cached": multi_head(D, 3, 3),
    # https://arxiv.org/abs/2001.04451
    "lsh-causal": LSH,
    "lsh-both-ways": LSH,
    # https://arxiv.org/abs/1905.07799: vectors of distances, which the heads share, and a span for each head.
    "adaptive-span-static": multi_head(D, 3, 3, bias=False) + 4 * D // 2 + 2,
    "adaptive-span-dynamic": multi_head(D, 3, 3, bias=False) + 4 * D // 2 + dense(3, 2),
    # https://arxiv.org/abs/1906.09777: three factors of rank R, h diagonal cores, and W_O over all pairs of places.
    "multi-linear-causal": 3 * 3 * 5 + 2 * 5 + 7 * 7 * D,
    "multi-linear-reconstruct": 3 * 3 * 5 + 2 * 5 + 7 * D,
    # https://arxiv.org/abs/1910.10683: a bias for each bucket and head; heads of five channels are wider than D / H.
    "relative-causal": multi_head(D, 3, 3, bias=False) + 8 * 2,
    "relative-both-ways": 3 * 3 * 10 + 10 * D + 8 * 2,
    # https://aclanthology.org/D19-5632: two matrices, and a bias of the gate.
    "ssru": 3 * D + dense(3, D),
    "local-causal": multi_head(D, 3, 3, bias=False),
    "local-ring": 3 * 3 * 10 + 10 * D,
    "ring-lsh-causal": LSH,
    "ring-lsh-both-ways": 2 * 3 * 10 + 10 * D,
    "feedforward-relu": feedforward(5, 11),
    "gated": 3 * 5 * 11,
    "chunked-2": feedforward(5, 11),
    # https://arxiv.org/abs/1907.05242, and the norm's gain and offset; mean and variance of a batch are not trained.
    "product-key-batch-norm": MEMORY + norm(2 * 6),
    "product-key-layer-norm": MEMORY + norm(6),
    "axial": (4 + 3) * D // 2,
    "axial-unequal": 4 * 1 + 3 * 5,
    "normalized": 11 * 5 + norm(5),
    "concatenated": 11 * 3 + dense(5 + 3, 5),
    "convolutional": dense(3 * 5, 5),
    "tokens": TARGETS * 5,
    "spelled": TARGETS * 5 + 7 * 5,
    "sentences": TARGETS * 5 + 2 * 5,
    "sinusoidal": 0,
    "learned": 11 * 5,
    "pooling-first": 0,
    "post_norm-decoder": DECODER,
    "pre_norm-decoder": DECODER,
    "macaron-decoder": block(D, F, cross=True, feedforwards=2),
    "stack-post_norm-encoder": 2 * ENCODER,
    "stack-rms-decoder": 2 * (DECODER - 3 * D) + D,  # without offsets
    "stack-macaron-decoder": 2 * block(D, F // 2, cross=True, feedforwards=2) + norm(D),
    "reversible-lsh-encoder": 2 * (ENCODER - multi_head(D) + 3 * D * D) + norm(D),
    "reversible-macaron-decoder": 2 * block(D, F, cross=True, feedforwards=2) - multi_head(D) + 3 * D * D + norm(D),
    # https://arxiv.org/abs/1807.03819: the parameters of one block, however often it is applied; and `w h + b`.
    "universal-encoder": ENCODER,
    "universal-act-encoder": ENCODER + dense(D, 1),
    "universal-act-decoder": DECODER + norm(D) + dense(D, 1),
    # https://openreview.net/forum?id=SJg7KhVKPH: a norm for each depth, and the rule of exit.
    "depth-adaptive-exits": 3 * (DECODER + norm(D)) + dense(D, 1),
    "depth-adaptive-depths": 3 * DECODER + dense(D, 3),
    # https://arxiv.org/abs/1902.09113: an attention and a norm of positions and of the relay, whose last none reads.
    "star-states": 3 * (multi_head(D) + norm(D)),
    "star-summary": 4 * (multi_head(D) + norm(D)),
    "encoder-simple_rnn": recurrent("simple_rnn", 3, 5),
    "encoder-lstm-2-layers-both-ways": 2 * recurrent("lstm", 3, 5) + 2 * recurrent("lstm", 10, 5),
    "encoder-lstm-self-additive": 2 * recurrent("lstm", 3, 5) + additive(7, 10, 10) + dense(20, 10),
    "reader": 2 * recurrent("lstm", 3, 5),
    "cell-gru-1-additive": recurrent("gru", 3 + 7, 5) + additive(5, 5, 7),  # the cell reads `[y; c]`
    "decoder-lstm-2-additive": recurrent("lstm", 10, 5) + recurrent("lstm", 5, 5) + additive(5, 5, 7) + 4 * dense(7, 5),
    "seq2seq-gru-1-additive": seq2seq("gru", additive(5, 5, 10)),
    "seq2seq-gru_reset_before-1-None": seq2seq("gru_reset_before"),
    "seq2seq-lstm-1-dot": seq2seq("lstm", dot_product(5, 5, 10), states=2),
    "ensemble": seq2seq("gru", dot_product(5, 5, 10)) + seq2seq("lstm", additive(5, 5, 10), states=2),
    # The target's embedding is the output matrix, too: there is no other.
    "transformer-pre_norm": TRANSLATOR + 2 * DECODER + norm(D),
    "transformer-shared": SOURCES * D + ENCODER + DECODER + norm(D),
    "transformer-ssru": TRANSLATOR - norm(D) + 2 * (DECODER - multi_head(D) + D * D + dense(D, D)),
    "transformer-with-an-output": (SOURCES + 2 * TARGETS)
    * D  # a matrix of its own with a bias, and norms without offsets
    + TARGETS
    + 2 * (11 * D + norm(D))
    + (ENCODER - 2 * D)
    + (DECODER - 3 * D)
    + 2 * D,
    # https://arxiv.org/abs/1910.10683: heads of four channels, eight buckets, gates; a norm behind each stack.
    "transformer-t5": (SOURCES + 2 * TARGETS) * D
    + 2 * (4 * D * 8 + 8 * 2 + 3 * D * F + 2 * D)
    + 2 * (8 * D * 8 + 8 * 2 + 3 * D * F + 3 * D)
    + 2 * D,
    "universal-transformer": TRANSLATOR - norm(D) + DECODER + 2 * dense(D, 1),
    "depth-adaptive": TRANSLATOR + 3 * (DECODER + norm(D)) + dense(D, 3) + 3 * TARGETS * D,  # an output of each depth
    "depth-adaptive-confidence": TRANSLATOR + 3 * (DECODER + norm(D)),
    "depth-adaptive-fixed": TRANSLATOR + 3 * (DECODER + norm(D)),
    "language-model-sinusoidal": LANGUAGE_MODEL,
    # Both streams are read, by a norm and by a matrix of their own.
    "language-model-both-streams": TARGETS * D + 2 * ENCODER + norm(2 * D) + TARGETS * 2 * D,
    "classifier": LANGUAGE_MODEL + dense(D, L),
    "sentence-classifier": LANGUAGE_MODEL + 2 * D + dense(D, L),
    "star-classifier": TARGETS * D + 4 * (multi_head(D) + norm(D)) + dense(D, L),
    "recurrent-classifier": TARGETS * 3 + 2 * recurrent("lstm", 3, 4) + 2 * recurrent("lstm", 8, 4) + dense(8, 5),
    # https://arxiv.org/abs/1909.11942: words and places of four units, a norm, and a matrix to the width of the states.
    "classifier-narrow-embedding": TARGETS * 4 + 11 * 4 + norm(4) + dense(4, D) + ENCODER + dense(D, D) + dense(D, L),
    "star-tagger": TARGETS * D + 11 * 3 + dense(D + 3, D) + 3 * (multi_head(D) + norm(D)) + dense(D, 5),
    "pair-classifier": LANGUAGE_MODEL + dense(4 * D, D) + dense(D, L),  # `W_1` reads `[r; s; |r - s|; r - s]`
    "encoder": TARGETS * D + ENCODER,
    "tagger": TARGETS * D + ENCODER + dense(3 * D, D) + dense(D, 5),
}
FIXED = {  # the same of those that are not trained; there are none in the other cases
    "lsh-causal": rotations(2, 3, 2, 4),
    "lsh-both-ways": rotations(2, 3, 2, 2 + 4),
    "ring-lsh-causal": rotations(2, 3, 2, 4),
    "ring-lsh-both-ways": rotations(2, 5, 1, 4),
    "product-key-batch-norm": 2 * 2 * 6,
    "spelled": TARGETS * 2 + TARGETS,  # the features of each piece, and whether it begins a word
    "sentences": TARGETS,  # whether an id ends a sentence
    "sentence-classifier": TARGETS,
    "reversible-lsh-encoder": 2 * rotations(2, 3, 2, 4),
    "reversible-macaron-decoder": rotations(2, 3, 2, 4),
    "depth-adaptive-confidence": 2,  # thresholds
}
