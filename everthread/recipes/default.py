"""The default recipe: lines as they were said, found by a dozen signals; what measured best."""

from __future__ import annotations

from everthread.recall.gate import Curve
from everthread.recipes.base import Head, Recipe

# Fitted on LoCoMo's five development conversations: a handful of constants, no model.
_FRIENDS = Head(
    weights={
        "cosine": 1.929,
        "cosine_near": 4.4769,
        "bm25_window": 1.3283,
        "bm25_session": 0.6659,
        "share": 0.7045,
        "asks": -0.6581,
        "length": 0.5819,
        "speaker": 0.5187,
        "day": 4.0375,
        "month": 4.0614,
        "answers": 0.7451,
        "time": 1.4771,
    },
    whole=Curve(-7.183, {"match": 4.1776, "top": 0.7328, "terms": -0.0875, "stranger": -1.162}),
    hit=Curve(-6.6618, {"score": 0.355}),
    threshold=0.231,
)

DEFAULT = Recipe(name="default", friends=_FRIENDS, assistant=_FRIENDS)
