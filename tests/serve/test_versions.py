"""Following the champion."""

import threading
import time
from pathlib import Path

import openai
import pytest

from rsi.errors import ContractError, IntegrityError, RefusedError
from rsi.serve.versions import Versions
from rsi.settings import Home
from tests.serve.served import BROKEN, CODER, HARNESS, NEW, ROUTER, FakeEngine, Site, adapter, opened, publish


class SlowEngine(FakeEngine):
    """Takes a while to load, and says when it began."""

    def __init__(self) -> None:
        super().__init__()
        self.loading = threading.Event()

    def load(self, name: str, folder: Path) -> None:
        self.loading.set()
        time.sleep(0.2)
        super().load(name, folder)


def ask(site: Site, text: str) -> openai.types.chat.ChatCompletion:
    return site.client.chat.completions.create(model="auto", messages=[{"role": "user", "content": text}])


def test_a_promotion_is_served_from_the_next_request_on(site: Site) -> None:
    """Adapter and harness switch together, without a restart."""
    first = ask(site, "code")
    prompts = HARNESS.prompts.model_copy(update={"answer": {"L2": "Write Rust."}})
    version = publish(site.home, {"L0": ROUTER, "L2": NEW}, HARNESS.model_copy(update={"prompts": prompts}))
    second = ask(site, "code")

    assert first.choices[0].message.content == f"{CODER}: You write code. / code"
    assert second.choices[0].message.content == f"{NEW}: Write Rust. / code"
    assert [line["version"] for line in site.lines()][1] == version == site.admin.version()


def test_a_request_in_flight_finishes_with_the_version_it_started_on(site: Site) -> None:
    """And the adapter it uses cannot be unloaded meanwhile."""
    before = site.admin.version()
    site.engine.hold.clear()
    replies: list[openai.types.chat.ChatCompletion] = []
    flight = threading.Thread(target=lambda: replies.append(ask(site, "code")))
    flight.start()
    while site.admin.health().queue == 0:
        pass
    after = publish(site.home, {"L0": ROUTER, "L2": NEW})
    assert site.admin.version() == after
    with pytest.raises(RefusedError):
        site.admin.unload(CODER)
    site.engine.hold.set()
    flight.join()

    assert replies[0].model == CODER
    assert site.lines()[0]["version"] == before
    site.admin.unload(CODER)
    assert ask(site, "code").model == NEW


def test_what_a_version_leaves_behind_is_unloaded_when_nobody_uses_it(home: Home) -> None:
    """After its time and after the last request on it; what was loaded ahead of a promotion stays."""
    publish(home, {"L0": ROUTER, "L2": CODER})
    engine = FakeEngine()
    followed = Versions(home, engine, linger_s=0.0)
    ahead = adapter(home, "L2", "ahead")
    followed.load(ahead, home.adapters / ahead)
    with followed.lease():
        publish(home, {"L0": ROUTER, "L2": NEW})
        followed.refresh()
        followed.drain()
        assert set(engine.loaded) == {ROUTER, CODER, NEW, ahead}

    followed.drain()

    assert set(engine.loaded) == set(followed.loaded) == {ROUTER, NEW, ahead}


def test_what_comes_back_in_time_is_not_unloaded(home: Home) -> None:
    """A rollback within the pause finds its adapter loaded, and keeps it."""
    publish(home, {"L0": ROUTER, "L2": CODER})
    engine = FakeEngine()
    followed = Versions(home, engine, linger_s=3600.0)
    for now in (NEW, CODER):
        publish(home, {"L0": ROUTER, "L2": now})
        followed.refresh()
        followed.drain()

    assert set(engine.loaded) == {ROUTER, CODER, NEW}


def test_a_version_that_cannot_be_loaded_leaves_the_old_one_in_service(site: Site) -> None:
    """/health says why; the next good version clears it."""
    before = site.admin.version()
    publish(site.home, {"L0": ROUTER, "L2": BROKEN})
    health = site.admin.health()

    assert ask(site, "code").model == CODER
    assert (health.status, health.version) == ("degraded", before)
    assert f"{BROKEN} does not fit" in health.problems[0]

    after = publish(site.home, {"L0": ROUTER, "L2": NEW})
    assert ask(site, "code").model == NEW
    assert (site.admin.health().status, site.admin.health().version) == ("ok", after)


