"""Finds events that users announce, and phrases them for a prompt or for people. Pure: the clock is an argument.

A line announces an event if one of its sentences names a future day and a plan of the user ("My interview is
tomorrow", "We fly to Rome on Friday", "我明天面试"). Questions, negations, quotations and conditions announce nothing.
Days are those of the user's own clock at the time of the line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta

from everthread.errors import BadInput
from everthread.languages.wording import Wording
from everthread.text.analyzer import normalize
from everthread.text.indentation import join_rows
from everthread.text.relative_time import format_relative_time
from everthread.text.time_expressions import Date, find_absolute_times
from everthread.text.time_words import (
    CALENDAR_YEARS,
    COUNT,
    DAY,
    HAN_COUNT,
    HAN_WEEKDAY,
    MONTHS,
    WEEK,
    WEEKDAY,
    read_count,
    read_weekday,
)
from everthread.types import Hit, JSONValue, Line

MIN_RELEVANCE = 0.1  # of a hit; at MADial's moments, 84% of such hits are the right memory (docs/log.md)
MIN_AGE = timedelta(days=1)  # of a line that is brought up; the user still remembers a newer one
MAX_EVENT_AGE = 14 * DAY  # an older event is no longer asked about
MIN_TURNS_BETWEEN = 8  # between two offers; more frequent ones annoy
MAX_REMINDED_LINES = 200  # saved in the history; an older one may be brought up again
MAX_PHRASE_CHARS = 300  # of a line in a phrase


@dataclass(frozen=True, slots=True)
class Event:
    """An event that a line announced for some days."""

    line: Line
    first_day: date
    last_day: date
    sentence: str  # in which it is announced


@dataclass(frozen=True, slots=True)
class ReminderHistory:
    """The lines of earlier reminders, and the turns since the last one."""

    turns_since_reminder: int = MIN_TURNS_BETWEEN
    seqs: tuple[int, ...] = field(default=())

    def allows(self, seq: int) -> bool:
        """Return whether this line may be brought up now: not soon after another, and never twice."""
        return self.turns_since_reminder >= MIN_TURNS_BETWEEN and seq not in self.seqs

    def to_json(self) -> JSONValue:
        """Return the value that is saved in a bank's settings."""
        return {"turns": self.turns_since_reminder, "seqs": list(self.seqs)}

    @staticmethod
    def from_json(value: JSONValue) -> ReminderHistory:
        """Build a history from the result of `to_json`. Raises BadInput for any other value."""
        match value:
            case {"turns": int(turns), "seqs": [*seqs]} if turns >= 0:
                numbers = tuple(seq for seq in seqs if isinstance(seq, int))
                if len(numbers) == len(seqs):
                    return ReminderHistory(min(turns, MIN_TURNS_BETWEEN), numbers[-MAX_REMINDED_LINES:])
        raise BadInput(f"invalid offers: got {value!r}, expected what ReminderHistory.to_json returned; unset it")


# ---------------------------------------------------------------------- events


def parse_event(line: Line) -> Event | None:
    """Return the event that a user's line announces; None if it announces none."""
    if line.role != "user" or line.is_undated or line.said_at.year not in CALENDAR_YEARS:
        return None
    for sentence in _SENTENCE.split(line.text):
        announcement = " ".join(sentence.split())
        folded = normalize(announcement)
        if _UNCERTAIN.search(folded):
            continue
        for part in (folded, *_CLAUSE.split(folded)):
            if _is_own_plan(part) and (days := _find_days(part, line.said_at.date())):
                return Event(line, *days, announcement)
    return None


def find_due_events(events: Iterable[Event], now: datetime, last_seen: datetime) -> list[Event]:
    """Return the events that ended since `last_seen`, at most MAX_EVENT_AGE ago, or are today or tomorrow.

    Named occasions come first, then the nearest days.
    """
    today, last_day_seen = now.date(), last_seen.astimezone(now.tzinfo).date()

    def distance(event: Event) -> timedelta:
        return max(today - event.last_day, event.first_day - today, timedelta(0))

    def is_due(event: Event) -> bool:
        passed = last_day_seen <= event.last_day < today and today - event.last_day <= MAX_EVENT_AGE
        return passed or (event.last_day >= today and event.first_day <= today + DAY)

    return sorted(
        filter(is_due, events),
        key=lambda event: (not _OCCASION.search(normalize(event.sentence)), distance(event), -event.line.seq),
    )


