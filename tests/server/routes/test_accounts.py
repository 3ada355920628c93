"""Accounts as administrators see them: counts and never texts."""

import tempfile
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from everthread.transfer.backup import back_up
from server.problem import RAW, kind
from server.routes.test_account import ORIGIN, PASSWORD, Site, app, site

__all__ = ["app", "site"]


def test_an_administrator_makes_an_account_and_sees_counts(site: Site) -> None:
    ann = site.visit("ann")
    body = {"name": "Zoe", "password": PASSWORD, "administrator": False, "banks": []}
    created = ann.post("accounts", json=body)
    assert created.status_code == 201
    zoe = site.visit("zoe")
    for bank in ("zoe", "zoe%2Fcaptain-vey"):
        assert zoe.post(f"banks/{bank}/lines", json={"text": "I sail."}).status_code == 201
    listed = ann.get("accounts")
    assert [account["name"] for account in listed.json()["items"]] == ["ann", "mia", "nora", "zoe"]
    summary = listed.json()["items"][-1]
    assert summary == created.json() | {"banks": 2, "lines": 2, "signed_in_on": summary["made_on"]}
    assert "sail" not in listed.text
    assert "vey" not in listed.text
    for wrong in (
        {"name": "zoe"},
        {"name": "a/b"},
        {"name": "new", "password": "short"},
        {"name": "x", "banks": ["mia"]},
    ):
        assert kind(ann.post("accounts", json=wrong), 422) == "bad-input"
    assert len(ann.get("accounts").json()["items"]) == 4


def test_an_account_is_locked_given_a_password_and_banks(site: Site) -> None:
    ann, nora = site.visit("ann"), site.visit("nora")
    assert ann.patch("accounts/nora", json={"locked": True}).json()["locked"]
    assert nora.get("account").status_code == 401
    answer = nora.post("login", json={"name": "nora", "password": PASSWORD})
    assert kind(answer, 403) == "account-locked"
    changes = {"locked": False, "password": "another harbour", "give_banks": ["family"], "administrator": True}
    assert ann.patch("accounts/Nora", json=changes).json()["administrator"]
    assert nora.post("login", json={"name": "nora", "password": "another harbour"}).json()["banks"] == [
        "nora",
        "family",
    ]
    assert kind(ann.patch("accounts/mia", json={"give_banks": ["family/x"]}), 422) == "bad-input"
    for wrong in ({"give_banks": ["free", "family"]}, {"give_banks": ["free"], "password": "short"}):
        assert kind(ann.patch("accounts/mia", json={**wrong, "locked": True}), 422) == "bad-input"
    assert site.people.accounts.get("mia").banks == ("mia",)
    assert kind(ann.patch("accounts/nobody", json={}), 404) == "not-found"


def test_removing_an_account_keeps_or_forgets_its_banks(site: Site) -> None:
    ann = site.visit("ann")
    for name in ("nora", "mia"):
        assert site.visit(name).post(f"banks/{name}/lines", json={"text": "I sail."}).status_code == 201
    assert kind(ann.delete("accounts/nora"), 422) == "invalid-request"
    assert ann.delete("accounts/nora?banks=keep").json() == {"banks": 0, "lines": 0, "backups": []}
    assert ann.delete("accounts/mia?banks=forget").json() == {"banks": 1, "lines": 1, "backups": []}
    store = site.app.state.services.store
    assert (store.exists("nora"), store.exists("mia")) == (True, False)
    again = {"name": "nora", "password": PASSWORD}
    assert "already" in ann.post("accounts", json=again).json()["detail"]
    assert ann.post("accounts", json={**again, "banks": ["nora"]}).json()["lines"] == 1
    assert ann.post("accounts", json={"name": "mia", "password": PASSWORD}).json()["lines"] == 0


def test_removing_an_account_names_the_backups_that_still_hold_its_banks(site: Site, tmp_path: Path) -> None:
    assert site.visit("mia").post("banks/mia/lines", json={"text": "I sail."}).status_code == 201
    backup = back_up(site.app.state.services.store, tmp_path / "backups", ["mia"]).folder
    backup.parent.rename(tmp_path / "away")
    assert site.visit("ann").delete("accounts/mia?banks=forget").json()["backups"] == [backup.name]


def test_removing_an_account_removes_the_files_that_it_keeps_for_an_import(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name in ("nora", "mia"):
        params = {"name": "talk.txt", "keep": "0" * 32}  # for a bank that doesn't exist yet
        path = f"banks/{name}%2Fnew/import/preview"
        kept = site.visit(name).post(path, params=params, content=b"A: Hi!", headers=RAW)
        assert kept.status_code == 200
    assert site.visit("ann").delete("accounts/mia?banks=keep").status_code == 200
    assert len(list(tmp_path.rglob("*.txt"))) == 1


def test_administrators_do_not_shut_themselves_out(site: Site) -> None:
    ann = site.visit("ann")
    for answer in (
        ann.patch("accounts/ann", json={"locked": True}),
        ann.patch("accounts/ann", json={"administrator": False}),
        ann.delete("accounts/ann?banks=forget"),
    ):
        assert kind(answer, 409) == "own-account"
    assert ann.get("account").json()["administrator"]


def test_members_and_narrow_keys_see_no_accounts_and_a_key_for_everything_does(site: Site) -> None:
    for client in (site.visit("nora"), _with_key(site, "narrow", ["nora"])):
        for method, path in (("GET", ""), ("POST", ""), ("PATCH", "/mia"), ("DELETE", "/mia?banks=keep")):
            assert kind(client.request(method, f"accounts{path}", json={}), 403) == "forbidden"
    assert len(_with_key(site, "everything", ["*"]).get("accounts").json()["items"]) == 3


def _with_key(site: Site, name: str, banks: list[str]) -> TestClient:
    key = site.keys.create(name, banks)
    return TestClient(site.app, base_url=f"{ORIGIN}/api/v1/", headers={"Authorization": f"Bearer {key}"})
