"""`everthread chat`: runs a conversation in the terminal, or in JSON for a program."""

from __future__ import annotations

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
from everthread.chat.character_banks import separate_bank
from everthread.chat.character_library import open_character
from everthread.chat.chat import Chat
from everthread.chat.group_chat import GroupChat
from everthread.chat.reply import Reply
from everthread.cli.common import bank_option, decode_utf8, json_option, set_option, to_json, to_jsonable
from everthread.cli.group_repl import GroupChatRepl
from everthread.cli.repl import ChatRepl
from everthread.cli.repl_text import is_command, unescape
from everthread.cli.screen import Screen
from everthread.common.keys import SETTING_REMEMBER
from everthread.errors import BadInput, EverthreadError, NotFound
from everthread.languages.terminal_language import find_language
from everthread.languages.wording import DEFAULT_LANGUAGE, Wording, load_wording
from everthread.llms.base import LLM
from everthread.server.models.connection import open_for_terminal
from everthread.types import Sampling

CARD_SUFFIXES = (card.JSON, card.PNG)


@click.command()
@bank_option
@click.option(
    "-c", "--character", multiple=True, metavar="NAME", help="One of `everthread characters`, or the "
    "path of a card. Default: the bank's own. Repeat it for a group chat, in which each has its own bank."
)  # fmt: skip
@click.option(
    "-m", "--model", metavar="NAME", help="A model's name, http://host/v1#model, or none. Default: see above."
)
@click.option(
    "--scribe-model",
    metavar="NAME",
    help="Another model for notes and summaries; none writes them without a model.",
)
@click.option("--recipe", metavar="NAME", help="The recipe: see `everthread recipes`. Saved with the bank.")
@set_option
@click.option(
    "--offers/--no-offers",
    default=None,
    help="Let the character bring up memories by itself, or not; short for --set offers=…",
)
@click.option("--in", "banks", metavar="BANK", multiple=True, help="Also recall from this bank. Repeatable.")
@click.option("--speaker", help="Your name. Default: the one saved with the bank, or user.")
@click.option("--session", help="The session to resume. Default: the last one, if it is less than an hour old.")
@click.option("--incognito", is_flag=True, help="Store nothing.")
@click.option(
    "--remember", type=click.Choice(list(REMEMBER_POLICIES)), help="When this bank remembers conversations: "
    "always, ask when one ends, or never (then nothing is written). Saved with the bank."
)  # fmt: skip
@click.option("--temperature", type=click.FloatRange(0, 2), help="Sampling temperature of the model.")
@click.option(
    "--top-p", type=click.FloatRange(0, 1), help="Nucleus sampling: probability mass of the tokens to sample from."
)
@click.option("--frequency-penalty", type=click.FloatRange(-2, 2), help="Penalty for repeated tokens, by frequency.")
@click.option("--presence-penalty", type=click.FloatRange(-2, 2), help="Penalty for tokens that have already occurred.")
@click.option("--max-tokens", type=click.IntRange(1, 1_000_000), help="Maximum length of a reply, in tokens.")
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
    """Talk with a character that remembers; everything you say is stored.

    Works with any OpenAI-compatible model: the one that EVERTHREAD_LLM_URL and EVERTHREAD_LLM_MODEL name, else the one
    that was connected on the page or with `everthread model`, else one of an Ollama on this machine. Without a model,
    each line is answered with the recalled memories.

    With --json, each line of standard input is answered with one JSON object on one line: the recalled context ("text",
    "tokens", "lines", "units", "hits", "cut", "relevance"; for other banks "others") and the "reply", null without a
    model, with "partial" if it was cut short and "refused" if the model refused. A command such as /stats gives
    {"command": …, "answer": …}. If a goodbye is answered with the question whether to remember the conversation, the
    answer is {"reply": …, "question": …, "remembered": …}, and the next line answers it. An error gives {"error": …},
    with the part of the "reply" that was received and stored, and the conversation continues. Only /quit and the end of
    the input end it; a line that says quit is stored like any other.
    """
    for name, remedy in (("speaker", "give your name"), ("session", "give its name")):
        _check(f"--{name}", values[name], remedy)
    if values["incognito"] and values["remember"]:
        raise BadInput("--remember is saved with the bank, and --incognito writes nothing; leave out one of them")
    sampling = Sampling(**{option.name: values.pop(option.name) for option in fields(Sampling)})
    arguments = {**ctx.obj, **({"recipe": recipe} if recipe else {}), "sampling": sampling}
    offers_option = {} if offers is None else {"offers": str(offers).lower()}
    arguments["language"] = DEFAULT_LANGUAGE if as_json else find_language()
    arguments |= {"options": {**ctx.obj["options"], **options, **offers_option}, "scribe": scribe_model, "banks": banks}
    values["model"] = open_for_terminal(arguments["store"], values["model"])
    if len(character) > 1:
        _run_group_chat(bank, character, arguments, values, as_json)
        return
    if character and not values["incognito"]:
        words = load_wording(arguments["language"])
        bank = choose_bank(bank, character[0], arguments["store"], words, asks=sys.stdin.isatty() and not as_json)
    with open_chat(bank, character[0] if character else None, arguments, **values) as (conversation, can_save):
        if as_json:
            run_json(conversation, can_save)
        else:
            ChatRepl(conversation, can_save=can_save).run()


