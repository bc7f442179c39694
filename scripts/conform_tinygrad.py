#!/usr/bin/env python3
"""tinygrad 0.12.0 itself behind the protocol of `tgc conform`: the stages of kernels, each run on the graph that is
asked about, the linear list of the last one and its source. It conforms to its own records, and shows what a question's
JSON is in tinygrad's objects.

  tgc conform kernels.jsonl.gz --with='python scripts/conform_tinygrad.py'
"""
import contextlib, io, json, pathlib, sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.setrecursionlimit(20000)
from tgc_export.records import make_renderer, replaced, replay_names, text_of  # noqa: E402
import tinygrad.codegen as codegen  # noqa: E402
from tinygrad.codegen.opt.postrange import Scheduler  # noqa: E402
from tinygrad.helpers import Context  # noqa: E402
from tinygrad.uop.ops import KernelInfo, Ops, UOp, print_uops  # noqa: E402

NAMES, RENDERERS = replay_names(), {}


class Done(Exception): pass


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
          replaced(codegen, "apply_opts", stage(codegen.apply_opts, "apply opts")), Context(DEBUG=0, BEAM=0, SPEC=0)):
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
  if target not in RENDERERS: RENDERERS[target] = make_renderer(target)
  nodes = nodes_of(question["graph"])
  with Context(**{k: int(v) for k, v in question["settings"].items() if v.lstrip("-").isdigit()}):
    if stage == "source": return RENDERERS[target].render([nodes[i] for i in question["graph"]["list"]])
    sink = nodes[-1] if nodes[-1].arg is not None else nodes[-1].replace(arg=KernelInfo())
    return linear_list(sink) if stage == "linear" else run_stage(stage, sink, RENDERERS[target])


def reply_with(made):
  if made is None: return {"not_supported": True}
  if isinstance(made, str): return {"source": made}
  return {"graph": listing(made) if isinstance(made, list) else text_of(made)}


def answer_all(answer):
  for line in sys.stdin:
    try: reply = answer(json.loads(line))
    except Exception as e: reply = {"error": repr(e)}
    print(json.dumps(reply), flush=True)


if __name__ == "__main__": answer_all(lambda question: reply_with(stage_of(question)))
