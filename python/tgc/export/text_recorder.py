"""Records tinygrad 0.12.0: replaces get_program and the scheduler, and keeps stages as tinygrad's own printer shows
them.
"""
from __future__ import annotations

import os
from typing import Any

from tgc.export.arrays import ArraySaver
from tgc.export.golden import SETTINGS
from tgc.export.hooks import call_on_import, replace_everywhere, replaced_attribute, set_attribute
from tgc.export.kinds import JSON, Function, Node, Settings
from tgc.export.metadata import metadata_list, watch_metadata, watch_onnx
from tgc.export.origins import metadata_of
from tgc.export.recorder import Recorder
from tgc.export.records import (
  kernel_record,
  make_renderer,
  replayed_schedule,
  schedule_record,
  target_of,
  without_custom_kernels,
)


class TextRecorder(Recorder):
  def __init__(self, options: JSON, is_child: bool = False) -> None:
    super().__init__(options, is_child)
    self.renderers: JSON = {}
    self.arrays = ArraySaver(self)

  def context_vars(self) -> JSON:
    from tinygrad.helpers import ContextVar
    return {k: ContextVar._cache[k] for k in SETTINGS if k in ContextVar._cache}

  def note_settings(self) -> None:
    self.initial_vars = {k: v.value for k, v in self.context_vars().items()}
    self.header_settings = {k: os.environ[k] for k in SETTINGS if os.environ.get(k, "") != ""}
    self.header_settings["CPU_COUNT"] = str(self.initial_vars["CPU_COUNT"])  # CPU kernels depend on it, set or not

  def own_settings(self) -> JSON:
    """Returns the settings that the program has changed since its start, by a Context or in its environment."""
    changed: JSON = {k: os.environ.get(k) or None for k in SETTINGS
               if k not in self.initial_vars and os.environ.get(k, "") != self.header_settings.get(k, "")}
    return changed | self.changed_vars()

  def renderer_of(self, target: str) -> Any:
    if target not in self.renderers: self.renderers[target] = make_renderer(target)
    return self.renderers[target]

  def record_kernel(self, ast: Node, renderer: Any) -> str | None:
    """Records a kernel for the targets that have no record of it yet; returns its id."""
    settings, identity = self.own_settings(), self.identity(ast)
    renderers = {target: self.renderer_of(target) for target in self.targets} or {target_of(renderer): renderer}
    for target, ren in renderers.items():
      key = (*identity, target)
      if key in self.recorded: continue
      self.recorded.add(key)
      with self.origins.running_phase("compiles"): record = kernel_record(self.kernel_id(ast), target, ast, ren)
      if values := self.var_vals.get(ast.key): record["var_vals"] = values
      self.write("kernel", record, settings, self.metadata.get(ast.key))
    return self.kernel_ids.get(identity)

  def record_schedule(self, sink: Node, make_schedule: Function) -> Any:
    """Runs make_schedule(sink), and records a new schedule. Returns the result of make_schedule, or the exception that
    it raised; raises the exception if the graph has custom kernels."""
    from tinygrad.engine import schedule
    settings, cached = self.own_settings(), len(schedule.schedule_cache)
    printable = without_custom_kernels(sink)
    if printable is sink:
      with self.origins.running_phase("schedules"): record, result = schedule_record("", sink, make_schedule)
    else:
      with self.origins.running_phase("schedules"): result = make_schedule(sink)
      if len(schedule.schedule_cache) == cached: return result
      with replaced_attribute(schedule, "schedule_cache", {}): record, _ = schedule_record("", printable, make_schedule)
    if not isinstance(result, Exception):
      self.metadata |= {item.ast.key: made_by for item in result[1] if (made_by := metadata_of(item.ast) or metadata_list(item.metadata))}
    if record is not None:
      record["id"] = self.schedule_id()
      if not isinstance(result, Exception):
        for kernel, item in zip(record["kernels"], result[1]):
          self.note_kernel(kernel, item.ast, {**result[2], **item.fixedvars})
      self.write("tensor", record, settings)
    return result

  def record_sink(self, sink: Node) -> None:
    from tinygrad.device import Device
    from tinygrad.engine import schedule
    from tinygrad.uop.ops import Ops
    self.busy = True
    try:
      with replaced_attribute(schedule, "schedule_cache", {}):
        result = self.record_schedule(sink, schedule.complete_create_schedule_with_vars)
      if isinstance(result, Exception): raise result
      for item in result[1]:
        if item.ast.op is Ops.SINK: self.record_kernel(item.ast, Device[item.bufs[0].device].renderer)
    finally: self.busy = False

  def replay_kernel(self, name: str, target: str, ast: Node, settings: Settings, metadata: Any) -> None:
    self.write("kernel", kernel_record(name, target, ast, self.renderer_of(target)), settings, metadata)

  def replay_schedule(self, name: str, what: str, sink: Node, settings: Settings) -> None:
    record = replayed_schedule(name, sink)
    if record is not None: self.write("tensor", record, settings)

  def watch(self) -> None:
    """Replaces tinygrad's functions. The BEAM search keeps the original get_program, because its candidates are not
    kernels of the program."""
    from tinygrad import codegen
    from tinygrad.engine import schedule
    self.note_settings()
    watch_metadata()
    self.origins.watch()
    get_program, complete = codegen.get_program, schedule.complete_create_schedule_with_vars

    def watched_get_program(ast: Node, renderer: Any, opts: Any = None) -> Any:
      with self.lock: return self.get_program(get_program, ast, renderer, opts)

    def watched_complete(sink: Node) -> Any:
      with self.lock: return self.complete_schedule(complete, sink)

    replace_everywhere(get_program, watched_get_program)
    replace_everywhere(complete, watched_complete)
    if self.save_inputs: self.arrays.watch()
    call_on_import("tinygrad.codegen.opt.search", lambda search: set_attribute(search, "get_program", get_program))
    call_on_import("tinygrad.nn.onnx", watch_onnx)

  def get_program(self, original: Function, ast: Node, renderer: Any, opts: Any) -> Any:
    from tinygrad.helpers import BEAM
    from tinygrad.uop.ops import KernelInfo, Ops
    if self.busy or ast.op is Ops.PROGRAM: return original(ast, renderer, opts)
    searching = BEAM >= 1 and opts is None and ast.tag is None and (ast.arg is None or ast.arg.opts_to_apply is None)
    kernel_id = None
    def record(opts: Any) -> None:
      nonlocal kernel_id
      kernel = ast if opts is None else ast.replace(arg=KernelInfo(opts_to_apply=tuple(opts)))
      try: kernel_id = self.record_kernel(kernel, renderer)
      except Exception: self.report_failure("kernel")
    self.busy = True
    try:
      if not searching: record(opts)
      made = original(ast, renderer, opts)
      # A search may end differently each time, so the kernel is recorded with the opts that this search found.
      if searching and ast.arg is None: record(made.applied_opts)
      self.arrays.programs.setdefault((made.name, made.src), (kernel_id, made))
      return made
    finally: self.busy = False

  def complete_schedule(self, original: Function, sink: Node) -> Any:
    if self.busy: return original(sink)
    result = None
    def make_schedule(sink: Node) -> Any:
      nonlocal result
      result = original(sink)
      return result
    self.busy = True
    try:
      try: outcome = self.record_schedule(sink, make_schedule)
      except Exception:
        self.report_failure("schedule")
        outcome = original(sink) if result is None else result
    finally: self.busy = False
    if isinstance(outcome, Exception): raise outcome
    return outcome
