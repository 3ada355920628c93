"""The metadata keys and setting names that Everthread reserves. Banks store these strings, so they never change.

META_… are keys in the metadata of a line or a unit, and SETTING_… are names of a bank's settings.
"""

from __future__ import annotations

META_PREFIX = "everthread."

# Of lines.
META_ECHO = "everthread.echo"  # [[start, end], …]: the spans of the text that quote recalled lines
META_REPLACED_CHARACTERS = "everthread.replaced_characters"  # the number of characters that no database could hold
META_KEY_FROM = "everthread.key_from"  # the number of the line that had this line's key before
META_REPLACES = "everthread.replaces"  # the number of the line that this line replaced under its key
META_REPEATS = "everthread.again"  # the number of the discarded line that this line repeats
META_CORRECTS = "everthread.corrects"  # the number of the original line that this line corrects
META_NEEDS_CONSENT = "everthread.asked"  # True: the user is asked at the end whether the conversation may be summarised
META_GREETING = "everthread.greeting"  # True: the greeting on a character's card
META_HEARD = "everthread.heard"  # True: said by another character of a group
META_UNDATED = "everthread.undated"  # True: said at an unknown time; said_at is when it was stored
META_RECALLED = "everthread.recalled"  # the evidence of a reply: the numbers of what was recalled for it, measured
META_OFFERED = "everthread.offered"  # the number of the line that this reply was reminded of

# Of sessions.
SESSION_GROUP = "group"  # [{"bank": …, "name": …}, …]: the characters of a group chat, including the bank's own
SESSION_HEARD_BY = "heard_by"  # the ids of all banks in which lines of a group chat were heard, also of those who left
SESSION_FACTS_TO = "facts_to"  # the number of the last line whose facts were listed

# Of units.
META_BY_HAND = "everthread.by_hand"  # True: the user wrote its text
META_NOTED_TO = "everthread.noted"  # the number of the last line that went into these notes
META_REWRITTEN = "everthread.rewritten"  # the unit's text, reworded so that it can be understood alone
META_CHUNK = "everthread.chunk"  # the `ChunkPosition` of a chunk

SETTING_RECIPE = "recipe"  # {"name": …, "options": {…}}: the recipe that the bank is opened with
SETTING_SCRIBE = "scribe"  # the name of the model that writes notes and summaries
SETTING_MODEL_FACTS = "model_facts"  # True: the scribe's model reads each conversation for facts when it ends
SETTING_CHARACTER = "character"  # the character, as JSON
SETTING_PERSON_NAMES = "person_names"  # the names under which the person has spoken in chats
SETTING_FORMER_NAMES = "former_names"  # the names that the person had in `character` before
SETTING_REMEMBER = "remember"  # "always", "ask" or "never": whether conversations are remembered
SETTING_HOME = "home"  # the id that the ids of all banks of the same person begin with
SETTING_RECALL_FROM = "recall_from"  # the ids of further banks that replies draw on
SETTING_SHARED_WITH = "shared_with"  # the ids of banks whose setting `recall_from` has named this one
SETTING_PINNED = "pinned"  # the numbers of the pinned lines
SETTING_SAMPLE = "sample"  # the number of the line that shows the character's style
SETTING_DEMO = "demo"  # the language of the sample life that the bank was filled with
SETTING_OFFERS = "offers"  # the `ReminderHistory`, as JSON
SETTING_ASKED_AT = "goodbye"  # the number of the goodbye that the pending question (whether to remember) follows
SETTING_FORGET_ASKED_AT = (
    "goodbye_no"  # the number of that goodbye, once the user has said no and is asked to confirm it
)
SETTING_DROPPED_FACTS = "everthread.dropped_facts"  # {reason: number of facts of a model that were not stored}
SETTING_RESPONSES = "everthread.responses"  # [[id of a response without a line, number of the line that it answers], …]
SETTING_SMS = "sms"  # the state of the text-message conversation, as JSON
SETTING_TELEGRAM = "telegram"  # the state of the conversation on Telegram, as JSON
SETTING_CHUNKS = "everthread.goodai"  # the state of the chunk index, as JSON
SETTING_FACTS = "everthread.facts"  # how far the lines were read for facts, and the lines that are not read, as JSON
SETTING_ENTITIES = "everthread.entities"  # which mentions are of one entity, and which are not, as numbers
SETTING_DELETED_EVENTS = "everthread.deleted_events"  # hashes of the ids of ADK's events that are not to be added again
SETTING_BACKUPS = "everthread.backups"  # the folders of the backups that hold the bank

# Settings that mean something only where the bank is: an export leaves them out, and an import ignores them.
LOCAL_SETTINGS = frozenset(
    (
        SETTING_HOME,
        SETTING_RECALL_FROM,
        SETTING_SHARED_WITH,
        SETTING_RESPONSES,
        SETTING_SMS,
        SETTING_TELEGRAM,
        SETTING_CHUNKS,
        SETTING_BACKUPS,
    )
)
