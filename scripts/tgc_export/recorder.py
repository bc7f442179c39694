"""Records all that a process compiles: stands between a program and tinygrad's two compilers, get_program and the
scheduler."""
import importlib.util, os, pathlib, struct, sys, threading, traceback

from tgc_export.golden import Writer, add_to_name, save_arrays, say
from tgc_export.records import (kernel_record, make_renderer, metadata_list, replaced, schedule_record, target_of,
                                without_custom_kernels)

# What changes the text of a stage, by tinygrad's names; a record's header says which of them were set.
SETTINGS = """NOOPT IMAGE DEVECTORIZE TRANSCENDENTAL TC TC_SELECT TC_OPT ALLOW_TF32 ALLOW_HALF8 AMX NOLOCALS
  DISABLE_FAST_IDIV CORRECT_DIVMOD_FOLDING UNSAFE_DISABLE_MASK CPU_COUNT THREADS TUPLE_ORDER EXPAND_SSA MV MV_BLOCKSIZE
  MV_THREADS_PER_ROW MV_ROWS_PER_THREAD SPLIT_REDUCEOP REDUCEOP_SPLIT_THRESHOLD REDUCEOP_SPLIT_SIZE PCONTIG
  MAX_KERNEL_BUFFERS RING RING_ALLREDUCE_THRESHOLD ALL2ALL""".split()


def on_import(name, then):
  """Calls then(module) when the module is loaded: now, or when the program imports it."""
  if name in sys.modules: return then(sys.modules[name])
  class Finder:
    @staticmethod
    def find_spec(wanted, path=None, target=None):
      if wanted != name: return None
      sys.meta_path.remove(Finder)
      spec = importlib.util.find_spec(name)
      if spec is None or spec.loader is None: return spec
      load = spec.loader.exec_module
      def load_and_then(module):
        load(module)
        then(module)
      spec.loader.exec_module = load_and_then
      return spec
  sys.meta_path.insert(0, Finder)


# ---- metadata: what a kernel is, in the program's words

class QuietMetadata(tuple):
  """A kernel's metadata as graphs hold it: printed as none, for it is no part of the graph."""
  def __repr__(self): return "()"
  def __reduce__(self): return tuple, (tuple(self),)


class NamedNodes(tuple):
  """The nodes of an ONNX model in order, which note what is running."""
  running, names = None, {}  # the names by id(node)
  def __iter__(self):
    for node in super().__iter__():
      NamedNodes.running = NamedNodes.names.get(id(node))
      yield node
    NamedNodes.running = None


def lines_of_program(most=8):
  """FILE:LINE::FUNCTION of the innermost frames that are not tinygrad's, nor ours, nor Python's own library's."""
  frame, out = sys._getframe(1), []
  while frame and len(out) < most:
    module = (frame.f_globals.get("__name__") or "").split(".")[0]
    if module not in ("tinygrad", "tgc_export", "tinygrad_export") and module not in sys.stdlib_module_names:
      out.append(f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}::{frame.f_code.co_name}")
    frame = frame.f_back
  return out


def line_of_program():
  """The innermost of these; empty when there is none."""
  return next(iter(lines_of_program(1)), "")


def watch_metadata():
  """Has tinygrad note the program's line of each Tensor method, and keeps that out of the text of graphs."""
  import tinygrad.tensor as tensor
  from tinygrad.helpers import Metadata
  from tinygrad.uop.ops import Kernel
  def noted(name, caller, backward=False):
    made = Metadata(name, caller or line_of_program(), backward)
    if NamedNodes.running: object.__setattr__(made, "node", NamedNodes.running)
    return made
  tensor.Metadata = noted
  make = Kernel.__init__
  Kernel.__init__ = lambda self, ast, metadata=(), *rest: make(self, ast, QuietMetadata(metadata), *rest)


def watch_onnx(onnx):
  begin = onnx.OnnxRunner._init_from_graph
  def named(self, graph, *args, **kwargs):
    begin(self, graph, *args, **kwargs)
    NamedNodes.names |= {id(n["parsed_node"]): n.get("name") or ",".join(n["output"]) for n in graph["node"]}
    self.graph_nodes = NamedNodes(self.graph_nodes)
  onnx.OnnxRunner._init_from_graph = named


# ---- the recorder

