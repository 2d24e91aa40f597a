"""Tiny Reformers of `transformers`. Texts are asked one by one: there the padding of others changes an answer."""

import numpy as np
import transformers
from making import LABELS, answers, stirred

REFORMER = {"vocab_size": 40, "hidden_size": 16, "attention_head_size": 5, "num_attention_heads": 3}
REFORMER |= {"feed_forward_size": 24, "axial_pos_shape": [4, 6], "axial_pos_embds_dim": [6, 10], "hash_seed": 3}
REFORMER |= {"max_position_embeddings": 24, "attn_layers": ["local", "lsh", "lsh", "local"], "num_buckets": [2, 4]}
REFORMER |= {"local_attn_chunk_length": 3, "lsh_attn_chunk_length": 2}


def reformer(folder, make=transformers.ReformerModelWithLMHead, **settings):
    model = stirred(make(transformers.ReformerConfig(**REFORMER | {"is_decoder": True} | settings)))
    model.save_pretrained(folder)
    answers(folder, model, np.arange(3, 40), 0, alone=True)


def reformer_reader(folder):
    looks = {"local_num_chunks_after": 1, "lsh_num_chunks_before": 2, "lsh_num_chunks_after": 1}
    reformer(folder, transformers.ReformerModel, is_decoder=False, **looks)


def reformer_classifier(folder):
    """Texts of one chunk, whose rotations decide nothing."""
    chunks = {"local_attn_chunk_length": 16, "lsh_attn_chunk_length": 16, "hash_seed": None, "num_hashes": 2}
    make = transformers.ReformerForSequenceClassification
    reformer(folder, make, is_decoder=False, axial_pos_embds=False, **chunks, **LABELS)
