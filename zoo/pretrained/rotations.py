"""The numbers of `torch.manual_seed(seed); torch.randn(count)`, of which Hugging Face's Reformer makes its rotations.

The bits are those of the Mersenne Twister. From sixteen numbers on, they become normal by Box and Muller in blocks of
sixteen, the last of which overlaps the one before it; fewer are drawn in pairs, of twice as many bits.
"""

import numpy as np

BLOCK = 16


def draw_normals(seed, count):
    """`(count,)` float32, as PyTorch draws them on a processor, up to rounding."""
    generator = np.random.RandomState(seed % 2**32)

    def draw_bits(number):
        return generator.randint(0, 2**32, number, dtype="uint32").astype("uint64")

    def draw_blocks(number):
        shares = (draw_bits(number) % 2**24 * 2.0**-24)[: number // BLOCK * BLOCK].reshape(-1, 2, BLOCK // 2)
        return np.stack(_box_muller(shares[:, 0], shares[:, 1]), 1).reshape(-1)

    if count >= BLOCK:
        numbers = np.resize(draw_blocks(count), count)
        if count % BLOCK:
            numbers[-BLOCK:] = draw_blocks(BLOCK)
    else:
        high, low = draw_bits(2 * (count + count % 2)).reshape(-1, 2).T
        shares = (high * 2**32 + low) % 2**53 * 2.0**-53
        numbers = np.stack(_box_muller(shares[1::2], shares[::2]), 1).reshape(-1)[:count]
    return numbers.astype("float32")


def _box_muller(share, turn):
    """Box and Muller's two normal numbers of two uniform ones."""
    radius = np.sqrt(-2 * np.log1p(-share))
    return radius * np.cos(2 * np.pi * turn), radius * np.sin(2 * np.pi * turn)


def draw_rotations(seed, shape, factors):
    """The rotations of `LSHSelfAttention`, `(*shape, factor / 2)` for each factor of its number of buckets.

    Args:
        seed: its `hash_seed`.
        shape: (heads, width of a head, rounds).
        factors: even numbers.
    """
    halves = [each // 2 for each in factors]
    numbers = draw_normals(seed, int(np.prod(shape)) * sum(halves)).reshape(*shape, sum(halves))
    return np.split(numbers, np.cumsum(halves)[:-1], axis=-1)


def buckets_for(time, longest, chunk):
    """The number of buckets, or its factors, that the Reformer chooses where its settings give none.

    Args:
        time: positions of a text.
        longest: its `max_position_embeddings`.
        chunk: positions of a chunk.
    """
    power = max((2 * (time // chunk)).bit_length() - 1, 1)
    if 2**power > 2 * max(int((longest // chunk) ** 0.5), chunk):
        return [2 ** (power // 2), 2 ** (power - power // 2)]
    return 2**power
