"""Tests that a live tinygrad reads for a model only files of its folder, and sets only known settings."""
from __future__ import annotations

import os
import pathlib

import pytest
from conftest import RELEASE
from tgc.export.live import LiveRecorder, PrivateFiles


def test_a_model_reads_copies_of_files_in_its_folder_only(tmp_path: pathlib.Path) -> None:
  folder = tmp_path / "model"
  folder.mkdir()
  (folder / "weights").write_bytes(b"1234")
  (tmp_path / "secret").write_text("not for the model")
  (folder / "link").symlink_to(tmp_path / "secret")
  os.mkfifo(folder / "pipe")
  files = PrivateFiles(folder.resolve())
  with open(files.open(str(folder / "weights"), os.O_RDWR), "r+b") as copy:
    assert copy.seek(0) == 0 and copy.read() == b"1234"
    copy.write(b"more")
  assert (folder / "weights").read_bytes() == b"1234"
  for outside in ("../secret", "link", "/etc/passwd"):
    with pytest.raises(ValueError, match="outside the model's folder"): files.open(str(folder / outside), os.O_RDWR)
  with pytest.raises(ValueError, match="no regular file"): files.open(str(folder / "pipe"), os.O_RDWR)
  with pytest.raises(FileNotFoundError): files.open(str(folder / "missing"), os.O_RDWR | os.O_CREAT)
  assert not (folder / "missing").exists()
  assert files.path is os.path  # other members are those of the module os


def test_a_question_sets_known_settings_to_numbers_and_words_only() -> None:
  recorder = LiveRecorder(RELEASE)
  assert "NOOPT" in recorder.release_facts()["settings"]
  assert recorder.values_of({"NOOPT": "1", "SPEC": "5"}) == {"NOOPT": 1, "SPEC": 1}  # a higher SPEC runs texts of graphs as programs
  for wrong in ({"NOOPT": "1; import os"}, {"NOOPT": ""}, {"NOOPT": "\u0661"}, {"PATH": "1"}):
    with pytest.raises(ValueError): recorder.values_of(wrong)
