"""Records what a program compiles with any tinygrad from 0.11 on: every rewrite of a graph by its name, with the graph
that it left, as JSON. It stands at graph_rewrite and at the functions that begin a kernel or a schedule, and knows no
stage by its name; what only one release has is in the tables below."""
import contextlib, importlib, io, os, sys, threading

from tgc_export.graphs import graph_text
from tgc_export.jit import JitWatch
from tgc_export.matches import noting_rewrite, recorded
from tgc_export.records import metadata_list, target_of
from tgc_export.recorder import Recorder, lines_of_program, on_import, watch_metadata

# Where kernels and schedules begin, in each release that has it: (module, function).
KERNELS = [("tinygrad.codegen", "do_to_program"), ("tinygrad.codegen", "get_program"),
           ("tinygrad.engine.realize", "get_program")]
SCHEDULES = [("tinygrad.callify", "transform_to_call"), ("tinygrad.tensor", "transform_to_call"),
             ("tinygrad.schedule", "create_linear_with_vars"),
             ("tinygrad.engine.schedule", "complete_create_schedule_with_vars"),
             ("tinygrad.schedule.kernelize", "get_kernelize_map"), ("tinygrad.schedule.rangeify", "get_rangeify_map")]
# What a rule of a schedule's calls, and whose rewrites are stages too.
INNER = [("tinygrad.schedule.rangeify", "get_kernel_graph")]
# Rewrites that answer a question and make no stage.
QUESTIONS = {"simplify", "reshape", "pad", "shrink", "minimum_valid", "valid", "process UPat", "compile UPat", "contiguous_view_offset", "swap remove tags"}
# Settings that change nothing of what is made.
QUIET = {"DEBUG", "VIZ", "PROFILE", "PROFILE_VALUE", "TRACEMETA", "SPEC", "CHECK_OOB", "IGNORE_OOB", "CAPTURING", "TRACK_MATCH_STATS",
         "REWRITE_STACK_LIMIT", "PROCESS_REPLAY", "CAPTURE_PROCESS_REPLAY", "CACHELEVEL", "CCACHE", "DEV", "BEAM", "JIT",
         "JITBEAM", "PARALLEL", "SCACHE", "ALLOW_DEVICE_USAGE", "PICKLE_BUFFERS", "LOG", "NO_COLOR"}


class Scope:
  """A kernel or a schedule while it is made: the graphs that its rewrites leave, in order."""

  def __init__(self, producer, root, letters):
    self.producer, self.letters, self.depth, self.last, self.stages = producer, letters, 0, root, []
    self.matches = []

  def add(self, name, graph):
    same = graph is self.last
    stage = {"name": name, "same": True} if same else {"name": name, "ir": graph_text(graph, self.producer)}
    if self.letters and not same: stage["letters"] = printed(graph)
    self.stages.append(stage)
    self.last = graph


def printed(graph):
  """What tinygrad's own pyrender prints; None where it fails."""
  from tinygrad.uop import ops
  try: return (getattr(ops, "pyrender", None) or importlib.import_module("tinygrad.uop.render").pyrender)(graph)
  except Exception: return None


