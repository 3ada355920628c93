"""`everthread train`: trains an embedder on a user's own conversations, or on given pairs."""

from __future__ import annotations

from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path

import click

from everthread.cli.common import json_option, pluralize, show_json
from everthread.cli.main import open_memory
from everthread.common.installation import extra_command
from everthread.errors import BadInput, ConfigError
from everthread.training.evaluation import Evaluation
from everthread.training.pair_rules import make_pairs
from everthread.training.pairs import Pair, read_pairs, remove_duplicates

PACKAGES = ("torch", "transformers", "onnx", "onnxscript")  # of the extra `train`


@click.command()
@click.argument("out", type=click.Path(path_type=Path, file_okay=False))
@click.option("-b", "--bank", "banks", multiple=True, help="Make pairs from the lines of this bank. Repeatable.")
@click.option(
    "--pairs",
    "files",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="FILE",
    help='Read pairs from JSON Lines: {"query": …, "text": …}, with or without "negatives". Repeatable.',
)
@click.option(
    "--model",
    "base",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FOLDER",
    help="The base: a sentence-transformers folder, such as one of all-MiniLM-L6-v2.",
)
@click.option("--epochs", type=click.IntRange(min=1), default=3, show_default=True, help="Passes over the pairs.")
@click.option(
    "--vectors", type=click.Choice(["1", "3", "5"]), default="1", show_default=True, help="Vectors of each text."
)
@click.option("--force", is_flag=True, help="Write the model even if it is worse than its base.")
@json_option
@click.pass_context
def train(
    ctx: click.Context,
    /,
    out: Path,
    banks: tuple[str, ...],
    files: tuple[Path, ...],
    base: Path,
    epochs: int,
    vectors: str,
    force: bool,
    as_json: bool,
) -> None:
    """Train an embedder on pairs of a question and a line, and write it to the folder OUT.

    Nothing leaves this machine. A fifth of the pairs is held out, and the model is written only if it finds their lines
    as well as its base does. Use it with --embedder OUT, after `everthread --embedder OUT reindex`.
    """
    if not banks and not files:
        raise BadInput("nothing to train on; name a bank with --bank, or a file of pairs with --pairs")
    if missing := [name for name in PACKAGES if find_spec(name) is None]:
        raise ConfigError(f"training needs the extra: {extra_command('train')} ({', '.join(missing)} not installed)")
    from everthread.training import trainer

    pairs = remove_duplicates([*_make_bank_pairs(ctx, banks), *(pair for file in files for pair in read_pairs(file))])
    click.echo(pluralize(len(pairs), "pair"), err=True)
    config = trainer.TrainingConfig(epochs=epochs, vectors=int(vectors))
    result = trainer.train(pairs, base, out, config, force, lambda text: click.echo(text, err=True))
    if as_json:
        show_json(asdict(result))
    else:
        click.echo(f"before  {_render(result.before)}\nafter   {_render(result.after)}")
    if not result.written:
        raise BadInput("the trained model is worse than its base, and was not written; add pairs, or pass --force")
    if not as_json:
        click.echo(f"{out}: {result.name}; use it with `everthread --embedder {out} reindex --bank NAME`")


def _make_bank_pairs(ctx: click.Context, /, banks: tuple[str, ...]) -> list[Pair]:
    pairs: list[Pair] = []
    for bank in banks:
        with open_memory(ctx, bank) as memory:
            pairs += make_pairs(list(memory.lines()))
    return pairs


def _render(measured: Evaluation) -> str:
    recall = "  ".join(f"recall@{k} {100 * share:.1f}" for k, share in measured.recall.items())
    return f"{recall}  MRR {measured.mrr:.3f}  ({measured.questions} questions, {measured.texts} texts)"
