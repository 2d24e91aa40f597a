"""Plain: scores as the field reports them, each with a bootstrap interval, and the paired test of two systems."""

from zoo.scores.bootstrap import (
    RESAMPLES,
    Score,
    bootstrap_replicates,
    influence_on_difference,
    interval,
    paired_bootstrap,
    report,
)
from zoo.scores.calibration import calibration_error, fit_temperature, reliability
from zoo.scores.comparison import TASKS, compare
from zoo.scores.edits import edit_distances, transduction, transduction_scores
from zoo.scores.entities import find_entities, tagging, tagging_scores
from zoo.scores.labels import classification, classification_scores, confusion
from zoo.scores.language import language_model, language_model_scores
from zoo.scores.scope import choose_threshold, out_of_scope, out_of_scope_scores, with_threshold
from zoo.scores.similarity import (
    cosines,
    partner_ranks,
    partner_scores,
    partners,
    rating,
    rating_scores,
    similarity,
    similarity_scores,
)
from zoo.scores.texts import (
    by_length,
    check_language,
    length_groups,
    score_by_length,
    source_length,
    translation,
    translation_scores,
)

__all__ = [
    "RESAMPLES",
    "TASKS",
    "Score",
    "bootstrap_replicates",
    "by_length",
    "calibration_error",
    "check_language",
    "choose_threshold",
    "classification",
    "classification_scores",
    "compare",
    "confusion",
    "cosines",
    "edit_distances",
    "find_entities",
    "fit_temperature",
    "influence_on_difference",
    "interval",
    "language_model",
    "language_model_scores",
    "length_groups",
    "out_of_scope",
    "out_of_scope_scores",
    "paired_bootstrap",
    "partner_ranks",
    "partner_scores",
    "partners",
    "rating",
    "rating_scores",
    "reliability",
    "report",
    "score_by_length",
    "similarity",
    "similarity_scores",
    "source_length",
    "tagging",
    "tagging_scores",
    "transduction",
    "transduction_scores",
    "translation",
    "translation_scores",
    "with_threshold",
]
