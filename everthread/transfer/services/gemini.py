"""Reads Gemini's history from Google Takeout: "My Activity" in JSON, and the conversations of Workspace accounts.

My Activity is a list of prompts with their answers, the newest first, without conversations or ids: it is divided where
nothing was asked for half an hour. Takeout writes it in HTML unless the user chooses JSON.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from everthread.errors import BadFile
from everthread.transfer.files import file_error, hash_parts
from everthread.transfer.services.conversation import BrokenConversation, Conversation, Entry, Message, ReadOptions
from everthread.transfer.services.export import Export, ExportFile
from everthread.transfer.services.fields import (
    Record,
    get_list,
    get_record,
    get_records,
    get_text,
    parse_iso,
    require_record,
)
from everthread.transfer.services.html_text import html_to_text

NAME, PERSON = "Gemini", "user"
SILENCE = timedelta(minutes=30)  # after which another conversation begins
_APPS = ("gemini", "bard")
_VERBS = ("Prompted with: ", "Asked Gemini: ", "Asked Bard: ", "Prompted ", "Asked ", "Said ")
_OTHER_VERBS = (  # of records that the user did not say
    *("Used ", "Created ", "Gave ", "Added ", "Selected ", "Shared ", "Deleted ", "Viewed ", "Visited ", "Edited "),
    *("Pinned ", "Renamed ", "Exported ", "Updated ", "Searched "),
)
_MAX_VERB_WORDS = 4  # of a verb in another language
_MIN_TITLES = 8  # that begin with the same words, for these to be a verb
_MIN_TITLES_WITH_COLON = 3  # if all of them begin with the same words and a colon
_VERB_SHARE = 0.6  # of the titles of prompts
_ATTACHED = re.compile(r"\bAttached (\d{1,4}) files?\.\Z")
_HTML_BYTES = 1_000_000  # of an HTML file, in which the name of the app is looked for


@dataclass(frozen=True, slots=True)
class _Prompt:
    """A prompt of the user, and the answer, which may be missing."""

    said_at: datetime
    id: str
    text: str
    answer: str


def recognises(export: Export) -> bool:
    """Return whether there is a history of Gemini, also one in HTML."""
    return any(_is_activity(file) or _is_conversation(file) or _is_html(file) for file in export.files)


def read(export: Export, options: ReadOptions) -> Iterator[Entry]:
    """Yield the conversations.

    Raises:
        BadFile: the only history is in HTML.
    """
    activities, others = list(filter(_is_activity, export.files)), list(filter(_is_conversation, export.files))
    html = next(filter(_is_html, export.files), None)
    if html is not None and not activities and not others:
        remedy = 'in Takeout choose "My Activity", then "Multiple formats", and JSON in place of HTML'
        place = "" if html.name == html.path.name else html.name
        raise file_error(html.path, place, "this is Gemini's history in HTML, which can't be imported", remedy)
    for file in activities:
        yield from divide(file.items(), find_verb(file.items()))
    for file in others:
        try:
            yield build_conversation(file.load())
        except BadFile as error:
            yield BrokenConversation(file.name, str(error))


def find_verb(records: Iterator[object]) -> str | None:
    """Return the words with which most titles of prompts begin in an account that is not in English.

    Args:
        records: the activities.
    """
    beginnings = Counter[str]()
    titles = 0
    for record in map(get_record, records):
        title = _read_title(record)
        if _is_of_gemini(record) and get_records(record, "safeHtmlItem") and not title.startswith(_VERBS):
            titles += 1
            words = title.split(" ")[: _MAX_VERB_WORDS + 1]
            beginnings.update(" ".join(words[:count]) + " " for count in range(1, len(words)))
    common = [words for words, count in beginnings.items() if count >= max(_MIN_TITLES, _VERB_SHARE * titles)]
    with_colon = [words for words, count in beginnings.items() if words.endswith(": ") and count == titles]
    few = min(with_colon, key=len) if with_colon and titles >= _MIN_TITLES_WITH_COLON else None
    return max(common, key=len, default=few)


def divide(records: Iterator[object], verb: str | None = None) -> Iterator[Conversation]:
    """Yield the conversations of a list of activities, in its order, which is the newest first.

    Args:
        records: the activities.
        verb: the words with which titles of prompts begin, in addition to the English ones.
    """
    prompts: list[_Prompt] = []
    skipped = Counter[str]()
    for record in records:
        prompt = _read_prompt(get_record(record), verb, skipped)
        if prompt is None:
            continue
        if prompts and abs(prompts[-1].said_at - prompt.said_at) > SILENCE:
            yield _join(prompts, skipped)
            prompts, skipped = [], Counter[str]()
        prompts.append(prompt)
    if prompts or skipped:
        yield _join(prompts, skipped)


def build_conversation(value: object) -> Conversation:
    """Build a conversation of a Workspace account. It is known by its first time: exports number their files again.

    Raises:
        BadFile: it has no list of turns.
    """
    record = require_record(value, "conversation_turns")
    if not isinstance(record["conversation_turns"], list):
        raise BadFile("its turns are no list")
    skipped = Counter[str]()
    title, created = get_text(record, "title"), get_text(record, "creation_time")
    messages = _build_turns(get_records(record, "conversation_turns"), skipped)
    return Conversation(
        created or hash_parts(title, messages[0].text if messages else ""),
        messages,
        title or None,
        parse_iso(created),
        skipped=+skipped,
        owner=PERSON,
        assistant=NAME,
    )


def _is_of_gemini(record: Record) -> bool:
    products = [product for product in get_list(record, "products") if isinstance(product, str)]
    labels = (get_text(record, "header"), *products)
    return any(app in label.lower() for label in labels for app in _APPS)


def _read_title(record: Record) -> str:
    """Return a title, with ordinary blanks after the verb."""
    return get_text(record, "title").replace("\u00a0", " ")


def _read_prompt(record: Record, own_verb: str | None, skipped: Counter[str]) -> _Prompt | None:
    """Return the prompt of an activity; None, and counted, if it is another activity."""
    title, time = _read_title(record), get_text(record, "time")
    said_at = parse_iso(time)
    answers = (html_to_text(get_text(item, "html")) for item in get_records(record, "safeHtmlItem"))
    answer = "\n\n".join(filter(None, answers))
    english = next((verb for verb in _VERBS if title.startswith(verb)), None)
    verb = own_verb if english is None and own_verb is not None and title.startswith(own_verb) else english
    if not _is_of_gemini(record):
        skipped["activities of other apps"] += 1
    elif said_at is None:
        skipped["broken activities"] += 1
    elif verb is None and (not answer or title.startswith(_OTHER_VERBS)):
        skipped["activities that are no prompts"] += 1
    else:
        text = _cut_attached(get_text(record, "title")[len(verb or "") :], skipped)
        # A verb of another language is part of the id, because in a shorter history it may not be known.
        whole = text if verb == english else f"{verb}{text}"
        return _Prompt(said_at, f"{time}/{hash_parts(whole)[:8]}", text, answer)
    return None


def _cut_attached(text: str, skipped: Counter[str]) -> str:
    """Return a prompt without the note on its attachments, which are counted."""
    match = _ATTACHED.search(text.rstrip())
    if match is None:
        return text.strip()
    skipped["attachments"] += int(match[1])
    return text.rstrip()[: match.start()].strip()


def _join(prompts: Sequence[_Prompt], skipped: Counter[str]) -> Conversation:
    """Return a conversation of prompts that are near to each other in time."""
    messages: list[Message] = []
    prompts = list(reversed(prompts)) if prompts and prompts[0].said_at >= prompts[-1].said_at else prompts
    for prompt in prompts:
        messages.append(Message(prompt.text, "user", PERSON, prompt.said_at, prompt.id))
        messages.append(Message(prompt.answer, "assistant", NAME, None, f"{prompt.id}/answer"))
    identity = prompts[0].id if prompts else "none"
    return Conversation(identity, messages, skipped=+skipped, owner=PERSON, assistant=NAME, namespace="activity")


def _build_turns(turns: Sequence[Record], skipped: Counter[str]) -> list[Message]:
    """Build the messages of turns. After an edit their numbers begin again, and the earlier turns are not shown."""
    path: list[tuple[int, str]] = []  # number and id of each shown turn
    hidden: set[str] = set()
    occurrences: Counter[str] = Counter()
    messages: list[Message] = []
    for position, entry in enumerate(turns):
        is_user = "user_turn" in entry
        turn = get_record(entry, "user_turn" if is_user else "system_turn")
        index = turn.get("turn_index")
        number = index if isinstance(index, int) else position
        while path and path[-1][0] >= number:
            hidden.add(path.pop()[1])
        name = f"{'user' if is_user else 'model'}:{number}"
        occurrences[name] += 1
        turn_id = f"{name}:{occurrences[name]}"
        messages.append(_build_turn(turn, turn_id, path[-1][1] if path else None, is_user, skipped))
        path.append((number, turn_id))
    return [replace(message, shown=message.id not in hidden) for message in messages]


def _build_turn(turn: Record, turn_id: str, parent: str | None, is_user: bool, skipped: Counter[str]) -> Message:
    """Build the message of a turn; without text, and counted, if nothing was said."""
    text = get_text(turn, "prompt") if is_user else "\n\n".join(_read_answer(turn))
    skipped["thoughts"] += len(get_records(turn, "model_thoughts"))
    if turn.get("turn_deleted_time"):
        text = ""
        skipped["deleted messages"] += 1
    elif not text.strip():
        skipped["messages without text"] += 1
    said_at = parse_iso(turn.get("turn_last_modified"))
    if is_user:
        return Message(text, "user", PERSON, said_at, turn_id, parent)
    return Message(text, "assistant", NAME, said_at, turn_id, parent)


def _read_answer(turn: Record) -> Iterator[str]:
    for item in get_records(turn, "text"):
        texts = (get_text(item, "data"), *(get_text(card, "content") for card in get_records(item, "cards")))
        yield from filter(None, texts)


def _is_activity(file: ExportFile) -> bool:
    beginning = file.head if isinstance(file.head, list) else []
    return any({"header", "title", "time"} <= get_record(record).keys() for record in beginning)


def _is_conversation(file: ExportFile) -> bool:
    return "conversation_turns" in get_record(file.head)


def _is_html(file: ExportFile) -> bool:
    """Return whether a file is Takeout's history in HTML, which begins with its styles."""
    if not file.name.lower().endswith((".html", ".htm")):
        return False
    with file.open() as page:
        beginning = page.read(_HTML_BYTES)
    return b"outer-cell" in beginning and (b"Gemini" in beginning or b"Bard" in beginning)
