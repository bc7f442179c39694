"""Records tinygrad 0.12.0: replaces get_program and the scheduler, and keeps each stage as tinygrad's own printer shows it."""
import os, struct

from tgc_export.golden import SETTINGS, save_arrays, tagged_path
from tgc_export.hooks import call_on_import, replace_everywhere, replaced
from tgc_export.metadata import metadata_list, watch_metadata, watch_onnx
from tgc_export.recorder import Recorder
from tgc_export.records import kernel_record, make_renderer, schedule_record, target_of, without_custom_kernels


class TextRecorder(Recorder):
  def __init__(self, options, is_child=False):
    super().__init__(options, is_child)
    self.renderers = {}      # target: renderer
    self.ids_by_source = {}  # (name, source) of a program: its record id
    self.saved = set()       # ids of the kernels whose arrays are saved

  # -- settings

  def context_vars(self):
    from tinygrad.helpers import ContextVar
    return {k: ContextVar._cache[k] for k in SETTINGS if k in ContextVar._cache}

  def note_settings(self):
    """Takes the settings that tinygrad was loaded with from the environment; they go into the header."""
    self.initial_vars = {k: v.value for k, v in self.context_vars().items()}
    self.header_settings = {k: os.environ[k] for k in SETTINGS if os.environ.get(k, "") != ""}
    self.header_settings["CPU_COUNT"] = str(self.initial_vars["CPU_COUNT"])  # CPU kernels depend on it, set or not

  def own_settings(self):
    """Returns the settings that the program has changed since, by a Context or in its environment."""
    changed = {k: os.environ.get(k) or None for k in SETTINGS
               if k not in self.initial_vars and os.environ.get(k, "") != self.header_settings.get(k, "")}
    return changed | self.changed_vars()

  # -- records

  def renderer_of(self, target):
    if target not in self.renderers: self.renderers[target] = make_renderer(target)
    return self.renderers[target]

  def record_kernel(self, ast, renderer):
    """Records a kernel for each target that has no record of it yet; returns its id."""
    settings = self.own_settings()
    identity = ast.key, repr(ast.arg), repr(ast.tag)
    renderers = {target: self.renderer_of(target) for target in self.targets} or {target_of(renderer): renderer}
    for target, ren in renderers.items():
      key = (*identity, target, tuple(settings.items()))
      if key in self.recorded: continue
      self.recorded.add(key)
      self.write("kernel", kernel_record(self.kernel_id(identity), target, ast, ren), settings, self.metadata.get(ast.key))
    return self.kernel_ids.get(identity)

  def record_schedule(self, sink, make_schedule):
    """Runs make_schedule(sink), and records it unless tinygrad's schedule cache knows the graph. Returns the result of
    make_schedule, or the exception that it raised."""
    import tinygrad.engine.schedule as schedule
    settings, cached = self.own_settings(), len(schedule.schedule_cache)
    printable = without_custom_kernels(sink)
    if printable is sink:
      record, result = schedule_record("", sink, make_schedule)
    else:
      result = make_schedule(sink)
      if len(schedule.schedule_cache) == cached: return result
      with replaced(schedule, "schedule_cache", {}): record, _ = schedule_record("", printable, make_schedule)
    if not isinstance(result, Exception):
      self.metadata |= {item.ast.key: metadata_list(item.metadata) for item in result[1] if item.metadata}
    if record is not None:
      record["id"] = f"{self.id_prefix()}.{self.schedules}"
      self.schedules += 1
      self.write("tensor", record, settings)
    return result

  def record_sink(self, sink):
    """Records the schedule of a tensor graph and its kernels, without running them."""
    import tinygrad.engine.schedule as schedule
    from tinygrad.device import Device
    from tinygrad.uop.ops import Ops
    self.busy = True
    try:
      with replaced(schedule, "schedule_cache", {}):
        result = self.record_schedule(sink, schedule.complete_create_schedule_with_vars)
      if isinstance(result, Exception): raise result
      for item in result[1]:
        if item.ast.op is Ops.SINK: self.record_kernel(item.ast, Device[item.bufs[0].device].renderer)
    finally: self.busy = False

  def save_kernel_arrays(self, kernel_id, direction, runner, bufs, numbers, var_vals):
    """Saves the current contents of the buffers with these numbers, and the values of the kernel's variables.

    `direction` is "in" (before the kernel runs) or "out" (after it).
    """
    try:
      from tinygrad.dtype import dtypes
      folder = self.output.with_name(tagged_path(self.output, "inputs").name.split(".jsonl")[0].removesuffix(".gz"))
      folder.mkdir(exist_ok=True)
      kept = {n: buf for n, buf in zip(runner.p.globals, bufs) if n in numbers and buf.is_allocated()}
      arrays = {f"data{n}": (buf.dtype.base, buf.as_buffer()) for n, buf in kept.items()}
      names = {v.expr for v in runner.p.vars} & (var_vals or {}).keys()
      arrays |= {v: (dtypes.int64, struct.pack("<q", var_vals[v])) for v in names}
      save_arrays(folder / f"{kernel_id}.{direction}.npz", arrays)
    except Exception: self.report_failure(f"kernel's {direction}put")

  # -- tinygrad's functions

  def watch(self):
    """Replaces tinygrad's functions once tinygrad is loaded. Modules that are loaded later import the replacements.
    The search keeps the original get_program, because its candidates are not kernels of the program."""
    import tinygrad.codegen as codegen, tinygrad.engine.schedule as schedule
    from tinygrad.engine.realize import CompiledRunner
    self.note_settings()
    watch_metadata()
    get_program, complete = codegen.get_program, schedule.complete_create_schedule_with_vars
    run = CompiledRunner.__call__

    def watched_get_program(ast, renderer, opts=None):
      with self.lock: return self.get_program(get_program, ast, renderer, opts)

    def watched_complete(sink):
      with self.lock: return self.complete_schedule(complete, sink)

    def watched_run(runner, rawbufs, var_vals=None, wait=False):
      kernel_id = self.ids_by_source.get((runner.p.name, runner.p.src)) if self.save_inputs else None
      if kernel_id is None or kernel_id in self.saved: return run(runner, rawbufs, var_vals, wait=wait)
      self.saved.add(kernel_id)
      self.save_kernel_arrays(kernel_id, "in", runner, rawbufs, runner.p.ins, var_vals)
      result = run(runner, rawbufs, var_vals, wait=wait)
      self.save_kernel_arrays(kernel_id, "out", runner, rawbufs, runner.p.outs, {})
      return result

    replace_everywhere(get_program, watched_get_program)
    replace_everywhere(complete, watched_complete)
    CompiledRunner.__call__ = watched_run
    call_on_import("tinygrad.codegen.opt.search", lambda search: setattr(search, "get_program", get_program))
    call_on_import("tinygrad.nn.onnx", watch_onnx)

  def get_program(self, original, ast, renderer, opts):
    from tinygrad.helpers import BEAM
    from tinygrad.uop.ops import KernelInfo, Ops
    if self.busy or ast.op is Ops.PROGRAM: return original(ast, renderer, opts)
    searching = BEAM >= 1 and opts is None and ast.tag is None and (ast.arg is None or ast.arg.opts_to_apply is None)
    kernel_id = None
    def record(opts):
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
      self.ids_by_source.setdefault((made.name, made.src), kernel_id)
      return made
    finally: self.busy = False

  def complete_schedule(self, original, sink):
    if self.busy: return original(sink)
    result = None
    def make_schedule(sink):
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
