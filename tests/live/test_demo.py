"""hrpursuit live demo: everything on one machine, over the embedded broker; and its page in a real browser."""

import re
import urllib.request
from contextlib import contextmanager

import pytest

for package in ("aiohttp", "amqtt"):
    pytest.importorskip(package, reason=f'needs {package}: pip install ".[live]"')

FAST = ("--speed", "36000")  # ten slots per second


@pytest.mark.long
def test_it_prints_the_address_and_a_line_of_figures_a_second_and_stops_by_itself(role):
    demo = role("demo", "--page", "0", "--seconds", "8", "--sensors", "12", "--n-nonzero", "3", *FAST)
    demo.wait_for("page: http://127.0.0.1:")
    demo.wait_for("bytes per slot")
    address = re.search(r"page: (\S+)", demo.said)[1]
    with urllib.request.urlopen(f"{address}metrics", timeout=10) as answer:
        assert b'hrpursuit_live_slots_total{role="controller"}' in answer.read()
    code, said = demo.end()
    assert code == 0, said
    lines = [line for line in said.splitlines() if "bytes per slot" in line]
    assert 2 <= len(lines) <= 9
    pattern = (
        r"2024-10-\d\d \d\d:00  \d+ slots of 12 sensors, [\d.]+ bytes per slot \(JSON \d+, float32 48\), .* 0 lost"
    )
    assert all(re.match(pattern, line) for line in lines)
    assert int(re.search(r"(\d+) slots", lines[-1])[1]) > 10


@contextmanager
def opened(browser, address, width):
    context = browser.new_context(viewport={"width": width, "height": 850})
    page = context.new_page()
    page.set_default_timeout(30_000)
    page.said, page.asked = [], []
    page.on("console", lambda message: page.said.append(message.text))
    page.on("pageerror", lambda error: page.said.append(str(error)))
    page.on("request", lambda request: page.asked.append(request.url))
    page.goto(address)
    yield page
    context.close()


def pixels(page, name):
    return page.evaluate(f"document.getElementById('{name}').toDataURL()")


def number(page, name):
    return float(re.sub("[^0-9.]", "", page.inner_text(f"#{name}")) or 0)


def colours(page, name):
    """Colours of the heat map, each once."""
    script = f"""() => {{
      const map = document.getElementById('{name}');
      const data = map.getContext('2d').getImageData(0, 0, map.width, map.height).data;
      const found = new Set();
      for (let i = 0; i < data.length; i += 4) found.add(`${{data[i]}},${{data[i + 1]}},${{data[i + 2]}}`);
      return [...found];
    }}"""
    return page.evaluate(script)


@pytest.mark.long
def test_the_page_moves_fits_a_phone_and_connects_again_by_itself(role, browser, eventually, port):
    arguments = ("demo", "--page", str(port), "--seconds", "120", "--lose", "0.05", "--seed", "4", *FAST)
    demo = role(*arguments)
    demo.wait_for("page: ")
    with opened(browser, f"http://127.0.0.1:{port}/", 1300) as page:
        page.wait_for_selector("#light.on")
        page.wait_for_selector("html[data-slots]")
        eventually(lambda: number(page, "slots") > 20, "slots on the page")
        before = pixels(page, "map"), pixels(page, "curve"), number(page, "slots")
        eventually(lambda: number(page, "slots") > before[2] + 5, "more slots")
        assert pixels(page, "map") != before[0]
        assert pixels(page, "curve") != before[1]
        assert page.inner_text("h1") == "Simulated city, PM2.5 in µg/m³"
        eventually(lambda: number(page, "lost") > 0, "a lost message")
        eventually(lambda: "220,166,182" in colours(page, "map"), "a reading that is missing, in its own colour")
        eventually(lambda: "silent" in page.text_content("#events"), "an event")
        assert re.search("sensors? .+ (are|is) new", page.text_content("#events"))  # of a slow machine one by one
        eventually(lambda: "lost; right again from this keyframe on" in page.text_content("#events"), "a recovery")
        assert "bound ±1" in page.inner_text("#curve-text")
        assert float(re.search(r"largest error shown ([\d.]+)", page.inner_text("#curve-text"))[1]) <= 1
        first = page.inner_text("#curve-text"), pixels(page, "curve")
        page.select_option("#sensor", "s07")
        assert pixels(page, "curve") != first[1]
        page.click("#map", position={"x": 200, "y": 3})
        assert page.input_value("#sensor") != "s07"
        assert page.said == []
        assert {url.split("/")[2] for url in page.asked if not url.startswith("data:")} == {f"127.0.0.1:{port}"}

        with opened(browser, f"http://127.0.0.1:{port}/", 390) as phone:
            phone.wait_for_selector("html[data-slots]")
            assert phone.evaluate("document.documentElement.scrollWidth") <= 390
            assert phone.said == []

        demo.kill()
        page.wait_for_selector("#light:not(.on)")
        n = number(page, "slots")
        role(*arguments).wait_for("page: ")
        page.wait_for_selector("#light.on")
        eventually(lambda: 0 < number(page, "slots") < n, "the slots of the new server")
