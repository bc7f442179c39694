"""tinygrad 0.12.0 asked about graphs, a line of JSON a question, a line an answer: the protocols of `tgc conform`
(lib/conformance/README.md) and of lib/live/README.md. A question without a stage asks for all that tinygrad makes of a kernel: {"record": ...}, the
golden record of it. Its "after" names the stages that the graph has been through, which are passed over; "until" the
last one that is wanted; "texts" what tgc has after each: the first that is another one is the last that is wanted, and
every match of a rule in it is recorded, too. Of "level": "tensor" the graph is one of tensors: the record of its
schedule."""
import contextlib, io, json, os, resource, sys

import tinygrad.codegen as codegen
import tinygrad.helpers as helpers
from tinygrad.codegen.opt.postrange import Scheduler
from tinygrad.uop.ops import KernelInfo, Ops, PatternMatcher, UOp, print_uops

from tgc_export.matches import noting_rewrite, recorded
from tgc_export.records import Stops, kernel_record, make_renderer, replaced, replay_names, replayed_schedule, text_of

NAMES, RENDERERS = replay_names(), {}
MOST_SECONDS = 30  # of the processor for a record; whoever asks waits for a minute
READ_ONCE = {"ALLOW_HALF8"}  # by tinygrad, when it is imported


class Done(Exception): pass


# ---- the question

def value(a, nodes):
  """An arg of tgc's JSON as tinygrad's object."""
  if isinstance(a, list): return tuple(value(x, nodes) for x in a)
  if not isinstance(a, dict): return a
  (kind, of), = a.items()
  if kind == "uop": return nodes[of]
  if kind in ("value", "raw"): return eval(of, NAMES)
  if kind == "float": return float(of)
  if kind == "bytes": return bytes.fromhex(of)
  return NAMES[kind](**{k: value(v, nodes) for k, v in of.items()})


def nodes_of(graph):
  made = []
  for n in graph["nodes"]:
    dtype = eval(n["dtype"], NAMES)
    made.append(UOp(Ops[n["op"]], dtype, tuple(made[s] for s in n.get("src", ())), value(n.get("arg"), made), value(n.get("tag"), made)))
  return made


@contextlib.contextmanager
def under(settings):
  """The settings of a question: what no Context takes, tinygrad reads from its environment."""
  given = {k: v for k, v in settings.items() if v.lstrip("-").isdigit()}
  in_context = {k: int(v) for k, v in given.items() if k in helpers.ContextVar._cache}
  in_environment = {k: v for k, v in given.items() if k not in in_context}
  for name in READ_ONCE & in_environment.keys():
    if int(in_environment[name]) != int(os.environ.get(name) or 0): raise ValueError(f"{name} cannot be changed")
  before = {k: os.environ.get(k) for k in in_environment}
  def set_environment(values):
    for k, v in values.items():
      if v is None: os.environ.pop(k, None)
      else: os.environ[k] = v
    helpers.getenv.cache_clear()
  set_environment(in_environment)
  try:
    with helpers.Context(**in_context): yield
  finally: set_environment(before)


def renderer_of(target):
  if target not in RENDERERS: RENDERERS[target] = make_renderer(target)
  return RENDERERS[target]


# ---- one stage

def run_stage(name, sink, renderer):
  """The result of one stage: those before it are passed over, and those after it do not run."""
  result = None
  def stage(rewrite, called):
    def call(given, *args, **kwargs):
      nonlocal result
      if (called or kwargs["name"]) != name: return sink
      result = rewrite(sink, *args, **kwargs)
      raise Done
    return call
  Scheduler.kernel_cnt.clear()
  try:
    with (replaced(codegen, "graph_rewrite", stage(codegen.graph_rewrite, None)),
          replaced(codegen, "apply_opts", stage(codegen.apply_opts, "apply opts")),
          helpers.Context(DEBUG=0, BEAM=0, SPEC=0)):
      codegen.full_rewrite_to_sink(sink, renderer, optimize=True)
  except Done: pass
  return result


def linear_list(sink): return codegen.line_rewrite(codegen.linearize(sink), codegen.pm_linearize_cleanups)


def listing(lines):
  out = io.StringIO()
  with contextlib.redirect_stdout(out): print_uops(lines)
  return out.getvalue()


def stage_of(question):
  """What tinygrad makes of the question's graph, or list: a graph, a list, a source. None: it has no such stage there."""
  target, stage = question["target"], question["stage"]
  if not target: return None
  nodes = nodes_of(question["graph"])
  with under(question["settings"]):
    if stage == "source": return renderer_of(target).render([nodes[i] for i in question["graph"]["list"]])
    sink = nodes[-1] if nodes[-1].arg is not None else nodes[-1].replace(arg=KernelInfo())
    return linear_list(sink) if stage == "linear" else run_stage(stage, sink, renderer_of(target))


def reply_with(made):
  if made is None: return {"not_supported": True}
  if isinstance(made, str): return {"source": made}
  return {"graph": listing(made) if isinstance(made, list) else text_of(made)}


# ---- all stages

class NotesMatches(Stops):
  """Notes the matches in the stage that runs."""
  def __init__(self, *args):
    super().__init__(*args)
    self.matches = []
  def begin(self, name): self.matches = []
  def note(self, *match): self.matches.append(match)


def schedule_of(question):
  sink = nodes_of(question["graph"])[-1]
  with under(question["settings"]): return replayed_schedule(question["id"], sink)


def record_of(question):
  if question.get("level") == "tensor": return schedule_of(question)
  sink, target = nodes_of(question["graph"])[-1], question["target"]
  stops = NotesMatches(question.get("after", ()), question.get("until"), question.get("texts", ()))
  with under(question["settings"]), replaced(PatternMatcher, "rewrite", noting_rewrite(stops.note)):
    record = kernel_record(question["id"], target, sink, renderer_of(target), stops)
  if "texts" in question:
    last = len(record["stages"]) - 1
    record["rewrites"] = recorded([(last, *match) for match in stops.matches])
  return record


# ---- questions and answers

def in_child(answer, question, out):
  """Answers in a process of its own. So what tinygrad keeps of a graph has no say in the next one (of 0.0 and -0.0, which
  are equal to it, the first to come stands for both), and what kills it is an answer, too."""
  if question["target"]: renderer_of(question["target"])  # here, so that it is made once
  child = os.fork()
  if child == 0:
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
    try: reply = answer(question)
    except (Exception, SystemExit) as e: reply = {"error": repr(e)}
    print(json.dumps(reply), file=out, flush=True)
    os._exit(0)
  if status := os.waitpid(child, 0)[1]: print(json.dumps({"error": f"tinygrad ended with status {status}"}), file=out, flush=True)


def answer_all(stage_of=stage_of):
  """Until there are no more questions. Standard output is for answers alone: what tinygrad prints is a diagnostic."""
  sys.setrecursionlimit(20000)
  out = os.fdopen(os.dup(1), "w")
  os.dup2(2, 1)
  for line in sys.stdin:
    try:
      question = json.loads(line)
      if "stage" not in question:
        in_child(lambda question: {"record": record_of(question)}, question, out)
        continue
      reply = reply_with(stage_of(question))
    except BrokenPipeError: os._exit(1)  # nobody listens any more
    except (Exception, SystemExit) as e: reply = {"error": repr(e)}
    print(json.dumps(reply), file=out, flush=True)
