"""The settings of a fit, chosen by hand for each kind of conversation: its signals, and what its gate must accept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from everthread.recall import relevance
from everthread.recipes.default import FRIENDS_ORDER_ONLY

TARGET_KEPT_SHARE = 0.95  # share of the own questions that the gate must accept
# In a small bank, rejecting foreign questions matters more than accepting own ones: the weight of own questions
# relative to foreign ones.
SMALL_BANK_ODDS = 0.3
KEPT_SHARES = (0.99, 0.97, 0.95, 0.93, 0.9, 0.85, 0.8)
FRIEND_SIGNALS = (
    "cosine",
    "cosine_near",
    "cosine_window",
    "cosine_session",
    "bm25_window",
    "bm25_nearby",
    "bm25_session",
    "share",
    "asks",
    "length",
    "speaker",
    "day",
    "near_day",
    "month",
    "answers",
    "time",
    "first_person",
    "experience",
    "token_match",
)
SHARED_SIGNALS = (  # weighed for questions, and otherwise for messages
    "cosine",
    "cosine_near",
    "cosine_window",
    "cosine_session",
    "bm25_window",
    "bm25_session",
    "asks",
    "length",
    "person",
    "answers",
    "first_person",
    "experience",
    "token_match",
)
ASSISTANT_SIGNALS = (*SHARED_SIGNALS, "day", "near_day", "month", "time")
# A message often goes on with something said lately, or at the beginning of a session. For a question neither matters.
MESSAGE_SIGNALS = (*SHARED_SIGNALS, "opening", "age")
MESSAGE = "message "  # before the name of a signal: what it weighs more for a message
# For an embedder that can't read the question. Without "length": fitted on long talk it is positive, and in small banks
# the longest line came first if none shares a word with the question.
WORD_SIGNALS = ("bm25_window", "bm25_session", "share", "person")
CHARACTER_SIGNALS = ("bm25_window", "share", "length", "person")  # the same for Chinese and Japanese
GLOSS_SIGNALS = ("cosine", *CHARACTER_SIGNALS)  # for one that reads only the question's gloss

# Among friends, "uncovered" let in more of the questions with other names. Beside "unmatched", "match" has no weight of
# its own: fitted, it is negative.
ONLY_SOME = ("uncovered", "unmatched", "query_length")
COMMON_FEATURES = tuple(name for name in relevance.QUERY_FEATURES if name not in ONLY_SOME)


@dataclass(frozen=True, slots=True)
class FitSettings:
    """Settings chosen by hand for one kind of conversation."""

    names: tuple[str, ...]  # of the weighted signals
    ridge: float
    query_features: tuple[str, ...] = COMMON_FEATURES
    order_only: frozenset[str] = frozenset()  # signals that are no evidence (see ScoringProfile)
    given: Mapping[str, float] = field(default_factory=dict)  # weights that can't be fitted on these conversations
    small_bank_odds: float = SMALL_BANK_ODDS
    kept_shares: tuple[float, ...] = KEPT_SHARES
    # Of foreign questions to accept, which sets the threshold; None: see TARGET_KEPT_SHARE.
    foreign_share: float | None = None


AMONG_FRIENDS = FitSettings(
    FRIEND_SIGNALS,
    ridge=0.03,
    query_features=(*(name for name in COMMON_FEATURES if name != "match"), "unmatched"),
    order_only=FRIENDS_ORDER_ONLY,
    small_bank_odds=0.38,  # keeps as many questions about first facts as 0.3 did without unmatched words
)
WITH_ASSISTANT = FitSettings(
    (*ASSISTANT_SIGNALS, *(MESSAGE + name for name in MESSAGE_SIGNALS)),
    ridge=0.1,
    query_features=(*COMMON_FEATURES, "uncovered", "unmatched"),
    order_only=frozenset(MESSAGE + name for name in MESSAGE_SIGNALS),
)
# With words alone, a gate that accepts nearly all own questions accepts nearly all foreign ones too, so the share of
# foreign questions sets the threshold. In small banks few of those are accepted anyway.
BY_CHARACTERS = FitSettings(
    names=CHARACTER_SIGNALS,
    ridge=0.03,
    query_features=("best_score", "small_bank", "query_length"),
    given={"person": 1.1275},  # as with an assistant; these conversations have no bot
    small_bank_odds=1.0,
    kept_shares=(0.9, 0.8, 0.7, 0.6, 0.5, 0.4),
    foreign_share=0.2,
)
# Glosses tell own questions from foreign ones better: with this share, as many first facts pass as by words alone, and
# fewer of the other questions.
BY_GLOSS = replace(BY_CHARACTERS, names=GLOSS_SIGNALS, foreign_share=0.15)
# For languages with spaces, fitted on Chinese and on our corpus. With this share the gate keeps as many of the corpus's
# questions as with the weights for characters.
BY_WORDS = replace(BY_CHARACTERS, names=WORD_SIGNALS, given={}, foreign_share=0.25)
