from __future__ import annotations

import contextlib
import functools
import os
import pathlib
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

from tgc.export import start
from tgc.export.hooks import restore_all
from tgc.export.versions import installed_version
from tgc.page import view
from tgc.process import TgcError, call
from tgc.recording import Path, Recording, Schedule

NO_TINYGRAD = "tinygrad is not installed; run pip install tinygrad"
# Caches of tinygrad. A kernel in a cache is not compiled again, so it would not be recorded.
CACHES = [("tinygrad.engine.schedule", "schedule_cache"), ("tinygrad.schedule", "schedule_cache"),
          ("tinygrad.engine.realize", "method_cache"), ("tinygrad.codegen", "to_program_cache")]


def schedule_caches() -> list[dict[Any, Any]]:
  modules = [(sys.modules.get(module), name) for module, name in CACHES]
  return [cache for module, name in modules if isinstance(cache := getattr(module, name, None), dict)]


@contextlib.contextmanager
def empty_caches() -> Iterator[None]:
  saved = [(cache, dict(cache)) for cache in schedule_caches()]
  for cache, _ in saved: cache.clear()
  try: yield
  finally:
    for cache, old in saved: cache.update({**old, **cache})


@contextlib.contextmanager
def recording_block(options: dict[str, Any]) -> Iterator[Any]:
  if start.active_recorder is not None: raise TgcError(["this process is being recorded already"])
  if (version := installed_version()) is None: raise TgcError([NO_TINYGRAD])
  from tinygrad import helpers
  # PARALLEL=0: kernels that other processes compile are not recorded
  settings = {"PARALLEL": 0} | ({"JIT": 2} if options.get("watch_nan") else {})  # JIT=2: a TinyJit runs its kernels one by one
  setting = helpers.Context(**{k: v for k, v in settings.items() if k in helpers.ContextVar._cache})
  made = start.start_recording({"targets": [], "save_inputs": False, "rewrites": True, "version": version, **options})
  made.writer.remove_old()
  try:
    with setting, empty_caches(): yield made
  finally:
    restore_all()
    start.active_recorder = None
    made.writer.merge_parts()
    made.write_nans()
    made.writer.close()


@contextlib.contextmanager
def record(path: Path | None = None, *, rewrites: bool = True, inputs: bool = False, watch_nan: bool = False, name: str = "record") -> Iterator[Recording]:
  """Records what this process compiles in a block. Yields the recording, which can be read after the block.

  The ids of its kernels are NAME.0, NAME.1, ..., those of its schedules NAME.s0, NAME.s1, ... `path` is the file of the
  kernels, such as out.jsonl.gz; without it, the files are removed with the object. `rewrites` keeps the matches of
  rules; `inputs` keeps the arrays of the kernels. `watch_nan` looks for kernel calls that make a NaN of numbers, which
  tgc.find_nan() explains. Raises TgcError if tinygrad is not installed, or if this process is recorded already.
  """
  folder = tempfile.TemporaryDirectory(prefix="tgc.") if path is None else None
  out = Recording(path if path is not None else pathlib.Path(folder.name, "record.jsonl.gz") if folder else "", folder)
  out.open = True
  try:
    with recording_block({"output": os.fspath(out.path), "id": name, "rewrites": rewrites, "save_inputs": inputs,
                          **({"watch_nan": "nan"} if watch_nan else {})}): yield out
  finally: out.open = False


def fusion_explanation(schedule: Schedule) -> str:
  try: return call("dump", schedule.path, "--stage=schedule", "--why").stdout
  except TgcError as e: return f"not known: {e}"


class Debug:

  def __init__(self, recording: Recording) -> None: self.recording = recording

  @property
  def schedule(self) -> Schedule:
    """The schedule with the most kernels. Raises TgcError if there is none."""
    made = [s for s in self.recording.schedules if s.kernels]
    if not made: raise TgcError(["there is nothing to schedule: the tensors are realized or constant"])
    return max(made, key=lambda s: len(s.kernels))

  @property
  def graph(self) -> str:
    """The tensor graph, as text."""
    return self.schedule.ast

  @functools.cached_property
  def why(self) -> str:
    """Why the kernels of the schedule are not fused, as text."""
    return fusion_explanation(self.schedule)

  def __str__(self) -> str:
    kernels = [line for kernel in self.recording.kernels for line in kernel.summary()]
    return "\n".join([self.graph, str(self.schedule), *kernels, self.why])

  def _repr_html_(self) -> str: return view(self.schedule)._repr_html_()
  def __repr__(self) -> str: return str(self)


def debug(*tensors: Any) -> Debug:
  """Schedules tensors and compiles the kernels, without running them. Returns the graph, the schedule and why its
  kernels are not fused. Needs tinygrad 0.12 or later."""
  if installed_version() is None: raise TgcError([NO_TINYGRAD])
  from tinygrad.uop.ops import UOp
  folder = tempfile.TemporaryDirectory(prefix="tgc.")
  path = pathlib.Path(folder.name, "debug.jsonl.gz")
  with recording_block({"output": str(path), "id": "debug"}) as made, made.lock: made.record_sink(UOp.sink(*[t.uop for t in tensors]))
  return Debug(Recording(path, folder))