class AnyRecorder(Recorder):
  """`options`: as Recorder's, and rewrites: whether every match is kept."""

  def __init__(self, options, is_child=False):
    super().__init__(options, is_child)
    self.letters, self.tracks = options.get("letters", False), options.get("rewrites", False)
    self.version, self.here = options["version"], threading.local()
    self.producer = f"tinygrad {self.version}"
    self.writer.producer, self.names = self.producer, {}  # of the watched functions

  # -- settings: the release's own

  def context_vars(self):
    from tinygrad.helpers import ContextVar
    return {k: v for k, v in ContextVar._cache.items() if k not in QUIET}

  def note_settings(self):
    known = self.context_vars()
    self.usual_vars = {k: v.value for k, v in known.items()}
    self.usual = {k: os.environ[k] for k in known if os.environ.get(k, "") != ""}

  def own_settings(self):
    now = {k: v.value for k, v in self.context_vars().items()}
    return {k: str(value) for k, value in now.items() if value != self.usual_vars.get(k, value)}

  # -- tinygrad's functions, watched

  def watch(self):
    import tinygrad.uop.ops as ops
    self.note_settings()
    rewrite = ops.graph_rewrite
    self.replace_everywhere(rewrite, self.watched_rewrite(rewrite))
    if self.version.startswith("0.11"):  # whose schedules are made by rewrites that tell what became of each node
      rewrite_map = ops.graph_rewrite_map
      self.replace_everywhere(rewrite_map, self.watched_rewrite(rewrite_map, lambda made, sink: made[sink]))
    if self.version.startswith("0.12"): watch_metadata()
    if self.tracks: ops.PatternMatcher.rewrite = noting_rewrite(self.note_match)
    for table, record in ((KERNELS, self.kernel), (SCHEDULES, self.schedule), (INNER, self.inner)):
      for module, name in table:
        on_import(module, lambda m, name=name, record=record: self.watch_function(m, name, record))
    JitWatch(self).watch()

  @staticmethod
  def replace_everywhere(old, new):
    for module in [m for name, m in sys.modules.items() if name.split(".")[0] == "tinygrad" and m is not None]:
      for name, value in list(vars(module).items()):
        if value is old: setattr(module, name, new)

  def watch_function(self, module, name, record):
    function = vars(module).get(name)
    if function is None or getattr(function, "tgc", False): return
    def watched(*args, **kwargs): return record(function, *args, **kwargs)
    watched.tgc, self.names[function] = True, name
    self.replace_everywhere(function, watched)

  def watched_rewrite(self, rewrite, graph_of=lambda made, sink: made):
    def call(sink, *args, **kwargs):
      scope = getattr(self.here, "scope", None)
      if scope is None: return rewrite(sink, *args, **kwargs)
      scope.depth += 1
      try: result = rewrite(sink, *args, **kwargs)
      finally: scope.depth -= 1
      name = kwargs.get("name") or ""
      if scope.depth == 0 and name and name not in QUESTIONS and not name.startswith("View"):
        try: scope.add(name, graph_of(result, sink))
        except Exception: self.failed(f"graph after '{name}'")
      return result
    return call

  def note_match(self, place, before, after):
    scope = getattr(self.here, "scope", None)
    if scope is not None: scope.matches.append((len(scope.stages), place, before, after))

  @contextlib.contextmanager
  def begun(self, root):
    outer = getattr(self.here, "scope", None)
    self.here.scope = scope = Scope(self.producer, root, self.letters)
    try: yield scope
    finally: self.here.scope = outer

  # -- kernels

  def kernel(self, function, ast, renderer=None, *args, **kwargs):
    if ast.op.name == "PROGRAM": return function(ast, renderer, *args, **kwargs)
    result, error = None, None
    with self.begun(ast) as scope:
      try: result = function(ast, renderer, *args, **kwargs)
      except Exception as e: error = e
    with self.lock:
      try: self.keep_kernel(scope, ast, renderer, result, error)
      except Exception: self.failed("kernel")
    if error is not None: raise error
    return result

  def keep_kernel(self, scope, ast, renderer, result, error):
    settings, target = self.own_settings(), self.target_of(renderer)
    key = ast.key, repr(ast.arg), target, tuple(settings.items())
    if key in self.known: return
    self.known.add(key)
    same = key[:2]
    if same not in self.ids: self.ids[same] = f"{self.name()}.{len(self.ids)}"
    record = {"id": self.ids[same], "target": target, "nodes": len(ast.toposort()), "ast": graph_text(ast, self.producer)}
    if error is not None: record["error"] = repr(error)
    else: record |= self.program_of(result)
    record["stages"] = scope.stages
    if scope.matches: record["rewrites"] = recorded(scope.matches)
    if callers := lines_of_program(): record["asked_by"] = callers
    named = [{"name": "kernel", "caller": callers[0]}] if callers else None
    self.write("kernel", record, settings, self.metadata.get(ast.key) or named)

  @staticmethod
  def target_of(renderer):
    target = getattr(renderer, "target", None)
    arch = getattr(target, "arch", "") or getattr(renderer, "arch", "")
    if target is None: return target_of(renderer)
    class Named: pass
    named = type(type(renderer).__name__, (Named,), {"__module__": type(renderer).__module__})()
    named.device, named.arch = target.device, arch if isinstance(arch, str) and target.device not in ("CPU",) else None
    return target_of(named).rstrip(":")

  def program_of(self, result):
    """Source, listing and launch facts: of a PROGRAM node, or of a ProgramSpec before 0.13."""
    def text(x): return x.render() if hasattr(x, "render") else str(x)
    def sizes(s): return None if s is None else [x if isinstance(x, int) else text(x) for x in s]
    if not hasattr(result, "toposort"):
      uops, facts, info, source = result.uops, result, result, result.src
      estimates, opts = getattr(result, "estimates", None), getattr(result, "applied_opts", None)
    else:
      parts = {s.op.name: s for s in result.src}
      sink, facts = parts["SINK"], result.arg
      uops = list(parts["LINEAR"].src) if "LINEAR" in parts else None
      source = parts["SOURCE"].arg if "SOURCE" in parts else None
      estimates, opts = getattr(sink.arg, "estimates", None), getattr(sink.arg, "applied_opts", None)
    record = {}
    if source is not None: record["source"] = source
    if uops:
      from tinygrad.uop import ops
      printer = getattr(ops, "print_uops", None) or importlib.import_module("tinygrad.uop.render").print_uops
      listing = io.StringIO()
      with contextlib.suppress(Exception), contextlib.redirect_stdout(listing): printer(uops)
      record["linear"] = listing.getvalue()
    record["program"] = {
        "name": facts.name, "function_name": facts.function_name, "global_size": sizes(facts.global_size),
        "local_size": sizes(facts.local_size), "vars": [str(getattr(v, "expr", v)) for v in facts.vars],
        "globals": list(facts.globals), "outs": list(facts.outs), "ins": list(facts.ins), "applied_opts": str(opts or ()),
        **{k: text(getattr(estimates, k, "")) for k in ("ops", "lds", "mem")}}
    return record

  # -- schedules

  def inner(self, function, *args, **kwargs):
    scope = getattr(self.here, "scope", None)
    if scope is None: return function(*args, **kwargs)
    depth, scope.depth = scope.depth, 0
    try: return function(*args, **kwargs)
    finally: scope.depth = depth

  def schedule(self, function, sink, *args, **kwargs):
    if not hasattr(sink, "toposort"): return function(sink, *args, **kwargs)
    result, error = None, None
    with self.begun(sink) as scope:
      try: result = function(sink, *args, **kwargs)
      except Exception as e: error = e
    with self.lock:
      try: self.keep_schedule(scope, sink, self.names[function], result, error)
      except Exception: self.failed("schedule")
    if error is not None: raise error
    return result

  def keep_schedule(self, scope, sink, what, result, error):
    if len(scope.stages) < 2 and error is None: return
    record = {"id": f"{self.name()}.{self.schedules}", "what": what, "device": self.device_of(sink),
              "nodes": len(sink.toposort()), "ast": graph_text(sink, self.producer), "stages": scope.stages}
    self.schedules += 1
    if callers := lines_of_program(): record["asked_by"] = callers
    if error is not None: record["error"] = repr(error)
    else: record["kernels"] = self.kernels_of(scope, result)
    if scope.matches: record["rewrites"] = recorded(scope.matches)
    self.write("tensor", record, self.own_settings())

  @staticmethod
  def device_of(sink):
    for u in sink.toposort():
      device = u.arg if u.op.name == "DEVICE" else getattr(u.arg, "device", None)
      if device: return (device if isinstance(device, str) else device[0]).split(":")[0]
    return ""

  def kernels_of(self, scope, result):
    """The kernels in order with their buffers, numbered by first use."""
    numbers, out = {}, []
    def use(base, offset, size, dtype):
      return {"base": numbers.setdefault(base, len(numbers)), "offset": offset, "size": int(size), "dtype": str(dtype)}
    linear = result[0] if isinstance(result, tuple) and result else result
    if getattr(getattr(linear, "op", None), "name", "") == "LINEAR":
      if not linear.src and getattr(scope.last.op, "name", "") == "LINEAR": linear = scope.last  # the JIT took it
      for call in linear.src:
        if not call.src: continue
        bufs = []
        for b in call.src[1:]:
          with contextlib.suppress(Exception):
            base = b
            while base.src and base.op.name not in ("BUFFER", "PARAM"): base = base.src[0]
            bufs.append(use(base, 0, b.max_numel() if hasattr(b, "max_numel") else b.size, b.dtype))
        item = {"ast": graph_text(call.src[0], self.producer), "bufs": bufs}
        info = metadata_list(getattr(call, "metadata", None))
        if info:
          item["metadata"] = info
          self.metadata[call.src[0].key] = info
        out.append(item)
      return out
    items = next((part for part in (result if isinstance(result, tuple) else ()) if isinstance(part, list)), [])
    for item in items:
      if not hasattr(item, "ast"): continue
      bufs = [use(id(b.base), b.offset, b.size, b.dtype) for b in item.bufs if b is not None]
      info = metadata_list(item.metadata)
      if info: self.metadata[item.ast.key] = info
      out.append({"ast": graph_text(item.ast, self.producer), "bufs": bufs, "metadata": info})
    return out