def find_best_old_hit(hits: Sequence[Hit], now: datetime) -> Hit | None:
    """Return the best hit among the user's lines of at least MIN_AGE and MIN_RELEVANCE; else None."""
    candidates = [
        hit
        for hit in hits
        if hit.relevance >= MIN_RELEVANCE
        and isinstance(hit.source, Line)
        and hit.source.role == "user"
        and not hit.source.is_undated
        and now - hit.said_at >= MIN_AGE
    ]
    return max(candidates, key=lambda hit: (hit.relevance, hit.score), default=None)


def phrase(source: Event | Hit, now: datetime) -> str:
    """Return a row for a prompt: a quotation with speaker, date and, for an event, its day."""
    line, quote = source.line, _shorten(source.sentence if isinstance(source, Event) else source.line.text)
    ago = format_relative_time(line.said_at, now)
    text = f'On {_format_date(line.said_at.date())} ({ago}) {join_rows(line.speaker)} said: "{quote}"'
    return f"{text} That was for {_format_event_days(source, now)}." if isinstance(source, Event) else text


def _shorten(text: str) -> str:
    row = " ".join(text.split())
    return row if len(row) <= MAX_PHRASE_CHARS else f"{row[:MAX_PHRASE_CHARS].rstrip()}…"


def announce(event: Event, now: datetime, words: Wording) -> str:
    """Return what people read of an event: who announced it, when and in which words, and its day."""
    line = event.line
    return words(
        "chat.announced",
        date=words.date(line.said_at),
        ago=words.distance(line.said_at, now),
        speaker=join_rows(line.speaker),
        text=_shorten(event.sentence),
        day=_name_event_days(event, now, words),
    )


def _name_event_days(event: Event, now: datetime, words: Wording) -> str:
    if event.first_day != event.last_day:
        return words("chat.announced_days", first=words.date(event.first_day), last=words.date(event.last_day))
    if (near := _NEAR_DAYS.get((event.first_day - now.date()).days)) is not None:
        return words(f"time.{near}")
    ago = words.distance(datetime.combine(event.first_day, now.timetz()), now)
    return words("chat.announced_day", date=words.date(event.first_day), ago=ago)


def _format_event_days(event: Event, now: datetime) -> str:
    if event.first_day != event.last_day:
        return f"the days from {_format_date(event.first_day)} to {_format_date(event.last_day)}"
    days_away = (event.first_day - now.date()).days
    if days_away in _NEAR_DAYS:
        return _NEAR_DAYS[days_away]
    relative = format_relative_time(datetime.combine(event.first_day, now.timetz()), now)
    return f"{_format_date(event.first_day)} ({relative})"


def _format_date(day: date) -> str:
    return f"{day.day} {MONTHS[day.month - 1].title()} {day.year:04d}"


def _is_own_plan(folded: str) -> bool:
    """Return whether a sentence or clause is about a plan or an occasion of the speaker."""
    plan = _OWN.search(folded) and (_OCCASION.search(folded) or _OWN_ACTION.search(folded))
    return bool(plan and not _NEGATION.search(folded))


def _find_days(folded: str, today: date) -> tuple[date, date] | None:
    """Return the first and last future day that a sentence names."""
    for pattern, read in _RULES:
        if match := pattern.search(folded):
            return read(match, today)
    if _PAST.search(folded):
        return None
    for pattern, read in _VAGUE_RULES:
        if match := pattern.search(folded):
            return read(match, today)
    day = next(
        (day for time in find_absolute_times(folded)[0] if isinstance(time, Date) and (day := _next_date(time, today))),
        None,
    )
    return (day, day) if day else None


def _next_date(named: Date, today: date) -> date | None:
    """Return the next day with this date; None if it is past or invalid."""
    years = (named.year,) if named.year is not None else range(today.year, today.year + 5)  # for 29 February
    for year in years:
        try:
            day = date(year, named.month, named.day or 0)
        except ValueError:
            continue
        if day > today:
            return day
    return None


# ----------------------------------------------------------------------- rules

_Days = tuple[date, date]
_Rule = tuple[re.Pattern[str], Callable[[re.Match[str], date], _Days]]


