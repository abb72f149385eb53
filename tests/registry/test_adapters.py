"""Admission: what is not plainly a fitting LoRA adapter is refused before anything loads it."""

import pickle
import struct
from contextlib import suppress
from pathlib import Path

import orjson
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from rsi.errors import ContractError, IntegrityError, RefusedError
from rsi.ports import silent
from rsi.records import Adapter
from rsi.registry import adapters
from rsi.settings import Home
from rsi.update.job import collect, submit
from rsi.update.worker import work
from tests.made import base_digest, tiny_job


@pytest.fixture(scope="module")
def trained(tmp_path_factory, tiny_base):
    """Home and name of a good adapter."""
    home = Home(tmp_path_factory.mktemp("adapters"))
    job = tiny_job(home, tiny_base, steps=2)
    place = submit(home, job)
    end = work(place, tiny_base, silent)
    collect(home, place, end)
    return home, end.adapter


@pytest.fixture
def forge(trained, tmp_path, tiny_base):
    """Make a variant of the good adapter under the name of its own content, and judge it."""
    source, good = trained

    def admit(change) -> Adapter:
        home = Home(tmp_path / "home")
        draft = tmp_path / "draft"
        draft.mkdir()
        for file in adapters.FILES:
            (draft / file).write_bytes((adapters.folder(source, good) / file).read_bytes())
        change(draft)
        card = orjson.loads((draft / "adapter.json").read_bytes())
        (draft / "adapter.json").write_bytes(orjson.dumps({**card, "files": adapters.hashes(draft)}))
        name = adapters.name_of(draft)
        draft.rename(home.adapters / name) if home.adapters.exists() else (
            home.adapters.mkdir(parents=True),
            draft.rename(home.adapters / name),
        )
        return adapters.admit(home, name, base_digest(tiny_base), adapters.shapes(tiny_base))

    return admit


def weights(change):
    """A forgery that changes the tensors."""

    def apply(draft):
        tensors = load_file(draft / "adapter_model.safetensors")
        save_file(change(tensors) or tensors, draft / "adapter_model.safetensors")

    return apply


def config(**change):
    """A forgery that changes the configuration."""

    def apply(draft):
        path = draft / "adapter_config.json"
        path.write_bytes(orjson.dumps({**orjson.loads(path.read_bytes()), **change}))

    return apply


def first_b(tensors):
    """Name of one lora_B."""
    return sorted(name for name in tensors if ".lora_B." in name)[0]


def _nan(tensors):
    tensors[first_b(tensors)][0, 0] = float("nan")


def _zero(tensors):
    return {name: torch.zeros_like(one) if ".lora_B." in name else one for name, one in tensors.items()}


def _foreign(tensors):
    tensors["base_model.model.lm_head.lora_A.weight"] = torch.zeros(4, 32)


def _shape(tensors):
    tensors[first_b(tensors)] = torch.zeros(3, 4)


