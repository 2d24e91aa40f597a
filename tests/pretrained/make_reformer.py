"""Tiny Reformers of `transformers`. Texts are asked one by one: there the padding of others changes an answer."""

import numpy as np
import transformers
from making import LABELS, TEXTS, answers, pieces, said, stirred

REFORMER = {"vocab_size": 40, "hidden_size": 16, "attention_head_size": 5, "num_attention_heads": 3}
REFORMER |= {"feed_forward_size": 24, "axial_pos_shape": [4, 6], "axial_pos_embds_dim": [6, 10], "hash_seed": 3}
REFORMER |= {"max_position_embeddings": 24, "attn_layers": ["local", "lsh", "lsh", "local"], "num_buckets": [2, 4]}
REFORMER |= {"local_attn_chunk_length": 3, "lsh_attn_chunk_length": 2}


def reformer(folder):
    network(folder, transformers.ReformerModelWithLMHead, is_decoder=True)
    model = pieces(TEXTS, 40, model_type="bpe", pad_id=0, unk_id=1, eos_id=2, bos_id=-1)
    (folder / "spiece.model").write_bytes(model)
    said(folder, transformers.ReformerTokenizer.from_pretrained(folder))


def network(folder, make, **settings):
    model = stirred(make(transformers.ReformerConfig(**REFORMER | settings)))
    model.save_pretrained(folder)
    answers(folder, model, np.arange(3, 40), 0, alone=True)


def reformer_reader(folder):
    looks = {"local_num_chunks_after": 1, "lsh_num_chunks_before": 2, "lsh_num_chunks_after": 1}
    network(folder, transformers.ReformerModel, **looks)


def reformer_classifier(folder):
    """Texts of one chunk, whose rotations decide nothing."""
    chunks = {"local_attn_chunk_length": 16, "lsh_attn_chunk_length": 16, "hash_seed": None, "num_hashes": 2}
    make = transformers.ReformerForSequenceClassification
    network(folder, make, axial_pos_embds=False, **chunks, **LABELS)
