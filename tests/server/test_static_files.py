"""The page's files: compression, ETags, and which names are served."""

import gzip
import re
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from everthread.server import static_files

SCRIPT = """// A script.

/** One
 * thing. */
const url = "http://x"; // where
const code = "go(); // there";
/* a */ go(url);
  /* b */
  // c
go(2 /* d */);
"""


@pytest.fixture
def page(tmp_path: Path) -> TestClient:
    static = tmp_path / "static"
    static.mkdir()
    (static / "index.html").write_text("<!doctype html>" + "<p>hello</p>" * 100, encoding="utf-8")
    (static / "picture.png").write_bytes(b"png")
    (static / "notes.txt").write_text("of no known kind", encoding="utf-8")
    (static / "library").mkdir()
    (static / "library" / "module.mjs").write_text("export default 1;", encoding="utf-8")
    (static / "library" / "code.js").write_text("/* Licensed. */\nlet x;\n", encoding="utf-8")
    (static / "code.js").write_text(SCRIPT, encoding="utf-8")
    (static / "code.css").write_text("/* All\n   text. */\np {\n  /* a */ color: red; /* b */\n}\n", encoding="utf-8")
    (tmp_path / "secret.js").write_text("secret", encoding="utf-8")
    app = FastAPI()
    app.include_router(static_files.build_router(static))
    return TestClient(app)


def test_a_file_is_compressed_if_the_client_accepts_gzip(page: TestClient) -> None:
    compressed = page.get("/", headers={"Accept-Encoding": "br, gzip"})
    plain = page.get("/", headers={"Accept-Encoding": "gzip;q=0, identity"})
    assert compressed.headers["content-encoding"] == "gzip"
    assert int(compressed.headers["content-length"]) < int(plain.headers["content-length"]) / 5
    assert "content-encoding" not in plain.headers
    assert compressed.text == plain.text
    assert compressed.headers["content-length"] == str(len(gzip.compress(plain.content, mtime=0)))
    assert compressed.headers["etag"] != plain.headers["etag"]
    assert {plain.headers["vary"], compressed.headers["vary"]} == {"Accept-Encoding, Accept-Language, Cookie"}
    assert page.get("/static/picture.png").headers["vary"] == "Accept-Encoding"
    assert page.head("/").status_code == 200


def test_a_file_that_the_client_has_is_not_sent_again(page: TestClient) -> None:
    for headers in ({"Accept-Encoding": "gzip"}, {"Accept-Encoding": "identity"}):
        etag = page.get("/", headers=headers).headers["etag"]
        for known in (etag, f"W/{etag}", f'"other", {etag}', "*"):
            again = page.get("/", headers={**headers, "If-None-Match": known})
            assert (again.status_code, again.content) == (304, b"")
            assert again.headers["etag"] == etag
        assert page.get("/", headers={**headers, "If-None-Match": '"other"'}).status_code == 200


def test_the_page_names_its_scripts_at_an_address_for_their_version_which_browsers_keep(tmp_path: Path) -> None:
    static, folders = tmp_path / "static", list[str]()
    static.mkdir()
    (static / "index.html").write_text('<link href="/static/p.css"><script src="/static/a.js"></script>')
    (static / "p.css").write_text("p { color: red; }")
    for script in ("one();", "other();"):
        (static / "a.js").write_text(script)
        app = FastAPI()
        app.include_router(static_files.build_router(static))
        page = TestClient(app)
        index = page.get("/")
        folders += re.findall(r"/static/\w+/(?=p\.css|a\.js)", index.text)
        found = [page.get(f"{folder}a.js") for folder in (folders[0], folders[-1], "/static/")]
        assert [each.text for each in found] == [script] * 3  # of a page that is older than the server, too
        kept = [each.headers["cache-control"] != "no-cache" for each in found]
        assert kept == [folders[0] == folders[-1], True, False]
        assert index.headers["cache-control"] == "no-cache"
        assert page.get(f"{folders[-1]}{static_files.WORDS}").headers["cache-control"] == "no-cache"
    assert (len(folders), len(set(folders))) == (4, 2)


def test_a_file_that_the_client_has_is_not_compressed(page: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    etag = page.get("/", headers={"Accept-Encoding": "identity"}).headers["etag"]
    monkeypatch.delattr(gzip, "compress")
    known = f'{etag[:-1]}-gzip"'
    again = page.get("/", headers={"Accept-Encoding": "gzip", "If-None-Match": known})
    assert (again.status_code, again.headers["etag"]) == (304, known)


@pytest.mark.parametrize(
    "name",
    [
        "../secret.js",
        "..%2Fsecret.js",
        "%2e%2e%2fsecret.js",
        "..\\secret.js",
        "notes.txt",
        "",
        ".",
        "a/b",
        "C:x",
        "library",
        "library/../../secret.js",
    ],
)
def test_only_files_of_known_types_in_the_folder_are_served(page: TestClient, name: str) -> None:
    assert page.get(f"/static/{name}").status_code in (404, 307)
    assert "secret" not in page.get(f"/static/{name}").text
    assert page.get("/static/picture.png").content == b"png"


def test_files_in_folders_below_are_served(page: TestClient) -> None:
    answer = page.get("/static/library/module.mjs")
    assert answer.headers["content-type"].startswith("text/javascript")
    assert answer.text == "export default 1;"


def test_comments_indentation_and_blank_lines_are_served_only_in_libraries_and_within_lines(page: TestClient) -> None:
    code = 'const url = "http://x";\nconst code = "go(); // there";\n/* a */ go(url);\ngo(2 /* d */);\n'
    assert page.get("/static/code.js").text == code
    assert page.get("/static/code.css").text == "p {\n/* a */ color: red; /* b */\n}\n"
    assert page.get("/static/library/code.js").text == "/* Licensed. */\nlet x;\n"


def test_an_absent_folder_has_no_files(tmp_path: Path) -> None:
    assert static_files.load_files(tmp_path / "nowhere") == {}
