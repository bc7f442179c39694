from __future__ import annotations

import os
import pathlib
import threading
import traceback
from typing import Any

from tgc.export.golden import GoldenWriter, print_message
from tgc.export.kinds import JSON, Node, Settings
from tgc.export.origins import Origins


class Recorder:
  """Records what one process compiles. A subclass watches tinygrad's functions and makes the records.

  `options`: output (path of the kernel file), targets (empty: those that the program uses), id (prefix of record ids),
  save_inputs (keep the arrays of kernels), commit (tinygrad's, or None).
  """

  def __init__(self, options: JSON, is_child: bool = False) -> None:
    self.targets: list[str] = options["targets"]
    self.prefix: str = options["id"]
    self.save_inputs: bool = options["save_inputs"]
    self.output = pathlib.Path(options["output"])
    self.writer, self.lock, self.busy = GoldenWriter(self.output, is_child), threading.RLock(), False
    self.writer.commit = options.get("commit")
    self.origins = Origins()
    self.recorded: set[Any] = set()
    self.kernel_ids: dict[Any, str] = {}
    self.metadata: dict[Any, Any] = {}
    self.var_vals: dict[Any, dict[str, int]] = {}  # key of a kernel's graph: values of variables in its last schedule
    self.schedules = self.failures = 0
    self.header_settings: JSON = {}
    self.initial_vars: JSON = {}
    os.register_at_fork(after_in_child=self.reset_after_fork)

  def watch(self) -> None: raise NotImplementedError
  def context_vars(self) -> JSON: raise NotImplementedError
  def record_sink(self, sink: Node) -> None: raise NotImplementedError

  def replay_kernel(self, name: str, target: str, ast: Node, settings: Settings, metadata: Any) -> None:
    raise NotImplementedError

  def replay_schedule(self, name: str, what: str, sink: Node, settings: Settings) -> None: raise NotImplementedError

  def finish(self) -> None:
    """processes.finish() calls this at the end of a recording."""

  def write_nans(self) -> None:
    """Writes how many later kernels read the NaNs that were found."""

  def reset_after_fork(self) -> None:
    self.lock, self.busy = threading.RLock(), False
    self.writer.reset_after_fork()
    self.kernel_ids, self.schedules, self.failures = {}, 0, 0

  def changed_vars(self) -> JSON:
    now = {k: v.value for k, v in self.context_vars().items()}
    return {k: str(value) for k, value in now.items() if value != self.initial_vars.get(k, value)}

  def write(self, level: str, record: JSON, settings: Settings, metadata: Any = None) -> None:
    record |= ({"settings": settings} if settings else {}) | ({"metadata": metadata} if metadata else {})
    self.writer.write(level, self.header_settings, record)

  def id_prefix(self) -> str:
    """Returns the prefix of this process's record ids; for a child process it ends with the number of its part."""
    if self.writer.is_child and not self.writer.part: self.writer.claim_part(self.header_settings)
    return self.prefix + (f".p{self.writer.part}" if self.writer.part else "")

  def own_settings(self) -> JSON: raise NotImplementedError

  def identity(self, ast: Node) -> tuple[Any, ...]:
    """Returns what distinguishes a kernel: its graph, and the settings that it is compiled under now."""
    return ast.key, repr(ast.arg), repr(ast.tag), tuple(self.own_settings().items())

  def kernel_id(self, ast: Node) -> str:
    identity = self.identity(ast)
    if identity not in self.kernel_ids: self.kernel_ids[identity] = f"{self.id_prefix()}.{len(self.kernel_ids)}"
    return self.kernel_ids[identity]

  def schedule_id(self) -> str:
    self.schedules += 1
    return f"{self.id_prefix()}.s{self.schedules - 1}"

  def note_kernel(self, item: JSON, ast: Node, values: dict[str, int]) -> None:
    """Notes the values of the variables of `item`, a kernel of a schedule, and sets the id of its record in it."""
    from tinygrad.helpers import BEAM
    if values: self.var_vals[ast.key] = values
    if ast.op.name == "SINK" and BEAM.value < 1: item["id"] = self.kernel_id(ast)  # BEAM compiles other graphs

  def report_failure(self, subject: str) -> None:
    """Counts an exception inside the exporter, which must not reach the program; prints the first one."""
    self.failures += 1
    if self.failures == 1: print_message(f"a {subject} could not be recorded:\n" + traceback.format_exc())
