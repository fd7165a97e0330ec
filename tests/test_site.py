"""The built site: it needs no network, its links lead somewhere, its search finds the answers to the questions of the
start page, and no page is wider than a phone.

    sphinx-build -W docs site && HRPURSUIT_SITE=site pytest tests/test_site.py
"""

import os
import re
from collections import defaultdict
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

import pytest

SITE = Path(os.environ.get("HRPURSUIT_SITE", "site")).resolve()
pytestmark = pytest.mark.skipif(
    "HRPURSUIT_SITE" not in os.environ, reason="HRPURSUIT_SITE is not set: sphinx-build -W docs site, then set it"
)

#: What somebody would type, and a page that must be among the first results.
SEARCHES = {
    "certificate right answer": "explanation/certificate",
    "order signs atoms": "how_to/coming_from",
    "mixing matrix": "how_to/coming_from",
    "transpose": "reference/glossary",
    "centre whiten": "how_to/coming_from",
    "fewer atoms than features": "how_to/number_of_atoms",
    "how many codes": "how_to/choosing_t0",
    "noise expected error": "gallery/recovery/noise",
    "missing values": "how_to/gaps",
    "same result threads": "how_to/speed",
    "bound guaranteed": "how_to/compress",
    "NaN infinity gaps": "how_to/gaps",
    "read range columns": "how_to/compress",
    "append power cut": "how_to/compress",
    "inspect error reached": "tutorials/sensor_engineer",
    "smaller compressor": "explanation/limits",
    "zarr xarray": "how_to/compress",
    "another language": "how_to/reading_hrp",
    "upgrade version": "how_to/upgrade",
    "message lost gap": "how_to/live",
    "unknown sigma": "how_to/coming_from_images",
    "sigma unit 255": "how_to/coming_from_images",
    "denoise colour channel_axis": "tutorials/images",
    "stack volume": "tutorials/images",
    "large image memory": "explanation/denoiser",
    "scratches": "tutorials/images",
    "large holes": "explanation/limits",
    "JPEG noise correlated": "tutorials/images",
    "photon counts": "tutorials/images",
    "BM3D networks": "explanation/limits",
    "overcomplete": "explanation/limits",
    "commercial licence": "start/install",
    "imputation": "how_to/gaps",
    "cite bibtex": "reference/citing",
    "T0 grid search": "how_to/choosing_t0",
    "convergence max_iter tol": "how_to/coming_from",
    "video": "tutorials/images",
}


class Page(HTMLParser):
    """Links, anchors, and what a page loads."""

    def __init__(self, path):
        super().__init__()
        self.links, self.anchors, self.loaded = [], set(), []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.anchors.add(found.get("id"))
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        if tag in {"script", "img", "iframe", "source"} and found.get("src"):
            self.loaded.append(found["src"])
        if tag == "link" and found.get("rel") in ("stylesheet", "icon", "preload"):
            self.loaded.append(found["href"])


@pytest.fixture(scope="module")
def pages():
    found = {path: Page(path) for path in SITE.rglob("*.html")}
    assert len(found) > 60
    return found


def test_nothing_is_loaded_from_elsewhere(pages):
    for path, page in pages.items():
        for source in page.loaded:
            assert not urlsplit(source).netloc, (path, source)
    for path in SITE.rglob("*.css"):
        assert not re.search(r"(@import|url\()\s*[\"']?(https?:)?//", path.read_text()), path


def test_links_lead_somewhere(pages):
    broken = defaultdict(list)
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchors = pages[target].anchors if parts.fragment and target in pages else {unquote(parts.fragment)}
            if not target.exists() or unquote(parts.fragment) not in anchors:
                broken[link].append(path.name)
    assert not broken


@pytest.mark.parametrize("words", SEARCHES)
def test_search_finds(words, browser):
    view = browser.new_page()
    view.goto(f"file://{SITE}/search.html?q={quote(words)}")
    view.wait_for_selector("#search-results ul.search li a", timeout=10_000)
    view.wait_for_function("document.querySelector('#search-results p.search-summary')?.innerText.includes('found')")
    links = view.eval_on_selector_all("#search-results ul.search li > a", "links => links.map(a => a.href)")
    view.close()
    shown = list(dict.fromkeys(link.split("#")[0].split("?")[0] for link in links))[:8]
    assert any(link.endswith(f"/{SEARCHES[words]}.html") for link in shown), shown


@pytest.mark.parametrize("width", [390, 1280])
def test_no_page_is_wider_than_the_screen(width, pages, browser):
    view = browser.new_page(viewport={"width": width, "height": 844})
    wide = {}
    for path in sorted(pages):
        view.goto(path.as_uri())
        found = view.evaluate("""() => Math.max(document.documentElement.scrollWidth,
            ...[...document.querySelectorAll("article p, article img, article h1")]
                .filter(thing => !thing.closest("table, pre"))
                .map(thing => Math.floor(thing.getBoundingClientRect().right)))""")
        if found > width:
            wide[path.relative_to(SITE).as_posix()] = found
    view.close()
    assert not wide
