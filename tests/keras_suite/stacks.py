"""Blocks, stacks, rules of exit and the recurrent family as rows of the table."""

from tests.keras_suite.case import Suite, by_policy
from tests.keras_suite.sizes import additive, block, dense, dot_product, multi_head, norm, recurrent
from tests.keras_suite.slots import ARGUED, CAUSAL, KEPT, MASKS, NAMED, B, D, F, H, S, T, X
from tests.keras_suite.wrapped import Attending, Decoding
from zoo.attention import AdditiveAttention, DotProductAttention, LSHAttention, MultiHeadAttention
from zoo.blocks import Macaron, PostNorm, PreNorm, StarBlock
from zoo.depth import (
    ConfidenceExit,
    FixedExit,
    GeometricExit,
    Halting,
    MultinomialExit,
    ReversibleStack,
    SequenceExit,
    UniversalStack,
    make_depth_adaptive_stack,
    make_stack,
    make_star_stack,
    make_universal_stack,
)
from zoo.feedforward import FeedForward
from zoo.recurrent import (
    AttentionCell,
    RecurrentDecoder,
    RecurrentEncoder,
    RecurrentReader,
    SelfAttentiveEncoder,
    make_cell,
)

N = 2  # blocks of a stack
MEMORY = {"x_shape": X, "memory_shape": (B, S, D)}


def of_block(cls, cross=False, dropout=0.0):
    def make(**s):
        parts = {"attention": MultiHeadAttention(D, H, **s), "feedforward": FeedForward(D, F, **s)}
        if cross:
            parts["cross_attention"] = MultiHeadAttention(D, H, **s)
        if cls is Macaron:
            parts["first"] = FeedForward(D, F, **s)
        return cls(**parts, dropout=dropout, seed=1, **s)

    return make


def star_block(**s):
    return StarBlock(MultiHeadAttention(D, H, **s), MultiHeadAttention(D, H, **s), **s)


STAR = {"states_shape": X, "embeddings_shape": X, "relay_shape": (B, 1, D)}
BLOCKS = [
    Suite("post-norm", of_block(PostNorm), X, X, block(D, F), 16, settings=MASKS),
    Suite(
        "pre-norm-decoder",
        of_block(PreNorm, cross=True, dropout=0.1),
        MEMORY,
        X,
        block(D, F, cross=True),
        26,
        settings={**MASKS, **CAUSAL, "expected_num_seed_generators": 3},  # one for each branch
        own_training=NAMED,
    ),
    Suite("macaron", of_block(Macaron), X, X, block(D, F, feedforwards=2), 22, settings=MASKS),
    # https://arxiv.org/abs/1902.09113: an attention and a norm of the positions, and the same of the relay.
    Suite("star-block", star_block, STAR, (X, (B, 1, D)), 2 * (multi_head(D) + norm(D)), 20, own_training=NAMED),
]


def stack(**settings):
    return by_policy(lambda: make_stack(N, D, H, F, **settings))


@by_policy
def reversible():
    blocks = [PreNorm(LSHAttention(D, H, 4, 2, seed=1), FeedForward(D, F), dropout=0.1, seed=1) for _ in range(N)]
    return ReversibleStack(blocks)


@by_policy
def universal_decoder():
    return UniversalStack(of_block(PreNorm, cross=True)(), 3, Halting("interpolated"), max_offset=4, seed=1)


def depth_adaptive(rule, **settings):
    """Without dropout: the training check calls the stack with its exits live, which is a condition around each block,
    and on JAX the count of a dropout's calls cannot leave a condition. Models train by `depths` and `path` instead.
    """
    return by_policy(lambda: make_depth_adaptive_stack(N, D, H, F, rule(N), dropout=0.0, **settings))


