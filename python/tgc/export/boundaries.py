"""Notes why a scheduler stores a value between two kernels, for `tgc dump --stage=schedule --why`.

Rules and run_rangeify() add the values to store to a table, IndexingContext.realize_map. Most of them become STAGEs
(before 0.13: BUFFERIZEs). Later stages remove STAGEs whose value is cheap, or add some; those that remain become
buffers. A reason is noted when a value is added to the table; pass_reason_on() passes it on to the STAGE and the
BUFFER.
"""
from __future__ import annotations

import ast
import functools
import inspect
import sys
import textwrap
import types
from typing import Any, cast

from tgc.export.hooks import call_on_import, set_attribute
from tgc.export.kinds import JSON, Node
from tgc.export.metadata import metadata_list
from tgc.export.origins import ORIGIN, origins_of

REASON, ADDED_FOR, ASKED_FOR, PLANNED = "_tgc_reason", "_tgc_added_for", "_tgc_asked_for", "_tgc_planned"
STAGES = {"STAGE", "BUFFERIZE"}
VIEWS = {"RESHAPE", "EXPAND", "PERMUTE", "SHRINK", "CAST", "BITCAST", "INDEX", "NOOP"}  # ops that may lie between a stored value and its buffer
MEMORY = {"PARAM", "BUFFER", "AFTER", "MSTACK", "STAGE", "BUFFERIZE"}


@functools.cache
def enclosing_conditions(code: types.CodeType, line: int) -> str:
  """Returns the conditions of the if statements whose bodies contain a line of a function; "" if its source is not
  found.
  """
  try: tree = ast.parse(textwrap.dedent(inspect.getsource(code)))
  except (OSError, SyntaxError, TypeError): return ""
  at = line - code.co_firstlineno + 1
  return " and ".join(ast.unparse(e.test) for e in ast.walk(tree) if isinstance(e, ast.If) and e.body[0].lineno <= at <= (e.body[-1].end_lineno or 0))


def node_description(node: Node) -> str:
  try: shape = f" {tuple(int(s) if isinstance(s, int) else s.render() for s in node.shape)}"
  except Exception: shape = ""
  op = getattr(getattr(node.arg, "__getitem__", lambda _: None)(0), "name", "") if isinstance(node.arg, tuple) and node.arg else ""
  return f"Ops.{node.op.name} {node.dtype}" + (f" Ops.{op}" if op else "") + shape


def reason_here(frame: types.FrameType, node: Node) -> JSON:
  code = frame.f_code
  out: JSON = {"at": f"{code.co_filename.replace(chr(92), '/').split('/tinygrad/')[-1]}:{frame.f_lineno}"}
  if code.co_name == "run_rangeify":
    test = enclosing_conditions(code, frame.f_lineno)
    return out | {"why": "loops" if "ending_ranges" in test else "users" if "consumer_rngs" in test else "other"}
  # In a rule, the first argument that is a node is the one that matched, or the destination (`dest`) of a STORE.
  nodes = [v for n, v in frame.f_locals.items() if n in code.co_varnames[:code.co_argcount] and hasattr(v, "op")]
  if nodes and nodes[0] is not node:
    if "dest" in frame.f_locals: return out | {"why": "hazard"}
    return out | {"why": "source", "by": nodes[0].op.name}
  return out | {"why": "own"}


class RealizeMap(dict[Any, Any]):

  def __init__(self) -> None:
    super().__init__()
    self.reasons: dict[Any, list[JSON]] = {}

  def __setitem__(self, node: Any, axes: Any) -> None:
    is_known = node in self and self[node] is None  # run_rangeify() sets the axes of a node that is in the table
    super().__setitem__(node, axes)
    if is_known: return
    found = self.reasons.setdefault(node, [])
    try: found.append(reason_here(sys._getframe(1), node))
    except Exception: found.append({"why": "other"})
    node.__dict__[REASON] = found


def watch() -> None: call_on_import("tinygrad.schedule.indexing", install_realize_map)


def install_realize_map(module: Any) -> None:
  context = getattr(module, "IndexingContext", None)
  if context is None: return
  init = context.__init__
  def noted_init(self: Any, *args: Any, **kwargs: Any) -> None:
    init(self, *args, **kwargs)
    if type(self.realize_map) is dict and not self.realize_map: self.realize_map = RealizeMap()
  set_attribute(context, "__init__", noted_init)


def stage_cost(value: Node) -> JSON:
  """Returns what the scheduler weighs before it removes a STAGE: the number of buffers that its value reads, and
  whether a reduction in the value reads from memory."""
  buffers: set[Any] = set()
  reduces: list[Any] = []
  seen: set[Any] = set()
  stack = [value]
  while stack:
    u = stack.pop()
    if u in seen: continue
    seen.add(u)
    if u.op.name in MEMORY:
      buffers.add(u.src[0] if u.op.name == "AFTER" else u)
      continue
    if u.op.name == "STORE": continue
    if u.op.name in ("REDUCE", "REDUCE_AXIS"): reduces.append(u)
    stack += u.src
  reads = any(x.op.name in MEMORY for r in reduces for x in r.src[0].toposort())
  return ({"buffers": len(buffers)} if buffers else {}) | ({"reduces": True} if reads else {})



FOLLOWED = {"STAGE", "BUFFERIZE", "COPY", "BUFFER", "CONTIGUOUS", "STORE", "ASSIGN", "REDUCE", "REDUCE_AXIS"}


