"""The tokenizer as TensorFlow operations, for graphs and SavedModels that take and give strings.

The only file of the zoo that imports tensorflow_text; `import zoo.text` does not import it.
"""

import hashlib

import tensorflow as tf
import tensorflow_text

from zoo.text.special import PAD


class GraphTokenizer(tf.Module):
    """`Tokenizer` inside a graph: the same model bytes give the same ids and the same text.

    The bytes are an attribute of an operation of the graph, so a SavedModel needs no further file;
    whoever loads it imports tensorflow_text first, which registers the operations.

    Args:
        model_bytes: a serialised SentencePiece model with the zoo's special ids
            (`Tokenizer.model_bytes`).
    """

    def __init__(self, model_bytes: bytes):
        super().__init__()
        # The kernel shares resources by name: without a name of its own, the second tokenizer of a
        # loaded SavedModel would silently become the first.
        name = f"sentencepiece_{hashlib.sha256(model_bytes).hexdigest()[:16]}"
        self._tokenizer = tensorflow_text.SentencepieceTokenizer(model=model_bytes, add_eos=True, name=name)

    def encode(self, text: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Token ids with EOS appended, as every source of the zoo has it.

        Args:
            text: (batch,) string.

        Returns:
            token_ids (batch, time) int32, PAD-padded to the longest row, and lengths (batch,)
            int32, EOS counted.
        """
        pieces = self._tokenizer.tokenize(text)  # ragged (batch, None)
        lengths = tf.cast(pieces.row_lengths(), tf.int32)
        return tf.cast(pieces.to_tensor(default_value=PAD), tf.int32), lengths

    def decode(self, token_ids: tf.Tensor, lengths: tf.Tensor) -> tf.Tensor:
        """Text of the first `lengths` tokens of each row; PAD, BOS and EOS are dropped.

        Args:
            token_ids: (batch, time) int32.
            lengths: (batch,) int32.

        Returns:
            (batch,) string.
        """
        pieces = tf.RaggedTensor.from_tensor(tf.cast(token_ids, tf.int32), lengths=lengths)
        return self._tokenizer.detokenize(pieces)
