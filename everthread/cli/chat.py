"""`everthread chat`: opens a conversation, and talks in it on a terminal or, as JSON, with a program."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from everthread import factory
from everthread.bank.line_validation import MAX_NAME_CHARS
from everthread.bank.settings import REMEMBER_POLICIES, remember_policy
from everthread.chat import card, character_library
from everthread.chat.character_library import open_character
from everthread.chat.chat import Chat
from everthread.chat.group_chat import GroupChat
from everthread.chat.reply import Reply
from everthread.cli.common import bank_option, decode_utf8, json_option, set_option, to_json, to_jsonable
from everthread.cli.group_repl import GroupChatRepl
from everthread.cli.repl import ChatRepl
from everthread.cli.repl_text import is_command, unescape
from everthread.common.keys import SETTING_REMEMBER
from everthread.errors import BadInput, EverthreadError
from everthread.types import Sampling

CARD_SUFFIXES = (card.JSON, card.PNG)


@click.command()
@bank_option
@click.option(
    "-c", "--character", multiple=True, metavar="NAME", help="Who talks with you: one of `everthread characters`, or a "
    "card's file. Default: whom the bank knows. Given several times: a scene, each with a bank of its own."
)  # fmt: skip
@click.option(
    "-m", "--model", metavar="NAME", help="A model's name, http://host/v1#model, or none. Default: see below."
)
@click.option(
    "--scribe-model",
    metavar="NAME",
    help="Another model for notes and summaries; none: without a model.",
)
@click.option("--recipe", metavar="NAME", help="How it remembers: see `everthread recipes`. It stays set.")
@set_option
@click.option(
    "--offers/--no-offers", default=None, help="Speak of the past unasked, or don't; short for --set offers=…."
)
@click.option("--in", "banks", metavar="BANK", multiple=True, help="Draw on this bank as well. May be given again.")
@click.option("--speaker", help="Your name, as it will be remembered. Default: as before, or user.")
@click.option("--session", help="The conversation to go on with. Default: the last, if it is less than an hour old.")
@click.option("--incognito", is_flag=True, help="Write nothing at all.")
@click.option(
    "--remember", type=click.Choice(list(REMEMBER_POLICIES)), help="Whether this bank remembers conversations: "
    "always, ask when one ends, or never (then nothing is written). It stays set."
)  # fmt: skip
@click.option("--temperature", type=click.FloatRange(0, 2), help="How freely the model chooses its words.")
@click.option("--top-p", type=click.FloatRange(0, 1), help="The share of likely words that it chooses from.")
@click.option("--frequency-penalty", type=click.FloatRange(-2, 2), help="Against saying the same words again.")
@click.option("--presence-penalty", type=click.FloatRange(-2, 2), help="For speaking of new things.")
@click.option("--max-tokens", type=click.IntRange(1, 1_000_000), help="Tokens of a reply at most.")
@json_option
@click.pass_context
def chat(
    ctx: click.Context,
    /,
    bank: str,
    character: tuple[str, ...],
    recipe: str | None,
    scribe_model: str | None,
    options: dict[str, str],
    offers: bool | None,
    banks: tuple[str, ...],
    as_json: bool,
    **values: Any,
) -> None:
    """Talk with a character that remembers; everything you say is kept.

    Any OpenAI-compatible model will do: that of EVERTHREAD_LLM_URL and EVERTHREAD_LLM_MODEL, else an Ollama that runs
    on this machine. Without one you are shown what is remembered.

    With --json each line of standard input is answered by one JSON object on a line: what was recalled for it ("text",
    "tokens", "lines", "hits", "cut", "relevance"; of other banks "others"), and the "reply", which is null where there
    is no model, with "partial" if it was cut short and "refused" if the model would not answer; or, for a command such
    as /stats,
    {"command": …, "answer": …}; or, for a goodbye that is answered with the question whether
    to remember, {"reply": …, "question": …, "remembered": …}; the next line answers it. What goes wrong is
    {"error": …}, with the "reply" as far as it came and was kept, and the talk goes on. Only /quit and the end of the
    input end it: a line that says quit is remembered like any other.
    """
    for name, what in (("speaker", "your name"), ("session", "its name")):
        _check(f"--{name}", values[name], what)
    if values["incognito"] and values["remember"]:
        raise BadInput("--remember is kept with the bank, and --incognito writes nothing; leave out one of them")
    sampling = Sampling(**{each.name: values.pop(each.name) for each in fields(Sampling)})
    given = {**ctx.obj, **({"recipe": recipe} if recipe else {}), "sampling": sampling}
    asked = {} if offers is None else {"offers": str(offers).lower()}
    given |= {"options": {**ctx.obj["options"], **options, **asked}, "scribe": scribe_model, "banks": banks}
    if len(character) > 1:
        _scene(bank, character, given, values, as_json)
        return
    if character and not values["incognito"]:
        bank = choose_bank(bank, character[0], given["store"], asks=sys.stdin.isatty() and not as_json)
    with open_chat(bank, character[0] if character else None, given, **values) as (conversation, keeps):
        if as_json:
            run_json(conversation, keeps)
        else:
            ChatRepl(conversation, can_save=keeps).run()


@contextmanager
def open_chat(
    bank: str,
    character: str | None,
    given: dict[str, Any],
    *,
    model: str | None,
    speaker: str | None,
    session: str | None,
    incognito: bool,
    remember: str | None,
) -> Iterator[tuple[Chat, bool]]:
    """The conversation, and whether anything can be kept of it. One in private with a bank that is not there makes
    none."""
    with ExitStack() as stack:
        there = _bank_exists(given["store"], bank, character)
        if incognito and not there:
            given = {**given, "store": stack.enter_context(TemporaryDirectory())}
        private = incognito or remember_policy({SETTING_REMEMBER: remember}) is False  # from the first moment on
        conversation = stack.enter_context(
            Chat.open(bank, character=character, llm=model, session=session, incognito=private, **given)
        )
        if remember is not None:
            conversation.memory.set_setting(SETTING_REMEMBER, remember)
            conversation.incognito = remember_policy({SETTING_REMEMBER: remember}) is False
        if character is not None:
            conversation.character = conversation.character  # whom the bank knows from now on
        if speaker is not None and speaker != conversation.character.person:
            conversation.edit_character(person=speaker)
        yield conversation, there or not incognito


def choose_bank(bank: str, character: str, store: str | Path | None, *, asks: bool) -> str:
    """The bank to talk in with a character. Where it holds what another one remembers, the person says whether the
    character takes its place or has a bank of its own; without a terminal a line on standard error says which it is."""
    with suppress(LookupError), closing(factory.store(store, create=False)) as found:
        if found.exists(bank) and found.corpus(bank).lines:
            settings = found.settings(bank)
            now, name = open_character(None, settings).name, open_character(character, settings).name
            return bank if now == name else _chosen(bank, now, name, asks)
    return bank


def _chosen(bank: str, now: str, name: str, asks: bool) -> str:
    own, held = character_bank(bank, now, name), f"bank {bank!r} holds what {now} remembers"
    if not asks:
        click.echo(f"({held}; {name} takes {now}'s place. --bank {own} would be a bank of its own)", err=True)
        return bank
    click.echo(f"{held[0].upper()}{held[1:]}. Where do you want to talk with {name}?", err=True)
    click.echo(f"  own   in a bank of its own, {own}", err=True)
    click.echo(f"  this  in this bank, where {name} takes {now}'s place and knows everything said there", err=True)
    return own if click.prompt("Answer", type=click.Choice(["own", "this"]), err=True) == "own" else bank


def character_bank(bank: str, now: str, name: str) -> str:
    """The bank of a character's own: laura/captain-vey, next to laura or laura/ever."""
    below, beside = ("/" + re.sub(r"[\s/]+", "-", each.lower()) for each in (name, now))
    return bank.removesuffix(beside) + below


