from __future__ import annotations

import os
import sys
from typing import Any

from tgc.export.golden import NATIVE_RELEASE
from tgc.export.graph_recorder import GraphRecorder
from tgc.export.hooks import call_on_import
from tgc.export.kinds import JSON
from tgc.export.metadata import watch_metadata
from tgc.export.recorder import Recorder
from tgc.export.text_recorder import TextRecorder
from tgc.export.versions import installed_commit, installed_version

active_recorder: Recorder | None = None  # the recorder of this process; None if nothing is recorded


def start_recording(options: JSON, is_child: bool = False) -> Recorder:
  """Records everything that this process compiles, from the moment it imports tinygrad. With "version", `options` are
  GraphRecorder's, otherwise TextRecorder's.
  """
  global active_recorder
  active_recorder = (GraphRecorder if options.get("version") else TextRecorder)(options, is_child)
  sys.modules.setdefault("tinygrad_export", sys.modules["tgc.export"])  # for a program that imports tgc_export from it
  sys.setrecursionlimit(max(sys.getrecursionlimit(), 20000))
  call_on_import("tinygrad", lambda _: active_recorder.watch())
  return active_recorder


def tgc_export(*tensors: Any, path: str | os.PathLike[str] | None = None) -> None:
  """Records the schedule and the kernels that tensors need, without running them.

  Writes to `path`; if this process is recorded already, writes to that recording instead. Raises ValueError if there is
  neither.
  """
  global active_recorder
  from tinygrad.uop.ops import UOp
  if active_recorder is None:
    if path is None: raise ValueError('tgc_export needs a file: tgc_export(tensor, path="out.jsonl.gz")')
    options = {"output": str(path), "targets": [], "id": "export", "save_inputs": False, "commit": installed_commit()}
    if (version := installed_version()) == NATIVE_RELEASE:
      active_recorder = TextRecorder(options)
      active_recorder.note_settings()
      watch_metadata()
      active_recorder.origins.watch()
    else: start_recording({**options, "version": version})
    assert active_recorder is not None
    active_recorder.writer.remove_old()
  with active_recorder.lock: active_recorder.record_sink(UOp.sink(*[t.uop for t in tensors]))
