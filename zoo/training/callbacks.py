"""How the loop calls `keras.callbacks`, and how Ctrl-C ends a training between two steps.

`model.fit` knows epochs; the loop knows updates and validations. What lies between two validations is an epoch:

| call | when | logs |
|---|---|---|
| `on_train_begin`, `on_train_end` | once | `step`; at the end the last epoch's |
| `on_epoch_begin(epoch)` | before the first update of an epoch, counted from 0 over the whole run | |
| `on_train_batch_begin`, `on_train_batch_end(batch)` | around an update, counted within the epoch | `loss`, a scalar that waits for the device when it is read; every `log_every` updates `mean_loss`, `learning_rate` and `tokens_per_second`, too |
| `on_test_begin`, `on_test_batch_begin`, `on_test_batch_end`, `on_test_end` | around and in a validation | at the end `loss`, `nll`, `perplexity`, `accuracy` |
| `on_epoch_end(epoch)` | after a validation | `step`, `loss`, `learning_rate`, `val_loss` (the nll), `val_nll`, `val_perplexity`, `val_accuracy` |
"""  # noqa: E501

import contextlib
import os
import signal
import sys
import threading

import keras

PROTOCOL = (
    "on_train_begin on_train_end on_epoch_begin on_epoch_end on_train_batch_begin on_train_batch_end "
    "on_test_begin on_test_end on_test_batch_begin on_test_batch_end"
).split()


class Callbacks:
    """Calls a list of `keras.callbacks.Callback`s, one after the other, with logs as they are.

    `keras.callbacks.CallbackList` turns every value of the logs into a number, and so waits for the device in each
    step.

    Raises:
        ValueError: what is given is no callback, or a `BackupAndRestore`, whose task the loop's checkpoints have.
    """

    def __init__(self, callbacks, model, plan):
        self.callbacks = list(callbacks)
        for callback in self.callbacks:
            if not isinstance(callback, keras.callbacks.Callback):
                raise ValueError(f"callbacks must be keras.callbacks.Callback objects. Received: {callback!r}.")
            if isinstance(callback, keras.callbacks.BackupAndRestore):
                raise ValueError(
                    "BackupAndRestore is for model.fit: it would set the model back and leave the loop's own step "
                    "where it is. The loop writes checkpoints by itself; leave the callback out and call fit with "
                    "resume=True."
                )
            callback.set_params({"epochs": plan.validations, "steps": plan.validate_every, "verbose": 0})
            callback.set_model(model)

    def __getattr__(self, name):
        if name not in PROTOCOL:
            raise AttributeError(name)

        def call(*args):
            for callback in self.callbacks:
                getattr(callback, name)(*args)

        return call


@contextlib.contextmanager
def lent(steps):
    """While open, the model has what callbacks look for: `optimizer`, `stop_training`, on JAX `jax_state_sync`.

    They are no part of it, so neither Keras nor TensorFlow is told of them, and they are taken back at the end.
    """
    model, missing = steps.model, object()
    given = {"optimizer": steps.optimizer, "stop_training": False, "jax_state_sync": steps.sync}
    before = {name: vars(model).get(name, missing) for name in given}
    for name, value in given.items():
        object.__setattr__(model, name, value)
    try:
        yield model
    finally:
        for name, value in before.items():
            if value is missing:
                object.__delattr__(model, name)
            else:
                object.__setattr__(model, name, value)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended a training. `step` is the one from which it goes on, `steps` the last one of its plan."""

    def __init__(self, step, steps):
        super().__init__(
            f"interrupted; the run is saved at step {step:,} of {steps:,}. Continue it with resume=True."
            if step
            else "interrupted before the first step; nothing of the training was saved. Begin again."
        )
        self.step, self.steps = step, steps


def _descriptor(stream):
    """The file descriptor of a stream, 2 of one that has none."""
    try:
        return stream.fileno()
    except (AttributeError, OSError, ValueError):
        return 2


@contextlib.contextmanager
def interruptible():
    """While open, the first Ctrl-C only sets what this yields, and the second one raises `KeyboardInterrupt`.

    Nothing changes outside the main thread, or where somebody else handles the signal already.
    """
    asked = threading.Event()
    own_thread = threading.current_thread() is threading.main_thread()
    if not own_thread or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield asked
        return

    terminal = _descriptor(sys.stderr)

    def ask(signum, frame):
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()
        # Not print: the signal may have come in the middle of one.
        os.write(terminal, b"\nCtrl-C: the step is finished and saved first; press it again to stop at once.\n")

    signal.signal(signal.SIGINT, ask)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