def _check(option: str, value: str | None, what: str) -> None:
    if value is not None and not value.strip():
        raise BadInput(f"{option} {value!r} is blank; give {what}, or leave it out")
    if value is not None and len(value) > MAX_NAME_CHARS:
        raise BadInput(f"{option} has {len(value):,} characters; at most {MAX_NAME_CHARS} are allowed")


def _bank_exists(store: str | Path | None, bank: str, character: str | None) -> bool:
    """Whether there is such a bank, found out without making anything. NotFound for a character that neither it nor the
    folder of characters can know, so that a mistyped name makes no bank."""
    there = False
    with suppress(LookupError), closing(factory.store(store, create=False)) as found:
        there = found.exists(bank)
    if character is not None and not there:
        open_character(character, {})
    return there


def run_json(conversation: Chat, keeps: bool) -> None:
    """Answer each line of standard input by one JSON object on a line."""
    written: list[str] = []
    talk = ChatRepl(conversation, _no_input, written.append, can_save=keeps, interactive=False)
    for raw in filter(None, map(bytes.strip, sys.stdin.buffer)):
        if raw.lower() == b"/quit":
            return
        written.clear()
        try:
            said = decode_utf8(raw).strip()
            if is_command(said):
                last = talk.run_command(said)
                answer = {"command": said, "answer": "".join(written) + last}
            else:
                answer = build_answer(conversation, conversation.reply(unescape(said)))
        except EverthreadError as error:
            answer = {"error": str(error)}
        click.echo(to_json(answer))


def build_answer(conversation: Chat, reply: Reply) -> dict[str, Any]:
    """What was recalled for a line, and the reply; None where no model is there to give one."""
    try:
        text = "".join(reply)
    except EverthreadError as error:
        told = {"error": str(error)}
        return {**told, "reply": reply.text, "partial": True} if reply.line else told
    if reply.ending is not None:
        return {"reply": text, "question": reply.ending.question or None, "remembered": reply.ending.remembered}
    said = text if conversation.llm is not None else None
    return {**to_jsonable(reply.context), "reply": said, "partial": reply.partial, "refused": reply.refused}


def _no_input(question: str) -> str:
    raise EOFError  # there is nobody at a terminal who could be asked


def _scene(bank: str, names: tuple[str, ...], given: dict[str, Any], values: dict[str, Any], as_json: bool) -> None:
    if as_json:
        raise BadInput("--json goes with one character; give --character once, or leave out --json")
    called = [
        character_library.load(name).name if Path(name).suffix.lower() in CARD_SUFFIXES else name for name in names
    ]
    if twice := [name for name in called if called.count(name) > 1]:
        raise BadInput(f"{twice[0]!r} can't be there twice; give each --character once")
    banks = [f"{bank}/{own}" for own in called]
    for own, name in zip(banks, names, strict=True):
        _bank_exists(
            given["store"], own, name
        )  # or the first would have a bank by the time that the second isn't found
    with ExitStack() as stack:
        chats = [
            stack.enter_context(open_chat(own, name, given, **values))[0]
            for own, name in zip(banks, names, strict=True)
        ]
        GroupChatRepl(GroupChat(chats)).run()