class Recorder:
  """What one process records. `options`: output (a path), targets (empty: what the program uses), id (of the
  records), save_inputs."""

  def __init__(self, options, is_child=False):
    self.targets, self.prefix, self.save_inputs = options["targets"], options["id"], options["save_inputs"]
    self.output = pathlib.Path(options["output"])
    self.writer, self.lock, self.busy = Writer(self.output, is_child), threading.RLock(), False
    self.renderers = {}    # by target
    self.known = set()     # what is recorded
    self.ids = {}          # of kernels, by what makes them the same
    self.metadata = {}     # of kernels, by the key of their graph
    self.of_source = {}    # ids by a program's name and source
    self.saved = set()     # ids of kernels whose arrays are kept
    self.schedules = self.failures = 0
    self.usual, self.usual_vars = {}, {}
    os.register_at_fork(after_in_child=self.forked)

  def forked(self):
    self.lock, self.busy = threading.RLock(), False
    self.writer.forked()
    self.ids, self.schedules, self.failures = {}, 0, 0

  # -- settings

  def context_vars(self):
    from tinygrad.helpers import ContextVar
    return {k: ContextVar._cache[k] for k in SETTINGS if k in ContextVar._cache}

  def note_settings(self):
    """What the header says: the settings of the environment that tinygrad came up with."""
    self.usual_vars = {k: v.value for k, v in self.context_vars().items()}
    self.usual = {k: os.environ[k] for k in SETTINGS if os.environ.get(k, "") != ""}
    self.usual["CPU_COUNT"] = str(self.usual_vars["CPU_COUNT"])  # the kernels of a CPU depend on it, set or not

  def own_settings(self):
    """What the program changed since, by a Context or in its environment."""
    changed = {k: os.environ.get(k) or None for k in SETTINGS
               if k not in self.usual_vars and os.environ.get(k, "") != self.usual.get(k, "")}
    now = {k: v.value for k, v in self.context_vars().items()}
    return changed | {k: str(value) for k, value in now.items() if value != self.usual_vars.get(k, value)}

  # -- records

  def write(self, level, record, settings, metadata=None):
    record |= ({"settings": settings} if settings else {}) | ({"metadata": metadata} if metadata else {})
    self.writer.write(level, self.usual, record)

  def name(self):
    """What the records of this process are called; where the program started it, with the number of its part."""
    if self.writer.is_child and not self.writer.part: self.writer.claim_part(self.usual)
    return self.prefix + (f".p{self.writer.part}" if self.writer.part else "")

  def failed(self, what):
    """No failure of ours may reach the program: the first is shown, all are counted."""
    self.failures += 1
    if self.failures == 1: say(f"a {what} could not be recorded:\n" + traceback.format_exc())

  def record_kernel(self, ast, renderer):
    """Records the kernel for each target, unless that was done before; returns its id."""
    settings = self.own_settings()
    same = ast.key, repr(ast.arg), repr(ast.tag)  # it has one id for all targets and settings
    for target in self.targets:
      if target not in self.renderers: self.renderers[target] = make_renderer(target)
    for target, ren in (self.renderers or {target_of(renderer): renderer}).items():
      key = (*same, target, tuple(settings.items()))
      if key in self.known: continue
      self.known.add(key)
      if same not in self.ids: self.ids[same] = f"{self.name()}.{len(self.ids)}"
      self.write("kernel", kernel_record(self.ids[same], target, ast, ren), settings, self.metadata.get(ast.key))
    return self.ids.get(same)

  def record_schedule(self, sink, make_schedule):
    """Runs make_schedule(sink) and records it, unless the schedule cache knew the graph; its result, or the exception
    that it raised."""
    import tinygrad.engine.schedule as schedule
    settings, seen = self.own_settings(), len(schedule.schedule_cache)
    plain = without_custom_kernels(sink)
    if plain is sink:
      record, result = schedule_record("", sink, make_schedule)
    else:
      result = make_schedule(sink)
      if len(schedule.schedule_cache) == seen: return result
      with replaced(schedule, "schedule_cache", {}): record, _ = schedule_record("", plain, make_schedule)
    if not isinstance(result, Exception):
      self.metadata |= {item.ast.key: metadata_list(item.metadata) for item in result[1] if item.metadata}
    if record is not None:
      record["id"] = f"{self.name()}.{self.schedules}"
      self.schedules += 1
      self.write("tensor", record, settings)
    return result

  def save(self, name, what, runner, bufs, numbers, var_vals):
    """Keeps the arrays of these numbers as they are now, and the values of the kernel's variables under their names."""
    try:
      from tinygrad.dtype import dtypes
      folder = self.output.with_name(add_to_name(self.output, "inputs").name.split(".jsonl")[0].removesuffix(".gz"))
      folder.mkdir(exist_ok=True)
      kept = {n: buf for n, buf in zip(runner.p.globals, bufs) if n in numbers and buf.is_allocated()}
      arrays = {f"data{n}": (buf.dtype.base, buf.as_buffer()) for n, buf in kept.items()}
      names = {v.expr for v in runner.p.vars} & (var_vals or {}).keys()
      arrays |= {v: (dtypes.int64, struct.pack("<q", var_vals[v])) for v in names}
      save_arrays(folder / f"{name}.{what}.npz", arrays)
    except Exception: self.failed(f"kernel's {what}put")

  # -- tinygrad's functions, watched

  def watch(self):
    """Once tinygrad is loaded. Modules that are loaded later find the watched functions; but the search its own,
    whose candidates are no kernels of the program."""
    import tinygrad.codegen as codegen, tinygrad.engine.schedule as schedule
    from tinygrad.engine.realize import CompiledRunner
    self.note_settings()
    watch_metadata()
    get_program, complete = codegen.get_program, schedule.complete_create_schedule_with_vars
    run = CompiledRunner.__call__

    def program(ast, renderer, opts=None):
      with self.lock: return self.program(get_program, ast, renderer, opts)

    def scheduled(sink):
      with self.lock: return self.scheduled(complete, sink)

    def call(runner, rawbufs, var_vals=None, wait=False):
      name = self.of_source.get((runner.p.name, runner.p.src)) if self.save_inputs else None
      if name is None or name in self.saved: return run(runner, rawbufs, var_vals, wait=wait)
      self.saved.add(name)
      self.save(name, "in", runner, rawbufs, runner.p.ins, var_vals)
      result = run(runner, rawbufs, var_vals, wait=wait)
      self.save(name, "out", runner, rawbufs, runner.p.outs, {})
      return result

    for module in [m for name, m in sys.modules.items() if name.split(".")[0] == "tinygrad" and m is not None]:
      for name, value in list(module.__dict__.items()):
        if value is get_program: setattr(module, name, program)
        if value is complete: setattr(module, name, scheduled)
    CompiledRunner.__call__ = call
    on_import("tinygrad.codegen.opt.search", lambda search: setattr(search, "get_program", get_program))
    on_import("tinygrad.nn.onnx", watch_onnx)

  def program(self, get_program, ast, renderer, opts):
    from tinygrad.helpers import BEAM
    from tinygrad.uop.ops import KernelInfo, Ops
    if self.busy or ast.op is Ops.PROGRAM: return get_program(ast, renderer, opts)
    searching = BEAM >= 1 and opts is None and ast.tag is None and (ast.arg is None or ast.arg.opts_to_apply is None)
    name = None
    def record(opts):
      nonlocal name
      kernel = ast if opts is None else ast.replace(arg=KernelInfo(opts_to_apply=tuple(opts)))
      try: name = self.record_kernel(kernel, renderer)
      except Exception: self.failed("kernel")
    self.busy = True
    try:
      if not searching: record(opts)
      made = get_program(ast, renderer, opts)
      if searching and ast.arg is None: record(made.applied_opts)  # unlike the search, this has one result
      self.of_source.setdefault((made.name, made.src), name)
      return made
    finally: self.busy = False

  def scheduled(self, complete, sink):
    if self.busy: return complete(sink)
    result = None
    def make(sink):
      nonlocal result
      result = complete(sink)
      return result
    self.busy = True
    try:
      try: outcome = self.record_schedule(sink, make)
      except Exception:
        self.failed("schedule")
        outcome = complete(sink) if result is None else result
    finally: self.busy = False
    if isinstance(outcome, Exception): raise outcome
    return outcome


