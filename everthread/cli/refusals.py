"""`everthread recipes refusals`: shows the words that mark a reply as a refusal, and learns further ones."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from everthread import config, factory
from everthread.cli.common import confirm, json_option, show_json, yes_option
from everthread.cli.sanitize import escape_control_chars
from everthread.errors import BadInput, NotFound
from everthread.memory import Memory
from everthread.text.analyzer import normalize
from everthread.text.refusal import is_refusal
from everthread.text.refusal_words import RefusalWords, add_phrases, extend_shipped, read_tables, shipped_words
from everthread.types import Filter

MAX_REPLIES = 500  # of a bank's latest, to learn refusing words from
MAX_EXAMPLES = 3  # of newly refused replies


@click.command()
@click.option("--learn", is_flag=True, help="Ask the language model for further words, and add them.")
@click.option("-b", "--bank", help="Learn from this bank's replies.")
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Learn from the replies in this file, one per line.",
)
@click.option(
    "--language",
    default="English",
    show_default=True,
    help="Language of the words, if there are no replies to learn from.",
)
@click.option("-m", "--model", metavar="NAME", help="A model's name, or http://host/v1#model. Default: as for chat.")
@yes_option
@json_option
@click.pass_context
def refusals(
    ctx: click.Context,
    /,
    learn: bool,
    bank: str | None,
    source: Path | None,
    language: str,
    model: str | None,
    yes: bool,
    as_json: bool,
) -> None:
    """Show the words that mark a reply as a refusal, or learn further ones. Refusals are not remembered.

    The built-in words are extended by those in the file that the setting `refusals` names; an intensity of 0 disables a
    word. --learn asks the language model for refusing words in the replies of a bank or a file, or for words that it
    knows itself, shows them, and adds them to that file if you agree.
    """
    path = Path(config.load().refusals)
    if not learn:
        _show(path, as_json)
        return
    if bank is not None and source is not None:
        raise BadInput("--bank and --from are two sources of replies; give one of them")
    replies: list[str] = []
    if bank is not None:
        replies = _read_bank_replies(ctx, bank)
    elif source is not None:
        replies = _read_file_replies(source)
    current = _load_words(path)
    learnt = _learn_words(model, replies, language)
    extended = add_phrases(current, learnt)
    newly_refused = [text for text in replies if is_refusal(text, extended) and not is_refusal(text, current)]
    if as_json and not yes:
        raise BadInput("with --json there is no confirmation; pass --yes as well, to save the learnt words")
    if not as_json:
        _show_learnt(learnt, newly_refused, replies)
    if learnt and not yes:
        confirm(f"Add them to {path}?")
    if learnt:
        from everthread.scribes.refusal_learning import save_words  # needs pydantic, which no other command loads

        save_words(path, learnt)
    if as_json:
        show_json({"file": str(path), "learnt": learnt, "newly_refused": newly_refused})
    elif learnt:
        click.echo(f"saved in {path}")


def _load_words(path: Path) -> RefusalWords:
    """Return the built-in words, extended by those in the user's file if it exists."""
    return extend_shipped(path) if path.exists() else shipped_words()


def _show(path: Path, as_json: bool) -> None:
    words = _load_words(path)
    user_phrases = read_tables(path).get("phrases", {}) if path.exists() else {}
    intensities = {phrase.text: phrase.intensity for phrase in words.phrases}
    if as_json:
        show_json({"file": str(path), "exists": path.exists(), "own": user_phrases, "phrases": intensities})
        return
    none_yet = "" if user_phrases else " (none yet)"
    click.echo(f"{len(words.phrases)} phrases, {len(words.excuses)} excuses; yours: {path}{none_yet}")
    disabled = dict.fromkeys(map(normalize, user_phrases), 0.0)  # unless the words in force have another intensity
    for text, intensity in {**disabled, **intensities}.items():
        click.echo(escape_control_chars(f"{intensity:5.2f}  {text}{'  (yours)' if text in disabled else ''}"))


def _read_bank_replies(ctx: click.Context, /, bank: str) -> list[str]:
    """Return the bank's latest replies, refusals first."""
    store = factory.open_store(ctx.obj["store"], create=False)
    with closing(store):
        if not store.exists(bank):
            raise NotFound(f"there is no bank {bank!r}; `everthread banks` lists them")
        with Memory.open(bank, store=store, embedder="hash", recipe="default") as memory:
            lines = list(memory.lines(Filter(role="assistant"), include_retracted=True))[-MAX_REPLIES:]
    texts = [line.text for line in sorted(lines, key=lambda line: not line.metadata.get("refused"))]
    if not texts:
        raise BadInput(f"bank {bank!r} has no replies to learn from; talk with it first, or leave out --bank")
    return texts


def _read_file_replies(source: Path) -> list[str]:
    try:
        texts = [line.strip() for line in source.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{source} can't be read: {error}; expected replies in UTF-8, one per line") from error
    if not texts:
        raise BadInput(f"{source} is empty; expected replies, one per line")
    return texts


def _learn_words(model: str | None, replies: list[str], language: str) -> dict[str, float]:
    from everthread.scribes import refusal_learning  # needs pydantic, which no other command loads

    llm = factory.open_llm(model)
    if llm is None:
        raise BadInput("no language model is configured; name one with --model or EVERTHREAD_LLM_MODEL")
    if replies:
        return refusal_learning.learn_from_replies(llm, replies)
    return refusal_learning.learn_from_model(llm, language)


def _show_learnt(learnt: dict[str, float], newly_refused: list[str], replies: list[str]) -> None:
    if not learnt:
        click.echo("no refusing words were found; nothing was changed")
        return
    for word, intensity in sorted(learnt.items(), key=lambda item: -item[1]):
        click.echo(escape_control_chars(f"{intensity:5.2f}  {word}"))
    if replies:
        mark = ":" if newly_refused else "."
        click.echo(f"With them {len(newly_refused)} more of {len(replies)} replies count as refusals{mark}")
        for text in newly_refused[:MAX_EXAMPLES]:
            click.echo(escape_control_chars(f"       {text[:100]}"))
