"""The default recipe: lines as they were said, found by a dozen signals; what measured best."""

from __future__ import annotations

from everthread.recall.gate import Curve
from everthread.recipes.base import Head, Recipe

# A dozen constants fitted on LoCoMo's five development conversations: `everthread bench fit locomo PATH`.
_FRIENDS = Head(
    weights={
        "cosine": 2.2343,
        "cosine_near": 4.5675,
        "bm25_window": 1.3122,
        "bm25_session": 0.6543,
        "share": 0.6486,
        "asks": -0.6708,
        "length": 0.5834,
        "speaker": 0.5168,
        "day": 4.0596,
        "month": 4.0632,
        "answers": 0.7351,
        "time": 1.4643,
    },
    whole=Curve(-7.6976, {"match": 6.2415, "top": 0.6928, "stranger": -1.2398, "size": -0.6082}),
    hit=Curve(0.7599, {"share": 1.025}),
    threshold=0.236,
)

# Fitted on RealMem, with LoCoMo's questions for two fifths of the weight, since people ask an assistant about facts
# too: `everthread bench fit realmem PATH --mix PATH`.
_ASSISTANT = Head(
    weights={
        "cosine": 2.2236,
        "cosine_near": 1.5,
        "cosine_session": 3.5429,
        "bm25_window": 0.4304,
        "bm25_session": 0.2438,
        "asks": -0.0925,
        "length": -0.059,
        "person": 1.1275,
        "day": 3.1026,
        "month": 2.6499,
        "time": 1.3271,
    },
    whole=Curve(-8.1697, {"match": 9.2981, "top": 1.0258, "stranger": -0.4917, "size": -0.7733}),
    hit=Curve(-0.4552, {"share": 0.6918}),
    threshold=0.175,
)

DEFAULT = Recipe(name="default", friends=_FRIENDS, assistant=_ASSISTANT)
