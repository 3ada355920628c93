"""Twenty invented lines in two conversations, on which every recipe is worked by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from everthread.types import NewLine

PERSON, BOT = "Mara", "Jonas"
SESSIONS = {"spring": datetime(2026, 3, 2, 18, tzinfo=UTC), "summer": datetime(2026, 6, 20, 20, tzinfo=UTC)}
APART = timedelta(minutes=1)

# By seq: Mara's lines are odd, Jonas's even.
_SAID = {
    "spring": (
        "Hello Jonas, how are you today?",  # 1
        "Hello Mara, the sea is calm and so am I.",
        "I adopted a greyhound named Biscuit on Saturday.",  # 3
        "A greyhound named Biscuit will need long walks along the pier.",
        "My sister Olga moved to Lisbon for a job at the aquarium.",  # 5
        "Lisbon has a fine aquarium, Olga will like the otters there.",
        "Can you write me a sick note for my boss?",  # 7
        "I'm sorry, but I can't help with that request.",
        "Never mind. My interview at the library is on Friday.",  # 9
        "Good luck at the library, wear the green coat for the interview.",
    ),
    "summer": (
        "Good evening Jonas, I am back.",  # 11
        "Good evening Mara, the lamp is lit and the kettle is on.",
        "The library hired me, I start on the first of July.",  # 13
        "Congratulations, a library by the harbour is a fine place to work.",
        "Biscuit ate a whole wheel of cheese and had to see the vet.",  # 15
        "Poor Biscuit, cheese is too rich for a greyhound.",
        "The vet said he is allergic to milk.",  # 17
        "Then milk and cheese stay on the high shelf from now on.",
        "Olga is visiting from Lisbon in August.",  # 19
        "Show Olga the lighthouse when she visits in August.",
    ),
}

TWENTY = tuple(
    NewLine(text, BOT if n % 2 else PERSON, "assistant" if n % 2 else "user", begun + n * APART, session)
    for session, begun in SESSIONS.items()
    for n, text in enumerate(_SAID[session])
)