def _rule(pattern: str, read: Callable[[re.Match[str], date], _Days]) -> _Rule:
    return re.compile(pattern), read


def _single_day(today: date, days: int) -> _Days:
    return today + days * DAY, today + days * DAY


def _week_days(today: date, weeks: int) -> _Days:
    """Return Monday and Sunday of the week `weeks` after this one."""
    monday = today - today.weekday() * DAY + weeks * WEEK
    return monday, monday + 6 * DAY


def _weekend_days(today: date, weeks: int) -> _Days:
    sunday = _week_days(today, weeks)[1]
    return max(sunday - DAY, today), sunday


def _next_month_days(today: date) -> _Days:
    """Return the first and the last day of the next month."""
    first = (today.replace(day=1) + 31 * DAY).replace(day=1)
    return first, (first + 31 * DAY).replace(day=1) - DAY


def _next_weekday(today: date, weekday: int) -> _Days:
    """Return the next day after today that is this weekday."""
    return _single_day(today, (weekday - today.weekday() - 1) % 7 + 1)


def _weekday_of_next_week(today: date, weekday: int) -> _Days:
    """Return this weekday of the next week."""
    return _single_day(_week_days(today, 1)[0], weekday)


def _next_day_of_month(today: date, day: int) -> _Days:
    """Return the next `day` of a month, 1 to 31; one of the next two months has it."""
    return next(_single_day(today, days) for days in range(1, 63) if (today + days * DAY).day == day)


def _days_after(today: date, count: str, unit: str) -> _Days:
    """Return the days after `count` units; weeks and months are approximate, as people mean them."""
    number = read_count(count)
    days, tolerance = _UNITS[unit]
    return today + (number * days - tolerance) * DAY, today + (number * days + tolerance) * DAY


_NEAR_DAYS = {-1: "yesterday", 0: "today", 1: "tomorrow"}
# The days of each unit, and the tolerance in days.
_UNITS = {"day": (1, 0), "week": (7, 1), "month": (30, 4), "天": (1, 0), "周": (7, 1), "星期": (7, 1), "个月": (30, 4)}

