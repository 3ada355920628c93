"""Collected only if torch, transformers, onnx and onnxscript are installed (see conftest.py)."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing
from transformers import BertConfig, BertModel

from everthread import Memory
from everthread.embedders.export import Quantise, export, main, read_source_config
from everthread.embedders.onnx import OnnxEmbedder
from everthread.embedders.token_vectors import encode_signs, project
from everthread.errors import ConfigError
from everthread.recall.token_match import SIGNAL
from everthread.recall.types import Query

pytestmark = pytest.mark.filterwarnings("default")  # torch's exporter warns about itself
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *"the red boat sank at dawn nobody saw it".split()]
TEXTS = ["the red boat", "nobody saw it sank at dawn", "", "the"]


def make_folder(folder: Path, pooling: str = "mean_tokens", normalise: bool = True, dim: int = 64) -> Path:
    """Create a tiny BERT with random weights in the folder layout of sentence-transformers."""
    folder.mkdir()
    torch.manual_seed(7)
    config = BertConfig(
        vocab_size=300,
        hidden_size=dim,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=128,
        max_position_embeddings=32,
    )
    BertModel(config).save_pretrained(folder)
    vocabulary = {word: i for i, word in enumerate(WORDS)}
    tokenizer = Tokenizer(WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = BertNormalizer(), BertPreTokenizer()
    tokenizer.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    tokenizer.enable_padding(length=128)
    tokenizer.save(str(folder / "tokenizer.json"))
    kinds = ["Transformer", "Pooling", *(["Normalize"] if normalise else [])]
    modules = [
        {"type": f"sentence_transformers.models.{kind}", "path": "" if kind == "Transformer" else kind}
        for kind in kinds
    ]
    write_json(folder / "modules.json", modules)
    (folder / "Pooling").mkdir()
    write_json(folder / "Pooling" / "config.json", {"word_embedding_dimension": dim, f"pooling_mode_{pooling}": True})
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": 16})
    return folder


def write_json(path: Path, content: object) -> None:
    path.write_text(json.dumps(content))


def embed_with_torch(folder: Path, pooling: str) -> np.ndarray:
    """Compute the vectors on torch one by one, with explicit pooling."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    model = BertModel.from_pretrained(folder).eval()
    rows = []
    for text in TEXTS:
        with torch.no_grad():
            hidden = model(torch.tensor([tokenizer.encode(text).ids])).last_hidden_state[0].numpy()  # (T, D)
        rows.append(hidden[0] if pooling == "cls_token" else hidden.mean(0))
    vectors = np.stack(rows)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


@pytest.mark.parametrize("pooling", ["mean_tokens", "cls_token"])
@pytest.mark.parametrize("normalise", [True, False])
def test_an_unquantised_export_agrees_with_torch(tmp_path: Path, pooling: str, normalise: bool) -> None:
    folder = make_folder(tmp_path / "tiny", pooling, normalise)
    export(folder, tmp_path / "out", quantise="none")
    np.testing.assert_allclose(
        OnnxEmbedder(tmp_path / "out").embed(TEXTS), embed_with_torch(folder, pooling), atol=1e-5
    )


def test_a_quantised_export_is_smaller_and_nearly_agrees_with_torch(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "tiny")
    plain = export(folder, tmp_path / "plain", quantise="none")
    quantised = export(folder, tmp_path / "quantised")
    assert quantised.model_bytes < plain.model_bytes / 2
    cosines = (OnnxEmbedder(tmp_path / "quantised").embed(TEXTS) * embed_with_torch(folder, "mean_tokens")).sum(1)
    assert cosines.min() > 0.995


def make_texts(count: int = 200) -> list[str]:
    """Return texts of four random words each."""
    words = np.random.default_rng(3).choice(WORDS[4:], (count, 4))
    return [" ".join(row) for row in words]


def test_the_token_vectors_of_an_export_are_those_of_torch(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "tiny", dim=128)
    config = export(folder, tmp_path / "out", quantise="none", texts=make_texts())
    embedder = OnnxEmbedder(tmp_path / "out")
    assert embedder.token_scheme == config.token_scheme
    assert config.token_scheme.startswith("signs-128-")
    with torch.no_grad():
        ids = torch.tensor([[2, 4, 5, 6, 3]])  # [CLS] the red boat [SEP]
        states = BertModel.from_pretrained(folder).eval()(ids).last_hidden_state[0].numpy()  # (5, 128)
    expected = project(states[2:4], np.load(tmp_path / "out" / "token_projection.npy").astype(np.float32))
    vector, tokens = embedder.embed_query_with_tokens("the red boat")
    assert list(tokens.words) == ["red", "boat"]
    np.testing.assert_allclose(tokens.vectors, expected, atol=1e-3)
    vectors, codes = embedder.embed_with_tokens(["the red boat"])
    np.testing.assert_array_equal(vectors[0], vector)
    np.testing.assert_array_equal(codes[0], encode_signs(tokens.vectors))


