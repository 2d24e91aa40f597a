"""seqzoo: sequence models in Keras, from paper to production.

Importing `zoo` registers every class, so that `keras.models.load_model` finds them. It touches no network and imports
neither TensorFlow Text nor ONNX, and TensorFlow only where it is the Keras backend.
"""

from zoo import attention, blocks, depth, embeddings, feedforward, models, recurrent

__all__ = ["attention", "blocks", "depth", "embeddings", "feedforward", "models", "recurrent"]