_RULES = (
    _rule(r"\b(?:the )?day after tomorrow\b|(?<!大)后天", lambda m, today: _single_day(today, 2)),
    _rule(r"\btomorrow\b|明[天早晚日]", lambda m, today: _single_day(today, 1)),
    _rule(
        r"\b(?:tonight|this (?:afternoon|evening)|later today)\b|今晚|今天(?:下午|晚上)",
        lambda m, today: _single_day(today, 0),
    ),
    _rule(rf"\bnext {WEEKDAY}\b", lambda m, today: _weekday_of_next_week(today, read_weekday(m[1]))),
    _rule(rf"下个?(?:周|星期|礼拜){HAN_WEEKDAY}", lambda m, today: _weekday_of_next_week(today, read_weekday(m[1]))),
    _rule(r"\bnext weekend\b|下个?周末", lambda m, today: _weekend_days(today, 1)),
    _rule(r"\bnext week\b|下个?(?:周|星期|礼拜)", lambda m, today: _week_days(today, 1)),
    _rule(r"\bnext month\b|下个?月", lambda m, today: _next_month_days(today)),
    _rule(rf"\bin {COUNT} (day|week|month)s?(?:'s? time)?\b", lambda m, today: _days_after(today, m[1], m[2])),
    _rule(rf"{HAN_COUNT} ?(天|周|个月|星期)(?:之|以)?后", lambda m, today: _days_after(today, m[1], m[2])),
)
# Expressions that may mean a past or a future day; in a sentence about the past they mean a past one.
_VAGUE_RULES = (
    _rule(r"\b(?:this|on the|at the|the) weekend\b|(?<!上)(?<!个)周末", lambda m, today: _weekend_days(today, 0)),
    _rule(rf"(?<!last )(?<!every )\b{WEEKDAY}\b(?!')", lambda m, today: _next_weekday(today, read_weekday(m[1]))),
    _rule(rf"(?<!每)(?<!上)(?:周|星期|礼拜){HAN_WEEKDAY}", lambda m, today: _next_weekday(today, read_weekday(m[1]))),
    _rule(
        rf"\bon the ([12]?[1-9]|10|20|3[01])(?:st|nd|rd|th)\b(?! of| (?:{'|'.join(MONTHS)}))",
        lambda m, today: _next_day_of_month(today, int(m[1])),
    ),
    _rule(r"(?<![月\d])([12]?[1-9]|10|20|3[01])号", lambda m, today: _next_day_of_month(today, int(m[1]))),
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_CLAUSE = re.compile(r"[,;:—]|\b(?:but|because|and (?=i\b|we\b))\b")
_OWN = re.compile(r"\b(?:i|we|my|our)\b|我")
_OCCASION = re.compile(
    r"\b(?:interview|exam|test|appointment|surgery|operation|flight|date|party|wedding|funeral|move|visit|meeting|concert"
    r"|race|marathon|deadline|birthday|trip|holiday|vacation|anniversary|game|match|recital|audition|scan|check-?up|due"
    r"|presentation|thesis|defen[cs]e|class|lesson|course|job|shift|dentist|doctor|therapist|train|rehearsal|show|play"
    r"|graduation|dinner|lunch|picnic|reunion|hearing|final|performance|competition|tournament|camp)s?\b"
    r"|\b(?:tickets?|opera|theatre|first day)\b"
    r"|面试|考试|手术|航班|飞机|火车|约会|婚礼|葬礼|搬家|开会|会议|演唱会|音乐会|比赛|生日|论文|旅行|旅游|出差|体检|看医生|牙医"
    r"|答辩|聚会|复诊|开学|入职|演出|毕业|截止|马拉松|约了"
)
_DO = (
    r"(?:go|fly|leave|move|start|begin|visit|meet|travel|drive|get married|marry|run|perform|present|defend|sing|host"
    r"|celebrate|graduate|retire|return|turn|sit|sign|take|be (?:in|at|on)|pick up|see my|see the|have)\b"
)
_DOING = (
    r"(?:going(?! to \w+ (?:about|of)\b| to (?:bed|sleep)\b)|flying|leaving|moving|starting|beginning|visiting|meeting"
    r"|travell?ing|driving|getting (?:married|my|our|a)|running|performing|presenting|defending|singing|hosting"
    r"|celebrating|graduating|retiring|returning|turning|signing|taking|seeing|having|off to|picking up|playing)\b"
)
_OTHERS_DO = r"(?:(?:is|are) )?(?:(?:com|visit|arriv|start|turn)(?:e|s|es|ing)?|get(?:s|ting) married)\b"
_OWN_ACTION = re.compile(
    rf"\b(?:i|we) (?:(?:will|shall|have to|need to|must|plan to) )?{_DO}|\b(?:i'll|we'll|i've got to) {_DO}"
    rf"|\b(?:i'm|we're|i am|we are) (?:\w+ly )?{_DOING}|\b(?:my|our) (?:\w+ ){{1,3}}?{_OTHERS_DO}"
    r"|我们?[^,.;!]{0,8}(?:要|去|飞|搬|见|回|开始|参加|出发|结婚|上班|陪)"
)
_UNCERTAIN = re.compile(  # a question, a quotation or an uncertain event
    r"[?\"“”„«»「」『』]|\b(?:if|unless|whether|would|i wish|might|maybe|perhaps|could|dreamt|dreamed)\b"
    r"|[吗呢]|如果|要是|可能|也许|说不定"
)
_NEGATION = re.compile(
    r"\b(?:not|never|no|cancel\w*|called off|aren't|isn't|won't|can't|cannot|don't|doesn't)\b"
    r"|\b(?:see|talk to|tell) you\b|\blet you know\b|[不没别]|取消"
)
_PAST = re.compile(  # "I was", "we finished"; but "I'm excited", "it is scheduled", "they moved it to Friday"
    r"\b(?:was|were|had|went|did|(?<!'ve )got|took|met|came|saw|left|flew|been|ran|won|lost|last|ago|yesterday)\b"
    r"|\b(?!(?:moved|postponed) (?:\w+ ){1,3}to\b|(?:excited|scared|worried|terrified|stressed|scheduled|booked|planned"
    r"|invited|need|wed|bed|red|supposed|married|engaged|called|named|hundred|indeed|speed)\b)\w{2,}ed\b|[了过]|上周|上个"
)
