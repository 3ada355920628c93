"""Hooks of the documentation site: pages that are stored at the root of the repository become pages of the site.

CONTRIBUTING.md, SECURITY.md and CHANGELOG.md are at the root and have links relative to it. Links between the root and
docs/ are rewritten here. A link to any other file of the repository becomes the file's name.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File, Files

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
ROOT_PAGES = {"CONTRIBUTING.md": "contributing.md", "SECURITY.md": "security.md", "CHANGELOG.md": "changelog.md"}
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?!\w+:)([^)#\s]*)(#[^)\s]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the repository's root."""
    for name, page in ROOT_PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / name).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Rewrite the links of a page that cross the border between docs/ and the root."""
    at_root = page.file.src_uri in ROOT_PAGES.values()
    folder = ROOT if at_root else (ROOT / "docs" / page.file.src_uri).parent

    def rewritten(link: re.Match[str]) -> str:
        text, target, anchor = link[1], link[2], link[3] or ""
        if not target:
            return link[0]
        path = (folder / target).resolve().relative_to(ROOT).as_posix()
        if path in ROOT_PAGES:
            return f"[{text}]({ROOT_PAGES[path]}{anchor})"
        if not path.startswith("docs/"):
            return text if text.startswith("`") else f"{text} (`{path}`)"
        return f"[{text}]({path.removeprefix('docs/')}{anchor})" if at_root else link[0]

    return LINK.sub(rewritten, markdown)
