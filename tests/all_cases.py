"""Every public layer and model as a case (how it is made, called and with what): one list for all batteries."""

from tests.attention import cases as attention
from tests.blocks import cases as blocks
from tests.depth import cases as depth
from tests.embeddings import cases as embeddings
from tests.feedforward import cases as feedforward
from tests.models import cases, settings
from tests.recurrent import cases as recurrent

MODELS = [*cases.CASES, *settings.CASES]
OF_SLOTS = [*attention.CASES, *feedforward.CASES, *embeddings.CASES]
CASES = [*OF_SLOTS, *blocks.CASES, *depth.CASES, *recurrent.CASES, *MODELS]

# Each differs from another case in a setting alone, and its battery is asked at a release.
VARIATIONS = """
multi-head-without-bias multi-linear-both-ways adaptive-span-window lsh-one-chunk feedforward-gelu chunked-3-gelu
product-key-all-slots post_norm-encoder pre_norm-encoder macaron-encoder stack-pre_norm-gelu-encoder
encoder-gru encoder-gru_reset_before encoder-lstm encoder-gru-3-layers encoder-gru-self-dot
cell-lstm-1-dot cell-simple_rnn-2-additive decoder-simple_rnn-1-dot decoder-gru_reset_before-1-None
seq2seq-simple_rnn-1-None seq2seq-simple_rnn-1-additive seq2seq-simple_rnn-1-dot seq2seq-gru-1-None seq2seq-gru-1-dot
seq2seq-gru_reset_before-1-additive seq2seq-gru_reset_before-1-dot seq2seq-lstm-1-None seq2seq-lstm-1-additive
seq2seq-lstm-2-additive seq2seq-gru-2-None transformer-post_norm transformer-macaron language-model-learned
reformer-language-model universal-language-model language-model-tensorized
recurrent-tagger recurrent-pair-classifier tokens-own-output normalized-projected feedforward-gelu-tanh
feedforward-silu language-model-output-bias pooling-mean universal-classifier classifier-both-streams
multi-head-head-units relative-with-bias gated-with-bias
""".split()
