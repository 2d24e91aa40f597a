"""Models that write, in NumPy: of each step the logits, and the attention over the source."""

import numpy as np

from tests import oracles, transformer_oracles
from zoo.models import Ensemble, Seq2Seq, Transformer


class RNNSearch:
    """A `Seq2Seq` of one GRU layer in NumPy: `run(source, target)` is the logits and attention of each step."""

    def __init__(self, model):
        self.read, self.write = oracles.numpy(model.source_embedding.embeddings, model.target_embedding.embeddings)
        both, bridge, readout = model.encoder.layers[0], model.decoder.bridges[0], model.readout
        self.directions = [
            oracles.from_keras("gru", each.cell)[0] for each in (both.forward_layer, both.backward_layer)
        ]
        self.start, self.out = map(transformer_oracles.affine, (bridge, readout))
        self.step, self.score = (
            oracles.from_keras("gru", model.decoder.step_cell.cell)[0],
            oracles.score_of(model.decoder.attention),
        )
        (self.bias,), self.units = oracles.numpy(model.bias), model.units

    def run(self, source, target):
        hidden, finals = oracles.encode(*self.directions, self.read[source][None], [len(source)], self.units)
        s, logits, attention = np.tanh(self.start(finals[0][0])), [], []
        for y in self.write[target]:
            context, weights = oracles.attend(self.score, s, hidden[0])
            (s,) = self.step(np.concatenate([y, context]), (s,))
            logits.append(self.write @ np.tanh(self.out(np.concatenate([s, context, y]))) + self.bias)
            attention.append(weights)
        return np.array(logits), np.array(attention)


class Vaswani:
    """A `Transformer` in NumPy; its attention is the mean over the heads of the last block's."""

    def __init__(self, model):
        self.model = model

    def run(self, source, target):
        model = self.model
        memory = transformer_oracles.stack(model.encoder)(
            transformer_oracles.embed(source, model.source_embedding, model.source_positions)
        )
        x = transformer_oracles.embed(target, model.target_embedding, model.positions)
        *blocks, last = model.decoder.blocks
        wiring = transformer_oracles.BLOCKS[type(last).__name__]
        for block in blocks:
            x = wiring(block)(x, memory, causal=True)
        own, (first, second, _) = transformer_oracles.multi_head(last.attention), last.norms
        norms = transformer_oracles.layer_norm(first), transformer_oracles.layer_norm(second)
        if wiring is transformer_oracles.post_norm:
            query = norms[0](x + own(x, x, True))
        else:
            query = norms[1](x + own(norms[0](x), norms[0](x), True))
        logits = transformer_oracles.transformer(model, source, target)
        return logits, self.weights(last.cross_attention, query, memory)

    @staticmethod
    def weights(layer, query, memory):
        queries, keys = layer.query_projection, layer.key_projection
        Q, K = transformer_oracles.affine(queries)(query), transformer_oracles.affine(keys)(memory)
        heads = np.split(np.arange(layer.units), layer.num_heads)
        return np.mean(
            [[oracles.softmax(K[:, i] @ q[i] / np.sqrt(len(i))) for q in Q] for i in heads],
            axis=0,
        )


class Mean:
    """An `Ensemble` in NumPy."""

    def __init__(self, model):
        self.members = [oracle_of(each) for each in model.members]

    def run(self, source, target):
        logits, attention = zip(*(each.run(source, target) for each in self.members), strict=True)
        return np.mean([[row - np.log(np.exp(row).sum()) for row in each] for each in logits], 0), np.mean(attention, 0)


def oracle_of(model):
    return {Seq2Seq: RNNSearch, Transformer: Vaswani, Ensemble: Mean}[type(model)](model)
