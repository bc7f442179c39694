#!/usr/bin/env python3
"""tinygrad 0.12.0 itself behind the protocol of `tgc conform`: the stages of kernels, each run on the graph that is
asked about. It conforms to its own records, and shows what a question's JSON is in tinygrad's objects.

  tgc conform kernels.jsonl.gz --with='python scripts/conform_tinygrad.py'
"""
import json, pathlib, sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.setrecursionlimit(20000)
from tgc_export.records import make_renderer, replaced, replay_names, text_of  # noqa: E402
import tinygrad.codegen as codegen  # noqa: E402
from tinygrad.codegen.opt.postrange import Scheduler  # noqa: E402
from tinygrad.helpers import Context  # noqa: E402
from tinygrad.uop.ops import KernelInfo, Ops, UOp  # noqa: E402

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


def graph_of(nodes):
  made = []
  for n in nodes:
    dtype = eval(n["dtype"], NAMES)
    made.append(UOp(Ops[n["op"]], dtype, tuple(made[s] for s in n.get("src", ())), value(n.get("arg"), made), value(n.get("tag"), made)))
  return made[-1]


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


def stage_of(question):
  """What tinygrad makes of the question's graph; None: nothing, it has no such stage there."""
  if not question["target"]: return None
  target = question["target"]
  if target not in RENDERERS: RENDERERS[target] = make_renderer(target)
  sink = graph_of(question["graph"]["nodes"])
  if sink.arg is None: sink = sink.replace(arg=KernelInfo())
  with Context(**{k: int(v) for k, v in question["settings"].items() if v.lstrip("-").isdigit()}):
    return run_stage(question["stage"], sink, RENDERERS[target])


def reply_with(graph): return {"not_supported": True} if graph is None else {"graph": text_of(graph)}


def answer_all(answer):
  for line in sys.stdin:
    try: reply = answer(json.loads(line))
    except Exception as e: reply = {"error": repr(e)}
    print(json.dumps(reply), flush=True)


if __name__ == "__main__": answer_all(lambda question: reply_with(stage_of(question)))