@contextmanager
def open_chat(
    bank: str,
    character: str | None,
    arguments: dict[str, Any],
    *,
    model: LLM | None,
    speaker: str | None,
    session: str | None,
    incognito: bool,
    remember: str | None,
) -> Iterator[tuple[Chat, bool]]:
    """Open a conversation; yield it, and whether anything can be saved. Incognito, a missing bank is not created.

    Args:
        bank: the name of the bank.
        character: the name of a character, or the path of a card.
        arguments: further arguments of `Chat.open`.
        model, speaker, session, incognito, remember: as for `everthread chat`.
    """
    with ExitStack() as stack:
        exists = _bank_exists(arguments["store"], bank, character)
        if incognito and not exists:
            arguments = {**arguments, "store": stack.enter_context(TemporaryDirectory())}
        unstored = incognito or remember_policy({SETTING_REMEMBER: remember}) is False  # before the first line
        conversation = stack.enter_context(
            Chat.open(bank, character=character, llm=model or "none", session=session, incognito=unstored, **arguments)
        )
        if remember is not None:
            conversation.memory.set_setting(SETTING_REMEMBER, remember)
            conversation.incognito = remember_policy({SETTING_REMEMBER: remember}) is False
        if character is not None:
            conversation.character = conversation.character  # saves it as the bank's own
        if speaker is not None and speaker != conversation.character.person:
            conversation.edit_character(person=speaker)
        yield conversation, exists or not incognito


def choose_bank(bank: str, character: str, store: str | Path | None, words: Wording, *, asks: bool) -> str:
    """Return the bank for a conversation with a character.

    If the bank holds another character's memories, ask whether this one takes its place or gets its own bank. Without a
    terminal it takes the other's place, and a line on standard error reports that.
    """
    with suppress(NotFound), closing(factory.open_store(store, create=False)) as opened:  # no store has no such bank
        if opened.exists(bank) and opened.corpus_stats(bank).lines:
            settings = opened.settings(bank)
            current, name = open_character(None, settings).name, open_character(character, settings).name
            return bank if current == name else _ask_for_bank(bank, current, name, words, asks)
    return bank


def _ask_for_bank(bank: str, current: str, name: str, words: Wording, asks: bool) -> str:
    """Return the bank for the character `name`: this one, which holds the memories of `current`, or a separate one."""
    names = {"bank": bank, "current": current, "name": name, "separate": separate_bank(bank, current, name)}
    if not asks:
        click.echo(words("terminal.bank_taken_over", **names), err=True)
        return bank
    own, this = words("terminal.bank_own"), words("terminal.bank_this")
    click.echo(words("terminal.bank_taken", own=own, this=this, **names), err=True)
    question = words("terminal.bank_answer", own=own, this=this)
    answer = click.prompt(question, type=click.Choice([own, this]), show_choices=False, err=True)
    return names["separate"] if answer == own else bank


def _check(option: str, value: str | None, remedy: str) -> None:
    if value is not None and not value.strip():
        raise BadInput(f"{option} {value!r} is blank; {remedy}, or leave the option out")
    if value is not None and len(value) > MAX_NAME_CHARS:
        raise BadInput(f"{option} has {len(value):,} characters; at most {MAX_NAME_CHARS} are allowed")


def _bank_exists(store: str | Path | None, bank: str, character: str | None) -> bool:
    """Return whether a bank exists, without creating it. Raises NotFound for an unknown character, so that a mistyped
    name creates no bank."""
    exists = False
    with suppress(NotFound), closing(factory.open_store(store, create=False)) as opened:  # as above
        exists = opened.exists(bank)
    if character is not None and not exists:
        open_character(character, {})
    return exists


def run_json(conversation: Chat, can_save: bool) -> None:
    """Answer each line of standard input with one JSON object on a line."""
    written: list[str] = []
    repl = ChatRepl(conversation, Screen(_no_input, written.append), can_save=can_save, interactive=False)
    for raw in filter(None, map(bytes.strip, sys.stdin.buffer)):
        if raw.lower() == b"/quit":
            return
        written.clear()
        try:
            text = decode_utf8(raw).strip()
            if is_command(text):
                result = repl.run_command(text)
                answer = {"command": text, "answer": "".join(written) + result}
            else:
                answer = build_answer(conversation, conversation.reply(unescape(text)))
        except EverthreadError as error:
            answer = {"error": str(error)}
        click.echo(to_json(answer))


def build_answer(conversation: Chat, reply: Reply) -> dict[str, Any]:
    """Build the answer to a line: the recalled context, and the reply (None without a model)."""
    try:
        text = "".join(reply)
    except EverthreadError as error:
        failure = {"error": str(error)}
        return {**failure, "reply": reply.text, "partial": True} if reply.line else failure
    if reply.ending is not None:
        return {"reply": text, "question": reply.ending.question or None, "remembered": reply.ending.remembered}
    shown = text if conversation.llm is not None else None
    return {**to_jsonable(reply.context), "reply": shown, "partial": reply.partial, "refused": reply.refused}


def _no_input(question: str) -> str:
    raise EOFError  # no user can answer


def _run_group_chat(
    bank: str, specs: tuple[str, ...], arguments: dict[str, Any], values: dict[str, Any], as_json: bool
) -> None:
    """Run a group chat; `specs` are the names of characters, or the paths of cards."""
    if as_json:
        raise BadInput("--json works with one character only; pass --character once, or leave out --json")
    names = [
        character_library.load(spec).name if Path(spec).suffix.lower() in CARD_SUFFIXES else spec for spec in specs
    ]
    if repeated := [name for name in names if names.count(name) > 1]:
        raise BadInput(f"{repeated[0]!r} is given twice; give each --character once")
    spec_by_bank = {f"{bank}/{name}": spec for name, spec in zip(names, specs, strict=True)}
    for own_bank, spec in spec_by_bank.items():  # check all characters before the first bank is created
        _bank_exists(arguments["store"], own_bank, spec)
    with ExitStack() as stack:
        chats = [
            stack.enter_context(open_chat(own_bank, spec, arguments, **values))[0]
            for own_bank, spec in spec_by_bank.items()
        ]
        GroupChatRepl(GroupChat(chats)).run()
