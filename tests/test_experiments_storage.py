"""Finished cells on disk: what comes back is what was put in, or nothing."""

import errno
import hashlib
import io
import json
import os
from collections import namedtuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra import numpy as arrays_of

from workbench.experiments import storage
from workbench.experiments.cells import key_of
from workbench.experiments.storage import StorageError, Store, check_folder

CONTENT = {"task": "recall", "seeds": [0, 1], "code": "abc"}
ARRAYS = {"ends": np.arange(3), "per_100": np.array([[0.1, np.nan, 3.0]]), "ended": np.array("limit cycle")}


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "cells")


def same(one, other):
    return one.keys() == other.keys() and all(
        one[name].dtype == other[name].dtype and one[name].tobytes() == other[name].tobytes() for name in one
    )


def test_a_cell_comes_back_bit_for_bit(store):
    assert store.load(CONTENT) is None
    store.save(CONTENT, ARRAYS)
    assert same(store.load(CONTENT), ARRAYS)
    assert Store(store.folder).load({**CONTENT, "seeds": [0, 2]}) is None
    assert store.set_aside == []


@settings(max_examples=20, deadline=None)
@given(arrays_of.arrays(np.float64, arrays_of.array_shapes(max_dims=2, max_side=5)))
def test_any_numbers_survive(tmp_path_factory, numbers):
    store = Store(tmp_path_factory.mktemp("cells"))
    store.save(CONTENT, {"x": numbers})
    assert same(store.load(CONTENT), {"x": numbers})


def files(store):
    return store.folder / f"{key_of(CONTENT)}.npz", store.folder / f"{key_of(CONTENT)}.json"


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))


def with_pickle(data, record):
    """Arrays that need pickle, under a record with the right checksum."""
    buffer = io.BytesIO()
    np.savez(buffer, x=np.array([{"an": "object"}], dtype=object), allow_pickle=True)
    data.write_bytes(buffer.getvalue())
    note = json.loads(record.read_text())
    record.write_text(json.dumps({**note, "sha256": hashlib.sha256(buffer.getvalue()).hexdigest()}))


DAMAGE = {
    "a changed byte": lambda data, record: flip(data),
    "half of the data": lambda data, record: data.write_bytes(data.read_bytes()[:100]),
    "no data": lambda data, record: data.write_bytes(b""),
    "data gone": lambda data, record: data.unlink(),
    "record gone": lambda data, record: record.unlink(),
    "half of the record": lambda data, record: record.write_text(record.read_text()[:50]),
    "record no JSON": lambda data, record: record.write_bytes(b"\xff\xfe"),
    "record no object": lambda data, record: record.write_text("[1, 2]"),
    "record of another cell": lambda data, record: record.write_text(
        json.dumps({**json.loads(record.read_text()), "content": {**CONTENT, "code": "xyz"}})
    ),
    "a pickle": with_pickle,
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damage_is_seen_set_aside_and_can_be_repaired(store, damage):
    store.save(CONTENT, ARRAYS)
    damage(*files(store))
    assert store.load(CONTENT) is None
    assert len(store.set_aside) == 1
    assert key_of(CONTENT) in store.set_aside[0]
    assert not any(path.exists() for path in files(store))
    assert any((store.folder / "set-aside").rglob("*.*"))  # nothing is thrown away
    store.save(CONTENT, ARRAYS)
    assert same(store.load(CONTENT), ARRAYS)


def test_a_disk_that_fills_up_leaves_no_half_cell(store, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match=r"cannot write .*\.npz: No space left on device"):
        store.save(CONTENT, ARRAYS)
    assert list(store.folder.iterdir()) == []


def test_an_interruption_while_writing_leaves_no_half_cell(store, monkeypatch):
    def interrupted(one, other):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.save(CONTENT, ARRAYS)
    assert list(store.folder.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_refused_before_the_work(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match=r"cannot write to .*file: .*"):
        Store(tmp_path / "file")

    def read_only(**_):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(storage.tempfile, "NamedTemporaryFile", read_only)
    with pytest.raises(StorageError, match="Read-only file system"):
        check_folder(tmp_path)


def test_a_full_folder_is_refused_before_the_work(tmp_path, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(storage.shutil, "disk_usage", lambda path: usage(10**9, 10**9 - 10**6, 10**6))
    with pytest.raises(StorageError, match="only 1 MB of free space; 50 MB are needed"):
        check_folder(tmp_path)
