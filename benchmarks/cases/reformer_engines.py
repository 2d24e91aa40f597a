"""The gradient of one reversible layer: ours with LSH or full attention, and Hugging Face's Reformer."""

UNITS, HEADS, HIDDEN, CHUNK = 256, 4, 512, 64


def buckets(length):
    """A number, or two factors where it is large: about the square root each."""
    count = max(2, 2 * length // CHUNK)
    if count <= 64:
        return count
    first = 2 ** (count.bit_length() // 2)
    return [first, count // first]


def ours(threads, length, batch, rounds):
    """`rounds=None` is full attention."""
    from harness.gradients import begin_training, gradient_step

    begin_training(threads)
    import numpy as np

    from zoo.depth import make_reformer_stack

    hashing = None if rounds is None else {"num_buckets": buckets(length), "chunk_length": CHUNK, "rounds": rounds}
    stack = make_reformer_stack(1, UNITS, HEADS, HIDDEN, hashing=hashing, dropout=0.0, seed=0)
    stack.build((None, None, UNITS))
    x = np.random.default_rng(0).normal(size=(batch, length, UNITS)).astype("float32")
    return gradient_step(stack, x, causal=True, training=True)


def peer(threads, length, batch, rounds):
    import torch
    from transformers import ReformerConfig, ReformerModel

    torch.set_num_threads(threads)
    config = ReformerConfig(
        attn_layers=["lsh"],
        hidden_size=UNITS,
        num_attention_heads=HEADS,
        attention_head_size=UNITS // HEADS,
        feed_forward_size=HIDDEN,
        lsh_attn_chunk_length=CHUNK,
        lsh_num_chunks_before=1,
        lsh_num_chunks_after=0,
        num_hashes=rounds,
        num_buckets=buckets(length),
        is_decoder=True,
        axial_pos_embds=False,
        max_position_embeddings=length,
        hidden_dropout_prob=0.0,
        lsh_attention_probs_dropout_prob=0.0,
        vocab_size=256,
    )
    model = ReformerModel(config).train()
    ids = torch.randint(0, 256, (batch, length))

    def step():
        model.zero_grad()
        loss = model(ids).last_hidden_state.pow(2).mean()
        loss.backward()
        return float(loss)

    return step