# The recorder of this process; None where nothing is recorded.
current = None


def begin(options, is_child=False):
  """Records what this process compiles, from the moment that it imports tinygrad."""
  global current
  if options.get("version"):
    from tgc_export.anywhere import AnyRecorder
    current = AnyRecorder(options, is_child)
  else: current = Recorder(options, is_child)
  sys.modules.setdefault("tinygrad_export", sys.modules["tgc_export"])  # for a program that imports tgc_export from it
  sys.setrecursionlimit(max(sys.getrecursionlimit(), 20000))
  on_import("tinygrad", lambda _: current.watch())
  return current


def tgc_export(*tensors, path=None):
  """Records the schedule and the kernels that tensors need, and runs nothing. The file is `path`; where the program
  runs under tinygrad_export.py, that one's."""
  global current
  import tinygrad.engine.schedule as schedule
  from tinygrad.device import Device
  from tinygrad.uop.ops import Ops, UOp
  if current is None:
    if path is None: raise ValueError('tgc_export needs a file: tgc_export(tensor, path="out.jsonl.gz")')
    current = Recorder({"output": str(path), "targets": [], "id": "export", "save_inputs": False})
    current.writer.remove_old()
    current.note_settings()
    watch_metadata()
  with current.lock:
    current.busy = True
    try:
      with replaced(schedule, "schedule_cache", {}):
        sink = UOp.sink(*[t.uop for t in tensors])
        result = current.record_schedule(sink, schedule.complete_create_schedule_with_vars)
      if isinstance(result, Exception): raise result
      for item in result[1]:
        if item.ast.op is Ops.SINK: current.record_kernel(item.ast, Device[item.bufs[0].device].renderer)
    finally: current.busy = False