def test_a_failed_load_is_tried_again_after_a_pause(home: Home) -> None:
    """What was missing for a moment is found without a new promotion, but not asked for at every request."""
    publish(home, {})
    patient, eager = Versions(home, FakeEngine(), retry_s=3600), Versions(home, FakeEngine(), retry_s=0)
    version = publish(home, {"L2": CODER})
    hidden = (home.adapters / CODER).rename(home.root / "hidden")
    for versions in (patient, eager):
        versions.refresh()
        assert versions.problem is not None
        assert CODER in versions.problem
    hidden.rename(home.adapters / CODER)

    assert (patient.changed(), eager.changed()) == (False, True)
    assert eager.refresh().version == version
    assert eager.problem is None


def test_while_a_version_loads_everybody_waits_for_it(home: Home) -> None:
    """A request that comes after a promotion never starts on the version before it."""
    publish(home, {})
    engine = SlowEngine()
    versions = Versions(home, engine)
    version = publish(home, {"L2": CODER})
    first = threading.Thread(target=versions.refresh)
    first.start()
    assert engine.loading.wait(10)

    assert versions.changed()
    assert versions.refresh().version == version
    first.join()
    assert not versions.changed()


def test_without_a_champion_the_message_names_the_command(home: Home) -> None:
    """Nothing to serve."""
    with pytest.raises(ContractError, match="rsi init"):
        Versions(home, FakeEngine())


def test_a_champion_of_another_base_is_refused(home: Home) -> None:
    """Both digests are named."""
    publish(home, {}, base="c" * 64)

    with pytest.raises(ContractError, match=r"cccccccccccc.*bbbbbbbbbbbb"):
        Versions(home, FakeEngine())


def test_a_champion_file_that_is_none_is_refused(home: Home) -> None:
    """With the file and the field."""
    publish(home, {})
    home.champion.write_text('{"version": "x"}')

    with pytest.raises(IntegrityError, match=r"champion\.json.*harness"):
        Versions(home, FakeEngine())


def test_a_harness_that_was_changed_is_refused(home: Home) -> None:
    """Its digest is its name."""
    publish(home, {})
    (path,) = home.harnesses.iterdir()
    path.write_text(path.read_text().replace("Which one?", "Always code."))

    with pytest.raises(IntegrityError, match="digest"):
        Versions(home, FakeEngine())


def test_an_adapter_with_a_flipped_byte_is_not_served(home: Home) -> None:
    """Nor one that was trained on another base."""
    publish(home, {"L2": CODER})
    weights = home.adapters / CODER / "adapter_model.safetensors"
    weights.write_text("Coder")
    with pytest.raises(IntegrityError, match=CODER):
        Versions(home, FakeEngine())
    weights.write_text("coder")
    foreign = adapter(home, "L2", "coder", base="c" * 64)
    with pytest.raises(RefusedError, match="cccccccccccc"):
        Versions(home, FakeEngine()).load(foreign, home.adapters / foreign)


def test_an_adapter_outside_the_home_is_refused(home: Home, tmp_path: Path) -> None:
    """The champion file is derived data; it cannot name a place elsewhere."""
    publish(home, {"L2": CODER})
    (tmp_path / CODER).mkdir()
    moved = home.champion.read_text().replace(str(home.adapters / CODER), str(tmp_path / CODER))
    home.champion.write_text(moved)

    with pytest.raises(ContractError, match="must lie in"):
        Versions(home, FakeEngine())


def test_a_name_is_never_loaded_with_other_content(home: Home) -> None:
    """What an engine has under a name stays."""
    publish(home, {})
    engine = FakeEngine()
    engine.loaded[CODER] = Path("/elsewhere") / CODER

    with pytest.raises(RefusedError, match="already loaded"):
        Versions(home, engine).load(adapter(home, "L2", "coder"), home.adapters / CODER)


def test_the_gateway_takes_up_a_new_version_without_being_asked(home: Home) -> None:
    """Loading is done before the first request needs it."""
    publish(home, {})
    with opened(home) as site:
        publish(home, {"L2": CODER})
        for _ in range(500):
            if CODER in site.engine.loaded:
                break
            threading.Event().wait(0.01)

        assert CODER in site.engine.loaded