LSH_BLOCK = block(D, F) - multi_head(D) + 3 * D * D
STACKS = [
    Suite("stack-post-norm", stack(block="post_norm"), X, X, N * block(D, F), N * 16, settings=MASKS),
    Suite(
        "stack-pre-norm-decoder",
        stack(block="pre_norm", cross=True),
        MEMORY,
        X,
        N * block(D, F, cross=True) + norm(D),
        N * 26 + 2,
        settings=CAUSAL,
        own_training=NAMED,
    ),
    Suite(
        "reversible",
        reversible,
        X,
        X,
        N * LSH_BLOCK + norm(D),
        N * 11 + 2,
        fixed=N * D * 2 * 4 // 2,
        fixed_weights=N,
        settings=MASKS,
    ),
    # https://arxiv.org/abs/1807.03819: the parameters of one block, however often it is applied; and `w h + b`.
    Suite(
        "universal",
        by_policy(lambda: make_universal_stack(4, D, H, F, Halting())),
        X,
        X,
        block(D, F) + dense(D, 1),
        18,
        settings={**MASKS, "expected_num_losses": 0},
    ),
    Suite(
        "universal-decoder",
        universal_decoder,
        MEMORY,
        X,
        block(D, F, cross=True) + norm(D) + dense(D, 1),
        30,
        settings=CAUSAL,
        own_training=NAMED,
    ),
    # https://openreview.net/forum?id=SJg7KhVKPH: a norm for each depth, and the rule of exit.
    Suite(
        "depth-adaptive",
        depth_adaptive(GeometricExit),
        MEMORY,
        X,
        N * block(D, F, cross=True) + N * norm(D) + dense(D, 1),
        N * 26 + N * 2 + 2,
        settings=CAUSAL,
        own_training=NAMED,
    ),
    Suite(
        "depth-adaptive-sequence",
        depth_adaptive(SequenceExit, block="post_norm"),
        MEMORY,
        X,
        N * block(D, F, cross=True) + dense(D, N),
        N * 26 + 2,
        settings=CAUSAL,
        own_training=NAMED,
    ),
    Suite(
        "star-stack",
        by_policy(lambda: make_star_stack(N, D, H, dropout=0.1, seed=1)),
        X,
        X,
        N * 2 * (multi_head(D) + norm(D)),
        N * 20,
    ),
    Suite(
        "star-stack-summary",
        by_policy(lambda: make_star_stack(N, D, H)),
        X,
        (B, D),
        N * 2 * (multi_head(D) + norm(D)),
        N * 20,
        settings={"call_kwargs": {"summary": True, "mask": KEPT}},
        own_training=ARGUED,
    ),
]
UNLEARNT = "The rule learns nothing and so has no call: the stack asks its other methods. Only its config is tested."
EXITS = [
    Suite("exit-multinomial", lambda **s: MultinomialExit(N, **s), X, (B, T, N), dense(D, N), 2),
    Suite("exit-sequence", lambda **s: SequenceExit(N, **s), X, (B, T, N), dense(D, N), 2),
    Suite("exit-geometric", lambda **s: GeometricExit(N, **s), X, (B, T), dense(D, 1), 2),
    Suite("exit-fixed", lambda **s: FixedExit(N, **s), None, None, uncalled=UNLEARNT),
    Suite("exit-confidence", lambda **s: ConfidenceExit(N, [0.9], **s), None, None, uncalled=UNLEARNT),
    Suite("halting", lambda **s: Halting(**s), X, (B, T), dense(D, 1), 2),
]
READ = ((B, T, 2 * D), ((B, 2 * D),))
RECURRENT = [
    *(
        Suite(
            f"encoder-{cell}",
            lambda cell=cell, **s: RecurrentEncoder(D, cell, bidirectional=False, **s),
            X,
            ((B, T, D), ((B, D),) * states),
            recurrent(cell, D, D),
            3,
            settings=MASKS,
        )
        for cell, states in (("simple_rnn", 1), ("gru", 1), ("gru_reset_before", 1), ("lstm", 2))
    ),
    Suite(
        "encoder-both-ways",
        lambda **s: RecurrentEncoder(D, "gru", num_layers=2, dropout=0.1, seed=1, **s),
        X,
        READ,
        2 * recurrent("gru", D, D) + 2 * recurrent("gru", 2 * D, D),
        12,
    ),
    Suite(
        "encoder-self-attentive",
        lambda **s: SelfAttentiveEncoder(RecurrentEncoder(D, **s), DotProductAttention(4, **s), **s),
        X,
        READ,
        2 * recurrent("gru", D, D) + dot_product(4, 2 * D, 2 * D) + dense(4 * D, 2 * D),
        6 + 2 + 2,
    ),
    Suite(
        "reader",
        lambda **s: RecurrentReader(RecurrentEncoder(D, "lstm", **s), **s),
        X,
        (B, T, 2 * D),
        2 * recurrent("lstm", D, D),
        6,
        settings=MASKS,
    ),
    Suite(
        "decoder",
        lambda **s: Decoding(RecurrentDecoder(D, "gru", AdditiveAttention(4, **s), **s), **s),
        {"inputs_shape": X, "values_shape": (B, S, 3), "state_shape": (B, 3)},
        (B, T, D + 3),
        recurrent("gru", D + 3, D) + additive(4, D, 3) + dense(3, D),  # the cell reads `[y; c]`; `s_0 = tanh(W h + b)`
        3 + 4 + 2,
        own_training=NAMED,
    ),
    Suite(
        "decoder-without-attention",
        lambda **s: Decoding(RecurrentDecoder(D, "lstm", num_layers=2, **s), **s),
        {"inputs_shape": X, "values_shape": (B, S, 3), "state_shape": (B, 3)},
        (B, T, D + 3),
        recurrent("lstm", D + 3, D) + recurrent("lstm", D, D) + 4 * dense(3, D),
        6 + 8,
        own_training=NAMED,
    ),
    Suite(
        "attention-cell",
        lambda **s: Attending(AttentionCell(make_cell("gru", D, **s), AdditiveAttention(4, **s), **s), **s),
        {"inputs_shape": X, "values_shape": (B, S, 3)},
        (B, T, D + 3),
        recurrent("gru", D + 3, D) + additive(4, D, 3),
        3 + 4,
        own_training=NAMED,
    ),
]
