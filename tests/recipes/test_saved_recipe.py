import logging
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from everthread.chat.chat import Chat
from everthread.common.keys import SETTING_RECIPE
from everthread.errors import BadInput, ConfigError, StoreUnavailable
from everthread.memory import Memory
from everthread.recipes.default import Default
from everthread.recipes.emi import Emi
from everthread.recipes.packabby import Packabby
from everthread.recipes.saved_recipe import SavedRecipe
from everthread.stores.sqlite import bank_file
from everthread.testing import HashEmbedder, ScriptedLLM
from everthread.transfer.copy_bank import copy_bank


@dataclass(frozen=True, kw_only=True)
class Own(Default):
    name = "own"
    about = "a recipe of a user's"


def opened(folder: Path, **given: object) -> Memory:
    return Memory.open("alice", store=folder, embedder=HashEmbedder(), **given)  # type: ignore[arg-type]


def kept(folder: Path) -> object:
    with opened(folder, recipe="default") as memory:
        return memory.settings().get(SETTING_RECIPE)


def talked(folder: Path, **given: object) -> None:
    with Chat.open("alice", store=folder, embedder=HashEmbedder(), llm=ScriptedLLM("Aye."), **given) as chat:  # type: ignore[arg-type]
        assert "".join(chat.reply("My sister Mia moved to Lisbon."))


def test_a_bank_is_opened_with_its_recipe(tmp_path: Path) -> None:
    talked(tmp_path, recipe="packabby", options={"threshold": "0.3"})
    with opened(tmp_path) as memory:
        assert memory.stats().recipe == "packabby"
        assert memory.recipe == Packabby(threshold=0.3)
    talked(tmp_path)
    assert kept(tmp_path) == {"name": "packabby", "options": {"threshold": 0.3}}


def test_a_recipe_object_is_saved_by_name_and_options(tmp_path: Path) -> None:
    talked(tmp_path, recipe=Emi(include_user=True, top=7))
    with opened(tmp_path) as memory:
        assert memory.recipe == Emi(include_user=True, top=7)


def test_a_read_under_another_recipe_changes_nothing(tmp_path: Path) -> None:
    talked(tmp_path, recipe="character")
    with opened(tmp_path, recipe="emi") as memory:
        memory.recall("Mia")
        memory.observe("She likes it.")
        assert memory.stats().recipe == "emi"
    assert kept(tmp_path) == {"name": "character", "options": {}}


def test_the_first_line_saves_the_named_recipe(tmp_path: Path) -> None:
    with opened(tmp_path, recipe="goodai", options={"max_hits": 4}) as memory:
        assert memory.settings() == {}
        memory.observe("My sister Mia moved to Lisbon.")
    assert kept(tmp_path) == {"name": "goodai", "options": {"max_hits": 4}}


def test_the_first_line_saves_the_recipe_also_if_the_bank_was_locked_at_the_first_attempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bank_file, "LOCK_TIMEOUT_S", 0.1)
    with opened(tmp_path, recipe="membot") as memory:
        with closing(sqlite3.connect(tmp_path / "alice.bank")) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreUnavailable):
                memory.observe("Hello.")
        memory.observe("Hello.")
    with opened(tmp_path) as memory:
        assert (memory.recipe.name, memory.stats().lines) == ("membot", 1)


def test_a_later_line_saves_no_recipe(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        memory.observe("My sister Mia moved to Lisbon.")
    with opened(tmp_path, recipe="membot") as memory:
        memory.observe("She likes it.")
    assert kept(tmp_path) is None


def test_incognito_saves_no_recipe(tmp_path: Path) -> None:
    talked(tmp_path, recipe="membot", incognito=True)
    assert kept(tmp_path) is None
    talked(tmp_path, recipe="emi")
    talked(tmp_path, recipe="membot", incognito=True)
    assert kept(tmp_path) == {"name": "emi", "options": {}}


def test_no_recipe_is_saved_if_nothing_may_be_remembered(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        memory.set_setting("remember", "never")
    talked(tmp_path, recipe="membot")
    assert kept(tmp_path) is None


def test_call_options_override_the_banks_which_override_the_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "config.toml"
    file.write_text('recipe = "packabby"\n[recipes.packabby]\nthreshold = 0.1\nmax_hits = 2\n', encoding="utf-8")
    monkeypatch.setenv("EVERTHREAD_CONFIG", str(file))
    with opened(tmp_path) as memory:
        assert memory.recipe == Packabby(threshold=0.1, max_hits=2)
    talked(tmp_path, options={"threshold": 0.2})
    assert kept(tmp_path) == {"name": "packabby", "options": {"threshold": 0.2}}  # max_hits stays the file's to change
    with opened(tmp_path, options={"threshold": 0.3}) as memory:
        assert memory.recipe == Packabby(threshold=0.3, max_hits=2)
    with opened(tmp_path, recipe="packabby") as memory:
        assert memory.recipe == Packabby(threshold=0.2, max_hits=2)


def test_options_of_one_recipe_do_not_apply_to_another(tmp_path: Path) -> None:
    talked(tmp_path, recipe="emi", options={"top": 5})
    with opened(tmp_path, recipe="packabby") as memory:
        assert memory.recipe == Packabby()
    with pytest.raises(BadInput, match="unknown option 'threshold' of recipe 'emi'"):
        opened(tmp_path, options={"threshold": 0.3})


def test_a_custom_recipe_must_be_passed_as_an_object_again(tmp_path: Path) -> None:
    talked(tmp_path, recipe=Own(neighbours=2))
    with pytest.raises(ConfigError, match=r"the bank's saved recipe 'own' .*; give the recipe as an object"):
        opened(tmp_path)
    with opened(tmp_path, recipe=Own()) as memory:
        assert memory.stats().recipe == "own"
    with opened(tmp_path, recipe="default") as memory:
        assert memory.recall("Mia")


def test_an_invalid_saved_option_is_ignored_and_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with opened(tmp_path) as memory:
        memory.set_setting(SETTING_RECIPE, {"name": "emi", "options": {"top": 0, "depth": 3, "include_user": True}})
    with caplog.at_level(logging.WARNING), opened(tmp_path) as memory:
        assert memory.recipe == Emi(include_user=True)
    assert "top must be a whole number from 1, got 0" in caplog.text
    assert "unknown option 'depth'" in caplog.text


@pytest.mark.parametrize("setting", ["emi", {"options": {}}, {"name": "emi", "options": []}, {"name": 3}], ids=str)
def test_a_setting_without_a_recipe_is_rejected(tmp_path: Path, setting: object) -> None:
    with opened(tmp_path) as memory, pytest.raises(BadInput, match="expected an object with `name`"):
        memory.set_setting(SETTING_RECIPE, setting)  # type: ignore[arg-type]


def test_a_moved_bank_keeps_its_recipe(tmp_path: Path) -> None:
    talked(tmp_path / "here", recipe="packabby", options={"max_hits": 3})
    with opened(tmp_path / "here") as old, opened(tmp_path / "there") as new:
        copy_bank(old, new)
    with opened(tmp_path / "there") as memory:
        assert memory.recipe == Packabby(max_hits=3)


def test_a_missing_bank_has_no_recipe_and_is_not_created(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        assert SavedRecipe.load(memory.store, "nobody") is None
        assert memory.store.banks() == ["alice"]
