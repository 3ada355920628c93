"""The default recipe: lines as they were said, found by a dozen signals; what measured best."""

from __future__ import annotations

from everthread.recall.gate import Curve
from everthread.recipes.base import Head, Recipe

# By hand: of 614 such lines in the datasets two are gold. The rest of what a question asked before scores comes to 15.
EMPTY = -10.0

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
        "empty": EMPTY,
    },
    whole=Curve(
        -9.5215,
        {
            "match": 2.1522,
            "cosine": 3.811,
            "top": 0.7872,
            "stranger": -1.4985,
            "small": 4.6784,
            "small_cosine": 23.0512,
            "small_top": -1.0379,
        },
    ),
    hit=Curve(0.7599, {"share": 1.025}),
    threshold=0.216,
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
        "empty": EMPTY,
    },
    whole=Curve(
        -8.5952,
        {
            "match": 2.3089,
            "cosine": 3.1308,
            "top": 1.019,
            "stranger": -1.5133,
            "small": 6.0457,
            "small_cosine": 14.0864,
            "small_top": -1.4431,
        },
    ),
    hit=Curve(-0.4552, {"share": 0.6918}),
    threshold=0.187,
)

DEFAULT = Recipe(
    name="default",
    about="lines as they were said, found by a dozen signals; what measured best",
    friends=_FRIENDS,
    assistant=_ASSISTANT,
)
