"""Draws the page's icon as PNG files, for installing the page: `python docs/generate_icons.py`. Needs Playwright."""

from __future__ import annotations

import shutil
from pathlib import Path

STATIC = Path(__file__).parents[1] / "everthread" / "server" / "static"
SIZES_PX = {"192": 192, "512": 512, "maskable": 512}


def render_svg(source: str, name: str) -> str:
    """Return the SVG of an icon. A maskable one has no round corners: browsers cut it, at most to a circle of 80 %."""
    svg = source.replace("<svg ", '<svg width="100%" height="100%" ', 1)
    return svg.replace(' rx="8"', "") if name == "maskable" else svg


def main() -> None:
    """Draw all icons."""
    from playwright.sync_api import sync_playwright

    source = (STATIC / "icon.svg").read_text(encoding="utf-8")
    (STATIC / "icons").mkdir(exist_ok=True)
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name, size in SIZES_PX.items():
            page = browser.new_page(viewport={"width": size, "height": size})
            page.set_content(f'<body style="margin:0;overflow:hidden">{render_svg(source, name)}')
            page.screenshot(path=STATIC / "icons" / f"{name}.png", omit_background=True)
        browser.close()


if __name__ == "__main__":
    main()