def pass_reason_on(node: Node, new: Node, rewrite: str) -> None:
  """Passes the reason of a node on to what a rewrite, named `rewrite`, puts in its place."""
  name = node.op.name
  if name in ("CONTIGUOUS", "STORE", "ASSIGN", "REDUCE", "REDUCE_AXIS"): return follow_contiguous(node, new)
  found = node.__dict__.get(REASON)
  if name == "BUFFER":  # the memory plan may give one buffer to several values
    values = node.__dict__.get(PLANNED) or ([found] if isinstance(found, dict) else [])
    if not values or new is node: return
    planned = new.__dict__.setdefault(PLANNED, [])
    planned += [v for v in values if not any(v is p for p in planned)]
    return
  if name in STAGES and not isinstance(found, dict):
    value = node.src[0]
    reasons = value.__dict__.get(REASON)
    if not isinstance(reasons, list): reasons = [{"why": "limit" if rewrite == "limit buffers" else "other"}]
    found = origin_of_value(value) | {"reasons": reasons}
    if (added_for := value.__dict__.get(ADDED_FOR)) is not None: found["added_for"] = added_for
  elif name == "COPY":
    follow_contiguous(node, new)
    found = origin_of_value(node) | {"reasons": [{"why": "own"}]}
  if not isinstance(found, dict): return
  if (memory := stored_buffer(new)) is not None: memory.__dict__[REASON] = found | stage_cost(node.src[0]) if name in STAGES else found
  elif node_below_views(new).op.name in STAGES: node_below_views(new).__dict__[REASON] = found


def node_below_views(node: Node) -> Node:
  while node.op.name in VIEWS and node.src: node = node.src[0]
  return node


def stored_buffer(node: Node) -> Node | None:
  """Returns the buffer of an AFTER that is the node or lies below its VIEWS; None if there is none."""
  node = node_below_views(node)
  return node_below_views(node.src[0]) if node.op.name == "AFTER" else None


def note_requested_contiguous(sink: Node) -> None:
  """Notes the CONTIGUOUS nodes of a program, except the outputs of its tensor graph, which are stored anyway."""
  outputs = {s.base for s in sink.src}
  for u in sink.toposort():
    if u.op.name == "CONTIGUOUS" and u not in outputs: u.__dict__[ASKED_FOR] = True


def follow_contiguous(node: Node, new: Node) -> None:
  """Passes the notes of a rewritten CONTIGUOUS on. For other nodes, notes for which op a rule adds a CONTIGUOUS."""
  name = node.op.name
  if name == "CONTIGUOUS":
    if ADDED_FOR in node.__dict__: new.__dict__[ADDED_FOR] = node.__dict__[ADDED_FOR]
    if ASKED_FOR not in node.__dict__: return
    new.__dict__[ASKED_FOR] = True
    if (memory := stored_buffer(new)) is not None:
      memory.__dict__[REASON] = origin_of_value(node) | {"reasons": [{"why": "own"}]}
    return
  if new is node or not node.src: return
  before, after = node.src[-1], new
  if name.startswith("REDUCE"):
    before = node.src[0]
    while after.op.name in VIEWS or after.op.name.startswith("REDUCE"): after = after.src[0]
  else: after = new.src[-1] if new.src else new
  before, after = node_below_views(before), node_below_views(after)
  if after.op.name == "CONTIGUOUS" and before.op.name != "CONTIGUOUS": after.__dict__.setdefault(ADDED_FOR, name)


def origin_of_value(value: Node) -> JSON:
  made_by = value.__dict__.get(ORIGIN) or ()
  return {"node": node_description(value)} | ({"made_by": metadata_list(made_by[:1])} if made_by else {})


def reason_of(buffer: Node, metadata: list[JSON]) -> JSON | None:
  """Returns why the scheduler made a buffer, the first argument of a kernel with this metadata; None if no reason was
  noted.

  The memory plan may give the buffer to several values; then the kernel's value is one that its metadata names. If that
  is ambiguous, the answer has only reasons: those of the values if they are equal, else "other"."""
  while buffer.op.name in VIEWS and not {REASON, PLANNED} & buffer.__dict__.keys() and buffer.src: buffer = buffer.src[0]
  found = buffer.__dict__.get(REASON)
  if PLANNED not in buffer.__dict__: return found if isinstance(found, dict) else None
  values = buffer.__dict__[PLANNED] + ([found] if isinstance(found, dict) else [])
  if own := [v for v in values if v.get("made_by", [None])[0] in metadata]: values = own
  # a copy or an assignment is in no metadata
  if (own or "made_by" not in values[0]) and all(v == values[0] for v in values): return cast(JSON, values[0])
  reasons = [v["reasons"] for v in values]
  return {"reasons": reasons[0] if all(r == reasons[0] for r in reasons) else [{"why": "other"}]}


def reasons_of_kernel(call: Node, metadata: list[JSON]) -> JSON:
  if stores := [m for u, made_by in origins_of(call.src[0]).items() if u.op.name == "STORE" for m in made_by]:
    return {"reasons": [{"why": "assign"}], "made_by": metadata_list(stores[:1])}
  found = reason_of(call.src[1], metadata) if len(call.src) > 1 else None
  return {"reasons": [{"why": "output"}]} if found is None else found
