"""The page over HTTP: who may see it, what it sends, and the metrics."""

import asyncio
import json
import socket

import numpy as np
import pytest

pytest.importorskip("aiohttp", reason='needs aiohttp: pip install ".[live]"')

import aiohttp

from hrpursuit.live.figures import Figures, Happenings
from hrpursuit.live.messages import Slot
from hrpursuit.live.page import History, Server, read_place
from hrpursuit.live.slots import SECOND, Clock, SlotRow

TOKEN = "a token of some length"


def new_history(**more):
    figures, happenings = Figures("controller"), Happenings("controller")
    return History("hrp/plant", figures, [happenings], Clock(), **more), figures, happenings


def slot(number, columns=("a", "b"), values=(1.0, np.nan)):
    return Slot(number * SECOND, tuple(columns), np.array(values), number)


def served(work, history=None, place=("127.0.0.1", 0), token=None):
    async def run():
        figures = Figures("controller")
        figures.count("slots_total", 3)
        async with Server(place, [figures], history, token) as server, aiohttp.ClientSession() as session:
            return await asyncio.wait_for(work(f"http://127.0.0.1:{server.port}", session), 20)

    return asyncio.run(run())


async def answer(session, url, **more):
    async with session.get(url, **more) as response:
        return response.status, await response.text()


async def next_event(response):
    kind = (await response.content.readline()).decode().strip()
    data = (await response.content.readline()).decode().removeprefix("data: ")
    await response.content.readline()
    return kind.removeprefix("event: "), json.loads(data)


def test_page_files_and_metrics():
    async def work(url, session):
        status, page = await answer(session, f"{url}/")
        assert status == 200
        for name in ("page.css", "start.js", "heat.js", "curve.js", "page.js"):
            assert name in page
            assert (await answer(session, f"{url}/{name}"))[0] == 200
        assert (await answer(session, f"{url}/metrics"))[1].endswith('slots_total{role="controller"} 3\n')
        for name in ("other.js", "../server.py", "assets/page.js", "favicon.ico"):
            assert (await answer(session, f"{url}/{name}"))[0] == 404
        assert "http" not in page.replace("<!doctype html>", "")  # nothing from elsewhere

    served(work, new_history()[0])


def test_without_a_page_there_are_metrics_only():
    async def work(url, session):
        assert (await answer(session, f"{url}/metrics"))[0] == 200
        assert (await answer(session, f"{url}/"))[0] == 404

    served(work)


def test_elsewhere_than_on_loopback_a_token_is_needed():
    with pytest.raises(ValueError, match="set HRPURSUIT_PAGE_TOKEN"):
        Server(("0.0.0.0", 0), [], None, None)
    with pytest.raises(ValueError, match="at least 16 characters"):
        Server(("0.0.0.0", 0), [], None, "short")

    async def work(url, session):
        for path in ("metrics", "events", "page.js"):
            assert (await answer(session, f"{url}/{path}"))[0] == 401
            assert (await answer(session, f"{url}/{path}", headers={"Authorization": "Bearer wrong"}))[0] == 401
        status, form = await answer(session, f"{url}/")
        assert (status, "Token of this page" in form) == (401, True)
        good = {"Authorization": f"Bearer {TOKEN}"}
        assert (await answer(session, f"{url}/metrics", headers=good))[0] == 200
        async with session.post(f"{url}/token", data={"token": "wrong"}) as response:
            assert response.status == 401
            assert "not the token" in await response.text()
        async with session.post(f"{url}/token", data={"token": TOKEN}, allow_redirects=False) as response:
            assert response.status == 303
            cookie = response.cookies["hrpursuit_token"]
            assert cookie["httponly"]
            assert cookie["samesite"] == "Strict"
        seen = {"Cookie": f'hrpursuit_token="{TOKEN}"'}
        assert (await answer(session, f"{url}/page.js", headers=seen))[0] == 200

    served(work, new_history()[0], ("0.0.0.0", 0), TOKEN)


def test_a_page_of_another_site_does_not_reach_it_by_a_name_of_its_own():
    async def work(url, session):
        assert (await answer(session, f"{url}/metrics", headers={"Host": "evil.example"}))[0] == 421
        assert (await answer(session, f"{url}/metrics", headers={"Host": "localhost:80"}))[0] == 200

    served(work)


def test_a_port_in_use_is_a_clear_error():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        place = other.getsockname()
        with pytest.raises(
            OSError, match=f"cannot listen on 127.0.0.1:{place[1]}: the port is in use; give another port"
        ):
            served(answer, place=place)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("8080", ("127.0.0.1", 8080)),
        ("0.0.0.0:80", ("0.0.0.0", 80)),
        ("[::1]:80", ("::1", 80)),
        ("host:0", ("host", 0)),
    ],
)
def test_places(text, place):
    assert read_place(text) == place


@pytest.mark.parametrize("text", ["", "page", "host:", "1:99999", "-1"])
def test_places_that_are_none(text):
    with pytest.raises(ValueError, match="expected a port"):
        read_place(text)


def test_browsers_get_everything_first_and_then_what_is_new():
    history, _, happenings = new_history(bound=lambda: 0.5)
    for number in range(3):
        history.add(slot(number), 9)
    happenings.say("first")

    async def work(url, session):
        async with session.get(f"{url}/events") as response:
            kind, news = await next_event(response)
            assert kind == "snapshot"
            assert (news["columns"], news["bound"]) == (["a", "b"], [0.5, 0.5])
            assert [one["t"] for one in news["slots"]] == [0, 1000, 2000]
            assert news["slots"][0] == {"t": 0, "v": [1.0, None], "r": None, "b": 9}
            assert [one["text"] for one in news["events"]] == ["first"]
            history.add(slot(3), 7)
            happenings.say("second")
            kind, news = await next_event(response)
            while not news["slots"]:
                kind, news = await next_event(response)
            assert kind == "update"
            assert [one["t"] for one in news["slots"]] == [3000]
            assert [one["text"] for one in news["events"]] == ["second"]
            history.add(slot(4, ("b", "c"), (2.0, 3.0)), 7)
            while kind != "snapshot":
                kind, news = await next_event(response)
            assert news["columns"] == ["b", "c"]
            assert [one["v"] for one in news["slots"]] == [[None, None]] * 4 + [[2.0, 3.0]]

    served(work, history)


def test_browsers_that_are_too_many_are_turned_away():
    async def work(url, session):
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector) as many:
            opened = [await many.get(f"{url}/events") for _ in range(33)]
            assert [one.status for one in opened] == [200] * 32 + [503]
            for one in opened:
                one.close()

    served(work, new_history()[0])


def test_true_readings_and_delays_where_the_gateway_is_in_the_same_process():
    history, _, _ = new_history()
    now = Clock().now()
    row = SlotRow(5 * SECOND, ("a", "b"), np.array([1.2, np.nan]), np.array([now - SECOND, 0]))
    history.add_true(row)
    assert 1 <= history.add(slot(5), 3) < 10
    assert history.snapshot()["slots"][0]["r"] == [1.2, None]
    assert history.add(slot(6), 3) is None


def test_memory_is_bounded():
    history, _, _ = new_history()
    for number in range(2000):
        history.add_true(SlotRow(-number, ("a",), np.zeros(1), np.ones(1)))
        history.add(slot(number), 3)
    news = history.snapshot()
    assert len(news["slots"]) == news["most"] == 480
    assert not history.has_since(1000)
    wide = tuple(f"s{k}" for k in range(1000))
    history.add(Slot(0, wide, np.zeros(1000), 0), 3)
    assert history.snapshot()["most"] == 200
