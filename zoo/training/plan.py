"""The plan of a training (`TrainingPlan`) and its progress (`TrainingState`)."""

import dataclasses

from zoo.training.losses import MONITORS


@dataclasses.dataclass(frozen=True)
class TrainingPlan:
    """How long to train, and how often to validate, save and report.

    Args:
        steps: the total number of updates.
        validate_every: updates between two validations; there is also one after the last step. For callbacks, a
            validation ends an epoch.
        checkpoint_every: updates between two checkpoints; each validation also writes one.
        patience: training stops after this number of validations without a better score; with 0 it never does.
        keep: how many of the best validated weights are kept, for averaging.
        log_every: updates between two reports.
        monitor: the score that decides which weights are better: "nll", "accuracy", or "wer" or "entity_f1", where
            `fit` is given a `score` that measures it.
        prefetch: how many batches a thread prepares ahead; with 0 each is prepared when its step begins.
        extra_files: names of files in the run directory; each checkpoint also holds those that exist.

    Raises:
        ValueError: a number is too small, or the monitor is unknown.
    """

    steps: int
    validate_every: int
    checkpoint_every: int = 500
    patience: int = 0
    keep: int = 1
    log_every: int = 50
    monitor: str = "nll"
    prefetch: int = 1
    extra_files: tuple = ("metrics.csv",)

    def __post_init__(self):
        if self.monitor not in MONITORS:
            raise ValueError(f"monitor must be one of {', '.join(MONITORS)}; received {self.monitor!r}.")
        for name in ("steps", "validate_every", "checkpoint_every", "patience", "keep", "log_every", "prefetch"):
            value, least = getattr(self, name), 0 if name in ("patience", "prefetch") else 1
            if value < least:
                raise ValueError(f"{name} must be at least {least}, received {value!r}.")

    @property
    def validations(self):
        """The number of validations of a training that is not stopped before its last step."""
        return -(-self.steps // self.validate_every)


@dataclasses.dataclass
class TrainingState:
    """The progress of a training apart from the variables; all but `weights` is stored as JSON in the checkpoint.

    `best` lists `(loss, step)` of the weights that are kept, the best first; the loss is the nll or the share of
    errors, depending on `TrainingPlan.monitor`. `weights` has them by step (`zoo.training.checkpoints.get_weights`).
    `history` lists the validations. `losses` is the sum and the number of the training losses since the last one.
    """

    step: int = 0
    since_best: int = 0
    best: list = dataclasses.field(default_factory=list)
    history: list = dataclasses.field(default_factory=list)
    seconds: float = 0.0
    losses: list = dataclasses.field(default_factory=lambda: [0.0, 0])
    weights: dict = dataclasses.field(default_factory=dict, compare=False, repr=False)

    def progress(self):
        """All but the weights, for JSON."""
        return {name: value for name, value in vars(self).items() if name != "weights"}

    def record(self, scores, plan):
        """Add a validation; True if its weights are among the `plan.keep` best. A score of NaN is the worst of all."""
        self.history.append({"step": self.step, **scores})
        entry = [MONITORS[plan.monitor](scores), self.step]
        better = not self.best or entry[0] < self.best[0][0]
        self.since_best = 0 if better else self.since_best + 1
        self.best = sorted([*self.best, entry])[: plan.keep]
        return entry in self.best

    @property
    def validated(self):
        """Whether the weights of this step have been validated."""
        return bool(self.history) and self.history[-1]["step"] == self.step

    def is_due(self, plan):
        """Whether a validation is due before the next update."""
        return (self.step % plan.validate_every == 0 or self.step >= plan.steps) and self.step and not self.validated

    def is_over(self, plan):
        """Whether the training ends here: after its last step, or because its patience is exhausted."""
        patience = plan.patience and self.since_best >= plan.patience
        return bool(patience) or self.step >= plan.steps