class Tripwire:
    """A pickle that leaves a mark where it is loaded."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return (open, (str(self.mark), "w"))


def trap(file: str):
    """A forgery that is, or brings along, a pickle."""

    def apply(draft):
        (draft / file).write_bytes(pickle.dumps(Tripwire(draft.parent / "tripped")))

    return apply


def header(change):
    """A forgery that changes the header of the weights, and nothing behind it."""

    def apply(draft):
        path = draft / "adapter_model.safetensors"
        data = path.read_bytes()
        size = struct.unpack("<Q", data[:8])[0]
        said = orjson.loads(data[8 : 8 + size])
        change(said, len(data) - 8 - size)
        new = orjson.dumps(said)
        path.write_bytes(struct.pack("<Q", len(new)) + new + data[8 + size :])

    return apply


def _overlap(said, _):
    first, second, *_ = (key for key in said if key != "__metadata__" and said[key]["shape"] == [4, 32])
    said[first]["data_offsets"] = said[second]["data_offsets"]


def _outside(said, size):
    last = max((key for key in said if key != "__metadata__"), key=lambda key: said[key]["data_offsets"])
    start, stop = said[last]["data_offsets"]
    said[last]["data_offsets"] = [start + size, stop + size]


def _backwards(said, _):
    key = next(key for key in said if key != "__metadata__")
    said[key]["data_offsets"] = said[key]["data_offsets"][::-1]


def _huge(said, _):
    key = next(key for key in said if key != "__metadata__")
    said[key]["data_offsets"] = [0, 2**63]


def _listed(said, _):
    said["odd"] = [1, 2]


def _integers(said, _):
    said[next(key for key in said if key != "__metadata__")]["dtype"] = "I8"


def _behind(draft):
    with (draft / "adapter_model.safetensors").open("ab") as file:
        file.write(b"GIF89a")


def _infinite(tensors):
    tensors[first_b(tensors)][0, 0] = float("inf")


def _rank(draft):
    config(r=10_000)(draft)
    path = draft / "adapter.json"
    path.write_bytes(orjson.dumps({**orjson.loads(path.read_bytes()), "rank": 10_000}))


def _long_header(draft):
    (draft / "adapter_model.safetensors").write_bytes(struct.pack("<Q", 10**12) + b"{}")


def _link(draft):
    path = draft / "adapter_config.json"
    path.rename(draft.parent / "elsewhere.json")
    path.symlink_to(draft.parent / "elsewhere.json")


def test_the_good_one_is_admitted(trained, tiny_base):
    """Name, role, rank and targets come back."""
    home, name = trained

    found = adapters.admit(home, name, base_digest(tiny_base), adapters.shapes(tiny_base))
    assert (found.name, found.role, found.rank) == (name, "L0", 4)
    assert set(found.targets) == set(adapters.TARGETS)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (weights(_nan), "not finite"),
        (weights(_infinite), "not finite"),
        (weights(_zero), "changes nothing"),
        (weights(_foreign), "lm_head"),
        (weights(_shape), "the base wants"),
        (_long_header, "no safetensors"),
        (header(_overlap), "tensors overlap, leave a hole or reach out"),
        (header(_outside), "tensors overlap, leave a hole or reach out"),
        (header(_backwards), "which is not its size"),
        (header(_huge), "which is not its size"),
        (header(_listed), "not an object of objects"),
        (header(_integers), "has type 'I8'"),
        (_behind, "6 bytes of adapter_model.safetensors belong to no tensor"),
        (_link, "adapter_config.json"),
        (config(r=8), "r=8"),
        (config(lora_alpha=0), "lora_alpha=0"),
        (config(use_dora=True), "use_dora"),
        (config(use_rslora=True), "use_rslora"),
        (config(rank_pattern={"q_proj": 64}), "rank_pattern"),
        (config(target_parameters=["experts"]), "target_parameters"),
        (config(something_new={"on": True}), "something_new"),
        (config(init_lora_weights="pissa"), "init_lora_weights"),
        (config(peft_type="IA3"), "peft_type"),
        (config(target_modules=["lm_head"]), "lm_head"),
    ],
)
def test_38_what_does_not_fit_is_refused_with_the_reason(forge, change, why):
    """Each by the rule meant for it."""
    with pytest.raises(RefusedError, match=why):
        forge(change)


@pytest.mark.parametrize(
    "file", ["adapter_model.safetensors", "adapter_model.bin", "adapter_model.pt", "optimizer.pkl"]
)
def test_38_a_pickle_is_refused_and_never_runs(forge, file, tmp_path):
    """Under any name, its own among them."""
    with pytest.raises(RefusedError, match=r"no safetensors|are admitted, as files"):
        forge(trap(file))

    assert not (tmp_path / "tripped").exists()
    pickle.loads(pickle.dumps(Tripwire(tmp_path / "tripped"))).close()  # noqa: S301
    assert (tmp_path / "tripped").exists(), "the tripwire works"


def test_38_a_rank_beyond_the_limit_is_no_card(forge):
    """It does not even become a name."""
    with pytest.raises(ValueError, match="rank"):
        forge(_rank)


@pytest.mark.parametrize(
    "name",
    [
        "../../x",
        "/etc/passwd",
        "C:\\x",
        "a\0b",
        "CON",
        "x" * 300,
        "L0‐1",
        ".",
        "..",
        "-rf",
        "",
        "L0-1/..",
        "a..b",
    ],
)
def test_37_names_that_lead_elsewhere_are_refused(home, name):
    """Before anything is opened."""
    with pytest.raises(ContractError, match="cannot be a name here"):
        adapters.folder(home, name)


@settings(max_examples=50)
@given(st.text(max_size=120), st.text(max_size=120))
def test_37_a_name_is_one_place_inside_the_folder(one, other):
    """Whatever is taken lies directly there, and two names are two places."""
    home, places = Home(Path("/nowhere")), []
    for name in (one, other):
        with suppress(ContractError):
            places.append(adapters.folder(home, name))
            assert places[-1].resolve().parent == home.adapters
    assert len(set(places)) == len({one, other}) or len(places) < 2


def test_a_link_to_an_adapter_is_refused(trained, home, tiny_base):
    """It could lead to another one tomorrow."""
    source, name = trained
    home.adapters.mkdir(parents=True)
    (home.adapters / name).symlink_to(adapters.folder(source, name))

    with pytest.raises(RefusedError, match="is a link"):
        adapters.admit(home, name, base_digest(tiny_base), adapters.shapes(tiny_base))


def test_an_adapter_of_another_base_is_refused(trained, tiny_base):
    """The message names both bases."""
    home, name = trained

    with pytest.raises(RefusedError, match="was trained on base"):
        adapters.admit(home, name, "f" * 64, adapters.shapes(tiny_base))


def test_a_missing_adapter_is_named(home, tiny_base):
    """With the path where it was expected."""
    with pytest.raises(IntegrityError, match="is missing"):
        adapters.admit(home, "L0-000000000000", "f" * 64, adapters.shapes(tiny_base))
