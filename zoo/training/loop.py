"""The training loop: a plain loop over a pure `batch(step)`, so that a run can go on anywhere."""

import dataclasses
import math
import time
from pathlib import Path

import numpy as np

from zoo.training import checkpoints
from zoo.training.metrics import JUDGES, summarise
from zoo.training.reports import open_reports


@dataclasses.dataclass(frozen=True)
class Plan:
    """How long to train and how often to look.

    Args:
        steps: updates in all.
        validate_every: updates between two validations; the last step is validated as well.
        checkpoint_every: updates between two checkpoints, besides one at each validation.
        patience: validations without a better score after which training stops; 0 never stops.
        keep: how many of the best validated weights stay on the disk, to be averaged.
        log_every: updates between two reports.
        judge: the score that decides which weights are better, "nll" or "accuracy".

    Raises:
        ValueError: a number is too small, or the judge is unknown.
    """

    steps: int
    validate_every: int
    checkpoint_every: int = 500
    patience: int = 0
    keep: int = 1
    log_every: int = 50
    judge: str = "nll"

    def __post_init__(self):
        if self.judge not in JUDGES:
            raise ValueError(f"judge must be one of {', '.join(JUDGES)}; received {self.judge!r}.")
        for name in ("steps", "validate_every", "checkpoint_every", "patience", "keep", "log_every"):
            value, least = getattr(self, name), 0 if name == "patience" else 1
            if value < least:
                raise ValueError(f"{name} must be at least {least}, received {value!r}.")


@dataclasses.dataclass
class Progress:
    """Where a training stands, besides the variables; JSON in the checkpoint.

    `best` lists (loss, step) of the weights kept on the disk, best first, the loss being the nll or the share of errors
    as `Plan.judge` says; `history` lists the validations.
    """

    step: int = 0
    since_best: int = 0
    best: list = dataclasses.field(default_factory=list)
    history: list = dataclasses.field(default_factory=list)
    seconds: float = 0.0

    def record(self, scores, plan):
        """Enter a validation; True if the weights belong to the `plan.keep` best."""
        self.history.append({"step": self.step, **scores})
        entry = [JUDGES[plan.judge](scores), self.step]
        better = not self.best or entry[0] < self.best[0][0]
        self.since_best = 0 if better else self.since_best + 1
        self.best = sorted([*self.best, entry])[: plan.keep]
        return entry in self.best

    def stopped(self, plan):
        patience = plan.patience and self.since_best >= plan.patience
        return bool(patience) or self.step >= plan.steps


def checkpoint_path(directory):
    """The full state of the run in `directory`."""
    return Path(directory) / "checkpoint" / "state.npz"


def best_path(directory, step):
    """The weights kept from a validation."""
    return Path(directory) / "best" / f"step-{step:08d}.npz"


def validate(evaluate, batches):
    """Per-token {"nll", "perplexity", "accuracy"} over all of `batches`, summed in float64."""
    totals = np.zeros(3)
    for batch in batches:
        totals += np.asarray(evaluate(batch), dtype="float64")
    return summarise(*totals)


def fit(steps, train, valid, plan, directory, resume=False):
    """Train the model of `steps` in place and leave checkpoints and logs in `directory`.

    Args:
        steps: the compiled steps of a model, see `zoo.training.make_steps`.
        train: has a pure `batch(step)` -> dict of NumPy arrays, of a bounded number of shapes.
        valid: an iterable of such batches that can be walked through any number of times.
        plan: the `Plan`.
        directory: the run directory; see `checkpoint_path`, `best_path`, `zoo.training.reports`.
        resume: continue from the directory's checkpoint, if there is one. The weights then are
            those of an uninterrupted run, bit for bit on one CPU backend.

    Returns:
        The `Progress`. The model has the weights of its last step.

    Raises:
        FloatingPointError: the loss is not finite; nothing of that window was saved.
    """
    model, optimizer = steps.model, steps.optimizer
    progress = Progress()
    if resume and checkpoint_path(directory).is_file():
        progress = Progress(**checkpoints.restore(checkpoint_path(directory), model, optimizer))
        steps.reload()

    Path(directory).mkdir(parents=True, exist_ok=True)
    window = _Window()
    with open_reports(directory, progress.step, plan.steps) as report:
        while not progress.stopped(plan):
            batch = train.batch(progress.step)
            window.add(steps.train(batch), batch["weights"].sum())
            progress.step += 1

            validating = progress.step % plan.validate_every == 0 or progress.step == plan.steps
            saving = validating or progress.step % plan.checkpoint_every == 0
            if saving or progress.step % plan.log_every == 0:
                values, seconds = window.summarise(progress.step)
                progress.seconds += seconds
                report(progress.step, values | {"learning_rate": steps.learning_rate()})
                window = _Window()
            if validating:
                scores = validate(steps.evaluate, valid)
                report(progress.step, {f"valid_{name}": value for name, value in scores.items()})
                if progress.record(scores, plan):
                    steps.sync()
                    checkpoints.save_weights(best_path(directory, progress.step), model)
            if saving:
                steps.sync()
                state = dataclasses.asdict(progress)
                checkpoints.save(checkpoint_path(directory), model, optimizer, state)
                _prune(directory, progress)
                window = _Window()
    steps.sync()
    return progress


class _Window:
    """Mean loss and speed since the last report; until then the losses stay on the device."""

    def __init__(self):
        self._losses, self._tokens, self._start = [], 0.0, time.monotonic()

    def add(self, loss, tokens):
        self._losses.append(loss)
        self._tokens += float(tokens)

    def summarise(self, step):
        """({"loss", "tokens_per_second"}, seconds)."""
        loss = float(np.mean([float(loss) for loss in self._losses]))
        if not math.isfinite(loss):
            raise FloatingPointError(
                f"the loss became {loss} in the {len(self._losses)} steps before step {step}. "
                "Lower the learning rate or the clipping norm, or lengthen the warm-up; then "
                "resume from the last checkpoint."
            )
        seconds = max(time.monotonic() - self._start, 1e-9)
        return {"loss": loss, "tokens_per_second": self._tokens / seconds}, seconds


def _prune(directory, progress):
    """Remove weights that the checkpoint just written no longer names."""
    kept = {best_path(directory, step) for _, step in progress.best}
    for path in (Path(directory) / "best").glob("step-*.npz"):
        if path not in kept:
            path.unlink()
