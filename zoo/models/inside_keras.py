"""What a model of the zoo does when it is compiled, fitted and exported as Keras does it (docs/inside-keras.md)."""

from keras import ops

from zoo.core.protocols import Loss


class InsideKeras:
    """A mixin, before the Keras class.

    A loss that declares `of_outputs` (`zoo.training.ChunkedCrossEntropy`, `zoo.training.DepthAdaptiveLoss`) is given
    whatever the model returns in training, a tuple or a dict; metrics then are those of the validation, because there
    are no single logits in training to take them of.
    """

    @property
    def returns_states(self):
        """Whether the model was compiled with a loss that makes its logits itself, a part of them at a time."""
        return Loss.of(getattr(self, "loss", None)).of_states

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        """As of Keras; see the class for a loss that declares `of_outputs`."""
        loss = getattr(self, "loss", None)
        if not Loss.of(loss).of_outputs:
            return super().compute_loss(x, y, y_pred, sample_weight, training)
        total = loss(y, y_pred, sample_weight=sample_weight)
        return total + sum(ops.sum(each) for each in self.losses)

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        """As of Keras, where there are logits."""
        if isinstance(y_pred, dict | tuple | list):
            return self._loss_alone()
        return super().compute_metrics(x, y, y_pred, sample_weight)

    def get_metrics_result(self):
        """As of Keras, and before the first validation the loss alone, where that is all there is."""
        unseen = any(not getattr(metric, "built", True) for metric in self.metrics)
        return self._loss_alone() if unseen else super().get_metrics_result()

    def _loss_alone(self):
        return {metric.name: metric.result() for metric in self.metrics if metric.name == "loss"}

    def export(self, filepath, format="tf_saved_model", **kwargs):
        """Refused: Keras would write one call of the model, which for a model that writes texts is teacher forcing.

        Raises:
            ValueError: always; it names what to call instead.
        """
        raise ValueError(
            f"{type(self).__name__}.export(format={format!r}) is not what a model of the zoo is exported with: Keras "
            "would write the pass of training alone, without tokenizers and search, and without the check that every "
            "file answers alike. Expected: serving.export.export(model, tokenizers, out, settings), which writes "
            "SavedModel and ONNX (or `seqzoo export RUN`); docs/inside-keras.md shows it. For a single function of "
            "your own, take keras.export.ExportArchive, or tf.saved_model.save of a tf.function."
        )
