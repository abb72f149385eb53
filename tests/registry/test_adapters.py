"""Admission: what is not plainly a fitting LoRA adapter is refused before anything loads it."""

import pickle
import struct

import orjson
import pytest
import torch
from safetensors.torch import load_file, save_file

from rsi.errors import IntegrityError, RefusedError
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


def _pickle(draft):
    (draft / "adapter_model.safetensors").write_bytes(pickle.dumps({"a": 1}))


def _long_header(draft):
    (draft / "adapter_model.safetensors").write_bytes(struct.pack("<Q", 10**12) + b"{}")


def _bin(draft):
    (draft / "adapter_model.bin").write_bytes(b"")


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
        (weights(_zero), "changes nothing"),
        (weights(_foreign), "lm_head"),
        (weights(_shape), "the base wants"),
        (_pickle, "no safetensors"),
        (_long_header, "no safetensors"),
        (_bin, "adapter_model.bin"),
        (_link, "adapter_config.json"),
        (config(r=8), "r=8"),
        (config(use_dora=True), "use_dora"),
        (config(peft_type="IA3"), "peft_type"),
        (config(target_modules=["lm_head"]), "lm_head"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_reason(forge, change, why):
    """Each by the rule meant for it."""
    with pytest.raises(RefusedError, match=why):
        forge(change)


def test_an_adapter_of_another_base_is_refused(trained, tiny_base):
    """The message names both bases."""
    home, name = trained

    with pytest.raises(RefusedError, match="was trained on base"):
        adapters.admit(home, name, "f" * 64, adapters.shapes(tiny_base))


def test_a_missing_adapter_is_named(home, tiny_base):
    """With the path where it was expected."""
    with pytest.raises(IntegrityError, match="is missing"):
        adapters.admit(home, "L0-000000000000", "f" * 64, adapters.shapes(tiny_base))
