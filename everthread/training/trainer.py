"""Trains an embedder by contrast, compares it with its base on held-out pairs, and exports it. Needs torch.

The loss is the cross-entropy of each question over the texts of its batch and its own negatives, and of each text over
the questions (van den Oord et al. 2018, "Representation learning with contrastive predictive coding"; Henderson et al.
2017, "Efficient natural language response suggestion for Smart Reply", whose loss sentence-transformers calls
MultipleNegativesRanking). A text of several vectors has the greatest of their cosines, as in goodai-ltm.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from everthread.embedders.export import export_encoder
from everthread.embedders.onnx import OnnxEmbedder
from everthread.errors import BadInput
from everthread.training.evaluation import Evaluation, evaluate
from everthread.training.mining import Guide
from everthread.training.model import TrainableModel
from everthread.training.model_folder import replace_model
from everthread.training.pairs import Pair, split_pairs

MIN_PAIRS = 50  # of each part; fewer train or measure nothing
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class TrainingConfig:
    """How a model is trained.

    Attributes:
        epochs: passes over the pairs.
        vectors: of each text.
        base_share: of the weights of the encoder's trained layers at the end; their mean with the base's keeps what it
            knows of other texts than the pairs (Wortsman et al. 2022, "Robust fine-tuning of zero-shot models").
        trained_layers: the last layers of the encoder; those before them stay as they are, which is faster, and forgets
            less of what the base knows.
        batch_pairs: pairs of a batch; each text is a negative of all other questions in it.
        negatives: of each pair: first the given ones, then mined ones.
        encoder_rate: learning rate of the encoder.
        pooling_rate: learning rate of the poolings, whose few weights begin at random.
        scale: of cosines in the loss, the inverse of its temperature; 20 as in sentence-transformers.
        warmup: the share of steps in which the rates rise; afterwards they fall to 0.
        seed: of the order of pairs and the poolings' first weights.
    """

    epochs: int = 3
    vectors: int = 1
    base_share: float = 0.5
    trained_layers: int = 2
    batch_pairs: int = 64
    negatives: int = 2
    encoder_rate: float = 2e-5
    pooling_rate: float = 2e-3
    scale: float = 20.0
    warmup: float = 0.1
    seed: int = 0


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """A finished training: the quality of the base and of the exported model on the same held-out pairs."""

    name: str
    folder: str
    trained_pairs: int
    before: Evaluation
    after: Evaluation
    written: bool


def train(
    pairs: Sequence[Pair],
    base: Path,
    out: Path,
    config: TrainingConfig = TrainingConfig(),
    force: bool = False,
    progress: Progress = lambda text: None,
) -> TrainingResult:
    """Train a model, and write it in the format of OnnxEmbedder unless it is worse than its base.

    Args:
        pairs: a fifth of them is held out.
        base: a sentence-transformers folder.
        out: the folder to write.
        config: how it is trained.
        force: write the model even if it is worse.
        progress: called with a message before each step.

    Raises:
        BadInput: there are too few pairs.
        ConfigError: the base can't be loaded.
    """
    training, held_out = split_pairs(pairs)
    if min(len(training), len(held_out)) < MIN_PAIRS:
        raise BadInput(
            f"too few pairs: got {len(training)} to train on and {len(held_out)} to measure with, expected at least "
            f"{MIN_PAIRS} of each; add banks or files with more pairs"
        )
    model, base_model = TrainableModel(base, config.vectors, config.seed), TrainableModel(base)
    progress(f"measuring the base on {len(held_out)} held-out pairs")
    before = evaluate(base_model, held_out)
    progress(f"mining negatives among {len(training)} pairs")
    guide = Guide(training, base_model)
    _fit(model, guide.add_negatives(config.negatives), guide, config, progress)
    progress("exporting")
    with tempfile.TemporaryDirectory() as scratch:
        name = f"{out.resolve().name}-{_digest(model)}"
        texts = [pair.text for pair in training]
        parts = (model.encoder, model.pooling, model.source, base, Path(scratch))
        export_encoder(*parts, name=name, vectors=config.vectors, texts=texts)
        after = evaluate(OnnxEmbedder(Path(scratch)), held_out)
        written = force or after.mrr >= before.mrr
        if written:
            replace_model(Path(scratch), out)
    return TrainingResult(name, str(out), len(training), before, after, written)


def _fit(
    model: TrainableModel, pairs: Sequence[Pair], guide: Guide, config: TrainingConfig, progress: Progress
) -> None:
    """Train the model's last layers and its pooling."""
    trained = _freeze(model, config.trained_layers)
    before = [parameter.detach().clone() for parameter in trained]
    groups = [{"params": trained, "lr": config.encoder_rate}]
    if poolings := list(model.pooling.parameters()):
        groups.append({"params": poolings, "lr": config.pooling_rate})
    optimizer = torch.optim.AdamW(groups, weight_decay=0.01)
    steps = config.epochs * (len(pairs) // config.batch_pairs or 1)
    rise = max(1, round(config.warmup * steps))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / rise, (steps - step) / max(1, steps - rise))
    )
    order = np.random.default_rng(config.seed)
    for epoch in range(config.epochs):
        model.encoder.train()
        losses = []
        for rows in _batches(order, len(pairs), config.batch_pairs):
            loss = _loss(model, [pairs[row] for row in rows], guide.find_answers(rows, rows), config.scale)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_([*trained, *poolings], 1.0)
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
        progress(f"epoch {epoch + 1} of {config.epochs}: loss {np.mean(losses):.3f}")
    with torch.no_grad():
        for parameter, original in zip(trained, before, strict=True):
            parameter.lerp_(original, config.base_share)


