"""What a training is to do (`TrainingPlan`), and how far it has come (`TrainingState`)."""

import dataclasses

from zoo.training.metrics import MONITORS


@dataclasses.dataclass(frozen=True)
class TrainingPlan:
    """How long to train and how often to look.

    Args:
        steps: the number of updates in all.
        validate_every: updates between two validations; the last step is validated as well. A validation ends an epoch
            of the callbacks.
        checkpoint_every: updates between two checkpoints, besides one at each validation.
        patience: validations without a better score after which training stops; 0 never stops.
        keep: how many of the best validated weights stay on the disk, to be averaged.
        log_every: updates between two reports.
        monitor: the score that decides which weights are better, "nll" or "accuracy".

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

    def __post_init__(self):
        if self.monitor not in MONITORS:
            raise ValueError(f"monitor must be one of {', '.join(MONITORS)}; received {self.monitor!r}.")
        for name in ("steps", "validate_every", "checkpoint_every", "patience", "keep", "log_every"):
            value, least = getattr(self, name), 0 if name == "patience" else 1
            if value < least:
                raise ValueError(f"{name} must be at least {least}, received {value!r}.")

    @property
    def validations(self):
        """How many validations there are, if nothing stops the training before its last step."""
        return -(-self.steps // self.validate_every)


@dataclasses.dataclass
class TrainingState:
    """Where a training stands, besides the variables; JSON in the checkpoint.

    `best` lists (loss, step) of the weights kept on the disk, best first, the loss being the nll or the share of errors
    as `TrainingPlan.monitor` says; `history` lists the validations; `losses` is the sum and the number of the training
    losses since the last validation.
    """

    step: int = 0
    since_best: int = 0
    best: list = dataclasses.field(default_factory=list)
    history: list = dataclasses.field(default_factory=list)
    seconds: float = 0.0
    losses: list = dataclasses.field(default_factory=lambda: [0.0, 0])

    def record(self, scores, plan):
        """Enter a validation; True if the weights belong to the `plan.keep` best."""
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
        """Whether a validation comes before the next update."""
        return (self.step % plan.validate_every == 0 or self.step >= plan.steps) and self.step and not self.validated

    def stopped(self, plan):
        """Whether the plan asks for no further update."""
        patience = plan.patience and self.since_best >= plan.patience
        return bool(patience) or self.step >= plan.steps
