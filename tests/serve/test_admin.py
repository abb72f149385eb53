"""The admin API, as `rsi promote` uses it."""

import math
import socket

import httpx
import pytest
from fastapi import Request

from rsi.errors import ContractError, RefusedError, TransientError
from rsi.records import ChatMessage
from rsi.serve.admin import is_local
from rsi.serve.client import Gateway, token
from rsi.settings import Home
from tests.serve.served import CODER, NEW, ROUTER, Site, adapter, opened, publish

WORDS = ("chat", "code")


def asked(text: str) -> tuple[ChatMessage, ...]:
    return (ChatMessage(role="user", content=text),)


def test_the_token_is_made_once_and_private(site: Site) -> None:
    """A file of the home that only its owner reads."""
    path = site.home.root / "admin.token"

    assert path.stat().st_mode & 0o077 == 0
    assert token(site.home) == token(site.home) == path.read_text()
    assert len(path.read_text()) > 30


@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer wrong"}, {"authorization": "Basic x"}])
def test_without_the_token_nothing_is_said(site: Site, headers: dict[str, str]) -> None:
    """Every path of the admin API, and the right token after that."""
    paths = ("GET", "adapters"), ("POST", "probe"), ("DELETE", f"adapters/{CODER}"), ("POST", "rotate")
    for method, path in paths:
        assert httpx.request(method, f"{site.url}/admin/{path}", headers=headers).status_code == 401
    assert set(site.admin.adapters()) == {ROUTER, CODER}


def test_what_comes_through_a_proxy_is_not_of_this_machine(site: Site) -> None:
    """The right token does not help."""
    headers = {"authorization": f"Bearer {token(site.home)}", "x-forwarded-for": "127.0.0.1"}

    assert httpx.get(f"{site.url}/admin/adapters", headers=headers).status_code == 403


@pytest.mark.parametrize(
    ("peer", "server", "local"),
    [
        ("127.0.0.1", "127.0.0.1", True),
        ("127.9.9.9", "0.0.0.0", True),
        ("::1", "::1", True),
        ("::ffff:127.0.0.1", "::", True),
        ("10.0.0.5", "10.0.0.5", True),
        ("10.0.0.7", "10.0.0.5", False),
        ("::ffff:10.0.0.7", "::", False),
        ("", "", False),
    ],
)
def test_who_is_of_this_machine(peer: str, server: str, local: bool) -> None:
    """A loopback peer, or one that has the very address it called."""
    scope = {"type": "http", "headers": [], "client": (peer, 5000), "server": (server, 80)}

    assert is_local(Request(scope)) is local


def test_an_adapter_is_loaded_probed_and_unloaded(site: Site) -> None:
    """Loading twice is loading once; the probe shows that the adapter acts."""
    folder = site.home.adapters / adapter(site.home, "L2", "new")
    site.admin.load(NEW, folder)
    site.admin.load(NEW, folder)
    assert site.admin.adapters()[NEW] == folder

    on = site.admin.probe([asked("code"), asked("chat")], WORDS, NEW)
    off = site.admin.probe([asked("code")], WORDS, None)
    yes, no = math.log(0.9), math.log(0.1)
    assert on == [pytest.approx((no, yes)), pytest.approx((yes, no))]
    assert off == [pytest.approx((yes, no))]
    (broken,) = site.admin.probe([asked("nan")], WORDS, NEW)
    assert all(math.isnan(score) for score in broken)

    site.admin.unload(NEW)
    assert NEW not in site.admin.adapters()
    site.admin.unload(NEW)
    with pytest.raises(ContractError, match=NEW):
        site.admin.probe([asked("code")], WORDS, NEW)


def test_an_adapter_in_service_is_not_unloaded(site: Site) -> None:
    """409, and it serves on."""
    with pytest.raises(RefusedError, match="in service"):
        site.admin.unload(CODER)
    assert CODER in site.admin.adapters()


def test_only_this_homes_adapters_are_loaded_and_under_their_own_names(site: Site) -> None:
    """No path outside, no other name, no folder that is not there, no link that leads out."""
    outside = site.home.root / "elsewhere" / NEW
    outside.mkdir(parents=True)
    inside = site.home.adapters / adapter(site.home, "L2", "new")
    broken = adapter(site.home, "L2", "broken")
    link = site.home.adapters / "L0-eeeeeeeeeeee"
    link.symlink_to(outside)
    for name, path in (
        (NEW, outside),
        ("L0-ffffffffffff", inside),
        (link.name, link),
        ("..", site.home.root),
        (NEW, inside / ".." / ".." / "elsewhere" / NEW),
        ("L0-000000000000", site.home.adapters / "L0-000000000000"),
    ):
        with pytest.raises(ContractError, match="422"):
            site.admin.load(name, path)
    with pytest.raises(ContractError, match="does not fit"):
        site.admin.load(broken, site.home.adapters / broken)
    assert set(site.admin.adapters()) == {ROUTER, CODER}


def test_rotating_hands_the_open_segment_to_ingest(site: Site) -> None:
    """The path of the closed segment, or nothing where none was open."""
    assert site.admin.rotate() is None
    site.client.chat.completions.create(model="base", messages=[{"role": "user", "content": "hi"}])
    closed = site.admin.rotate()

    assert closed is not None
    assert list(site.home.inbox.iterdir()) == [closed]
    assert closed.name.endswith(".ndjson")


def test_a_gateway_that_is_away_is_a_transient_error(home: Home) -> None:
    """The message names its address."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with Gateway(url, "t") as gone, pytest.raises(TransientError, match=url):
            gone.version()


def test_a_new_token_counts_at_once(home: Home) -> None:
    """Removing the file locks the old holders out."""
    publish(home, {})
    with opened(home) as site:
        (home.root / "admin.token").unlink()
        with pytest.raises(ContractError, match="401"):
            site.admin.adapters()
        with Gateway(site.url, token(home)) as again:
            assert again.adapters() == {}