def test_a_bank_compares_the_words_of_an_export_with_texts(tmp_path: Path) -> None:
    export(make_folder(tmp_path / "tiny", dim=128), tmp_path / "out", texts=make_texts())
    with Memory.open("alice", store=tmp_path / "banks", embedder=str(tmp_path / "out")) as memory:
        for text in ("The red boat sank.", "Nobody saw it at dawn."):
            memory.observe(text)
        candidates, signals = memory.reader.measure_candidates(Query("Which boat sank?"))
        match = memory.reader.measure_best(candidates, signals, [SIGNAL]).signals[SIGNAL]
    assert match.shape == (2,)
    assert match.all()  # 0 is a line without codes


def test_the_codes_of_two_projections_have_different_schemes(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "tiny", dim=128)
    one, two = (export(folder, tmp_path / f"{n}", texts=make_texts(n)).token_scheme for n in (200, 300))
    assert one != two


@pytest.mark.parametrize(("dim", "count"), [(128, 20), (64, 200)])
def test_an_export_with_few_texts_or_dimensions_has_no_token_vectors(tmp_path: Path, dim: int, count: int) -> None:
    config = export(make_folder(tmp_path / "tiny", dim=dim), tmp_path / "out", texts=make_texts(count))
    assert config.token_scheme == OnnxEmbedder(tmp_path / "out").token_scheme == ""
    assert OnnxEmbedder(tmp_path / "out").embed(TEXTS).shape == (len(TEXTS), dim)


def test_exporting_twice_writes_the_same_bytes(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "tiny")
    for out in ("one", "two"):
        export(folder, tmp_path / out)
    for name in ("model.onnx", "tokenizer.json", "embedder.json"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_the_exported_file_holds_no_path_of_this_machine(tmp_path: Path) -> None:
    export(make_folder(tmp_path / "tiny"), tmp_path / "out")
    content = (tmp_path / "out" / "model.onnx").read_bytes()
    assert str(tmp_path).encode() not in content
    assert b"site-packages" not in content


def test_the_exported_config_has_the_models_name_and_limits(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "tiny")
    write_json(folder / "config_sentence_transformers.json", {"prompts": {"query": "query: ", "passage": "passage: "}})
    config = export(folder, tmp_path / "out", name="tiny-v1", multilingual=True)
    assert (config.name, config.dim, config.max_tokens, config.multilingual) == ("tiny-v1", 64, 16, True)
    assert (config.query_prompt, config.text_prompt) == ("query: ", "passage: ")
    assert OnnxEmbedder(tmp_path / "out").name == "tiny-v1"


def test_the_command_writes_a_usable_folder_and_reports_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    quantise: Quantise = "none"
    folder = make_folder(tmp_path / "tiny")
    assert main([str(folder), str(tmp_path / "out"), "--quantise", quantise]) == 0
    assert "tiny-none, 64 dimensions" in capsys.readouterr().out
    assert OnnxEmbedder(tmp_path / "out").embed_query("the red boat").shape == (64,)


def test_the_command_fits_token_vectors_on_the_rows_of_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_folder(tmp_path / "tiny", dim=128)
    (tmp_path / "texts.txt").write_text("\n".join(make_texts()))
    assert main([str(folder), str(tmp_path / "out"), "--texts", str(tmp_path / "texts.txt")]) == 0
    assert f"token vectors: {OnnxEmbedder(tmp_path / 'out').token_scheme}" in capsys.readouterr().out
    assert main([str(folder), str(tmp_path / "out"), "--texts", str(tmp_path / "missing.txt")]) == 1
    assert "missing.txt" in capsys.readouterr().err


def test_the_pooling_of_a_newer_folder_is_read(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "tiny")
    write_json(folder / "Pooling" / "config.json", {"embedding_dimension": 64, "pooling_mode": "cls"})
    assert read_source_config(folder).pooling == "cls"


def test_a_folder_without_a_model_is_rejected_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path), str(tmp_path / "out")]) == 1
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert "modules.json is missing" in error
    assert error.count("\n") == 1


def test_unknown_pooling_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="max_tokens"):
        export(make_folder(tmp_path / "tiny", "max_tokens"), tmp_path / "out")


def test_unknown_modules_are_rejected(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "tiny")
    modules = json.loads((folder / "modules.json").read_text())
    write_json(folder / "modules.json", [*modules, {"type": "sentence_transformers.models.Dense", "path": "3_Dense"}])
    with pytest.raises(ConfigError, match="Dense"):
        export(folder, tmp_path / "out")


def test_damaged_weights_are_rejected(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "tiny")
    (folder / "model.safetensors").unlink()
    with pytest.raises(ConfigError, match="can't load"):
        export(folder, tmp_path / "out")