def _freeze(model: TrainableModel, trained_layers: int) -> list[nn.Parameter]:
    """Return the parameters of the last layers, and exclude all others of the encoder from training."""
    model.encoder.requires_grad_(False)
    last = list(model.layers())[-trained_layers:]
    return [parameter.requires_grad_() for layer in last for parameter in layer.parameters()]


def _batches(order: np.random.Generator, count: int, size: int) -> Iterator[np.ndarray]:
    """Yield the rows of each batch, in random order; an incomplete last one is left out."""
    rows = order.permutation(count)
    for start in range(0, max(count - size, 0) + 1, size):
        yield rows[start : start + size]


def _loss(model: TrainableModel, pairs: Sequence[Pair], answers: np.ndarray, scale: float) -> Tensor:
    """Return the loss of a batch.

    Args:
        model: the model.
        pairs: B pairs with K negatives each, or fewer.
        answers: (B, B) whether a text may answer another pair's question; such texts are no negatives.
        scale: of cosines.
    """
    questions = model.encode_questions([pair.query for pair in pairs])  # (B, D)
    negatives = [(row, text) for row, pair in enumerate(pairs) for text in pair.negatives]
    texts = model.encode_texts([*(pair.text for pair in pairs), *(text for _, text in negatives)])  # (B + M, E, D)
    scores = scale * torch.einsum("bd,med->bme", questions, texts).amax(2)  # (B, B + M)
    targets, count = torch.arange(len(pairs)), len(pairs)
    is_own = torch.zeros(scores.shape, dtype=torch.bool)
    is_own[:, :count] = torch.from_numpy(~answers)
    is_own[targets, targets] = True
    for column, (row, _) in enumerate(negatives, count):
        is_own[row, column] = True  # for its own question only
    masked = scores.masked_fill(~is_own, -torch.inf)
    by_question = nn.functional.cross_entropy(masked, targets)
    by_text = nn.functional.cross_entropy(masked[:, :count].T, targets)
    return (by_question + by_text) / 2


def _digest(model: TrainableModel) -> str:
    """Return eight digits of the weights: vectors of models with different names are never compared."""
    digest = hashlib.blake2b(digest_size=4)
    for weights in (*model.encoder.state_dict().values(), *model.pooling.state_dict().values()):
        digest.update(weights.numpy().tobytes())
    return digest.hexdigest()
