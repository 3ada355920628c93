import gc
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hardship import PATIENCE

from everthread.embedders import onnx
from everthread.embedders.base import Embedder
from everthread.embedders.onnx import MINILM_FOLDER, OnnxEmbedder, Result
from everthread.errors import ModelNotFound

# Sentences with their vectors by the fp32 model on torch, computed once with sentence-transformers.
GOLDEN = json.loads(Path(__file__).with_name("golden.json").read_text(encoding="utf-8"))
SENTENCES: list[str] = GOLDEN["sentences"]


@pytest.fixture(scope="module")
def minilm() -> OnnxEmbedder:
    return OnnxEmbedder()


def copy_minilm(folder: Path) -> Path:
    return Path(shutil.copytree(MINILM_FOLDER, folder / "model"))


def test_the_shipped_model_agrees_with_the_original_on_torch(minilm: OnnxEmbedder) -> None:
    cosines = (minilm.embed(SENTENCES) * np.array(GOLDEN["vectors"])).sum(1)
    assert cosines.min() > 0.97  # a one-word text has the smallest cosine


def test_the_shipped_model_has_its_own_name_and_is_not_multilingual(minilm: OnnxEmbedder) -> None:
    embedder: Embedder = minilm
    assert embedder.name == "all-minilm-l6-v2-int8"
    assert not embedder.multilingual


def test_rows_are_float32_of_unit_length_and_in_the_order_of_the_texts(minilm: OnnxEmbedder) -> None:
    vectors = minilm.embed(SENTENCES)
    assert vectors.shape == (5, minilm.dim)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)
    for text, vector in zip(SENTENCES, vectors, strict=True):
        assert minilm.embed_query(text) @ vector > 0.999


def test_meaning_outweighs_common_words(minilm: OnnxEmbedder) -> None:
    related, unrelated = minilm.embed(["We adopted a puppy.", "The stock market fell."]) @ minilm.embed_query(
        "Got a new pet?"
    )
    assert related > unrelated + 0.2


def test_batching_hardly_changes_a_vector(minilm: OnnxEmbedder) -> None:
    alone = minilm.embed(["ok"])[0]
    with_long_texts = minilm.embed(["a long walk home " * 50, "ok", "salt, pepper and vinegar " * 60])[1]
    assert alone @ with_long_texts > 0.999


def test_the_empty_text_has_a_vector(minilm: OnnxEmbedder) -> None:
    assert np.linalg.norm(minilm.embed_query("")) == pytest.approx(1.0, abs=1e-6)


def test_an_empty_list_of_texts_yields_no_rows(minilm: OnnxEmbedder) -> None:
    assert minilm.embed([]).shape == (0, minilm.dim)


def test_a_megabyte_takes_no_longer_than_its_first_tokens(minilm: OnnxEmbedder) -> None:
    minilm.embed_query("warm")
    started = time.process_time()
    vector = minilm.embed_query("word " * 200_000)
    assert time.process_time() - started < 1.0
    assert vector @ minilm.embed_query("word " * 300) > 0.999


@pytest.mark.parametrize("text", ["\ud83d", "a\0b", "\udc00\ud800", "\x00", "👩‍👩‍👧 مرحبا 你好", "\ufffe"])
def test_strange_text_has_a_vector(minilm: OnnxEmbedder, text: str) -> None:
    assert np.isfinite(minilm.embed_query(text)).all()


def test_threads_that_share_an_embedder_get_the_same_vectors() -> None:
    shared = OnnxEmbedder()  # not loaded yet, so that the threads also load it concurrently
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: shared.embed(SENTENCES), range(16)))
    for result in results:
        np.testing.assert_array_equal(result, results[0])


def test_several_processor_threads_give_the_same_vectors(minilm: OnnxEmbedder) -> None:
    np.testing.assert_allclose(OnnxEmbedder(threads=2).embed(SENTENCES), minilm.embed(SENTENCES), atol=1e-3)


def test_the_shipped_model_is_loaded_once_in_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx, "_shipped", {})
    one, other = OnnxEmbedder(), OnnxEmbedder()
    assert np.array_equal(one.embed_query("ferns"), other.embed_query("ferns"))
    assert (loaded := one._load()) is other._load()
    del one, other
    gc.collect()
    assert OnnxEmbedder()._load() is loaded


def test_an_interrupt_stops_a_batch_on_several_threads() -> None:
    interrupted = threading.Event()

    class Interrupted(OnnxEmbedder):
        calls = 0

        def _run_once(self, text: str) -> Result:
            self.calls += 1
            if threading.current_thread() is threading.main_thread():
                interrupted.set()
                raise KeyboardInterrupt
            assert interrupted.wait(PATIENCE)
            time.sleep(0.01)
            return Result(np.zeros(self.dim, np.float32), np.zeros((0, 128), np.float32), ())

    embedder = Interrupted(threads=3)
    with pytest.raises(KeyboardInterrupt):
        embedder.embed(["text"] * 500)
    assert embedder.calls < 250


def test_an_error_on_any_thread_is_raised() -> None:
    class Faulty(OnnxEmbedder):
        def _run_once(self, text: str) -> Result:
            if threading.current_thread() is not threading.main_thread():
                raise ModelNotFound(text)
            time.sleep(0.01)
            return Result(np.zeros(self.dim, np.float32), np.zeros((0, 128), np.float32), ())

    with pytest.raises(ModelNotFound):
        Faulty(threads=2).embed(["text"] * 5)


def test_a_folder_without_a_model_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFound, match=r"embedder\.json.*everthread\.embedders\.export"):
        OnnxEmbedder(tmp_path)


@pytest.mark.parametrize("content", ["", "[]", '{"name": "x"}', "\xff"])
def test_a_damaged_config_is_an_error_that_names_it(tmp_path: Path, content: str) -> None:
    (tmp_path / "embedder.json").write_bytes(content.encode("latin-1"))
    with pytest.raises(ModelNotFound, match=r"embedder\.json is damaged"):
        OnnxEmbedder(tmp_path)


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_missing_file_is_an_error_that_names_it(tmp_path: Path, name: str) -> None:
    folder = copy_minilm(tmp_path)
    (folder / name).unlink()
    with pytest.raises(ModelNotFound, match=f"{name} can't be read.*reinstall"):
        OnnxEmbedder(folder).embed(["x"])


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
@pytest.mark.parametrize("damage", [lambda b: b[: len(b) // 2], lambda b: b"\xff" * len(b)], ids=["cut", "overwritten"])
def test_a_damaged_file_is_an_error_that_names_it(tmp_path: Path, name: str, damage: Callable[[bytes], bytes]) -> None:
    folder = copy_minilm(tmp_path)
    (folder / name).write_bytes(damage((folder / name).read_bytes()))
    with pytest.raises(ModelNotFound, match=rf"{name}.*reinstall"):
        OnnxEmbedder(folder).embed(["x"])


def test_importing_and_making_an_embedder_loads_no_runtime() -> None:
    code = (
        "import sys; from everthread.embedders.onnx import *; from everthread.embedders.remote import *;"
        "OnnxEmbedder(); RemoteEmbedder('http://x/v1', 'm');"
        "print([m for m in ('onnxruntime', 'tokenizers', 'httpx', 'torch') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_onnxruntime_sends_no_telemetry(tmp_path: Path) -> None:
    """Check that nothing is saved in the cache folder, where the wheels save pending telemetry."""
    program = "from everthread.embedders.onnx import OnnxEmbedder; OnnxEmbedder().embed_query('hello')"
    environment = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    environment |= {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
