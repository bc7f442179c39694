"""Follows the nodes of tensor graphs through a scheduler: which Tensor methods, at which lines of the program, made a
kernel.

tinygrad notes the method that makes a node of a tensor graph (ops.all_metadata), and the method whose gradient a node
is. Since 0.13, its kernels have no such notes. So this module watches what a rewrite puts in the place of a node, and
notes the method with the new nodes, under ORIGIN in a node's dict.

Equal nodes are one, so a node of a kernel may also be a node of other kernels. The notes of a kernel's nodes are
therefore copied, under ORIGINS of its STORE or END, as soon as the scheduler has made the kernel.
"""
from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Iterator
from typing import Any, ClassVar

from tgc.export.hooks import replace_everywhere, set_attribute, undo
from tgc.export.kinds import JSON, Node

ORIGIN, ORIGINS = "_tgc_origin", "_tgc_origins"
MOST = 8
# Ops of nodes that compute no value: they have no origin.
LEAVES = {"CONST", "VCONST", "RANGE", "BUFFER", "PARAM", "SPECIAL", "DEVICE", "UNIQUE", "LUNIQUE", "BIND", "SINK", "LINEAR", "CALL", "FUNCTION", "KERNEL", "TUPLE",
          "GETTUPLE", "NOOP", "GROUP", "DEFINE_GLOBAL", "DEFINE_VAR", "DEFINE_LOCAL", "DEFINE_REG", "MSTACK", "MSELECT", "PROGRAM"}
# Ops of nodes whose memory other kernels stored: the nodes below them belong to those kernels.
CALLS = {"CALL", "KERNEL", "FUNCTION"}
SAME_VALUE = {"RESHAPE", "EXPAND", "PERMUTE", "PAD", "SHRINK", "FLIP", "CONTIGUOUS", "CONTIGUOUS_BACKWARD", "DETACH"}
STORAGE = {"AFTER", "STAGE", "BUFFERIZE", "STORE", "END", "ASSIGN", "COPY", "CONTIGUOUS", "BUFFER_VIEW", "SLICE"}


def has_index_or_void_dtype(node: Node) -> bool: return getattr(node.dtype, "name", "") in ("index", "weakint", "void")


def merge_methods(*parts: Any) -> tuple[Any, ...]: return tuple(dict.fromkeys(m for part in parts for m in part))[:MOST]


class MergedMetadata(weakref.WeakKeyDictionary[Any, Any]):
  """all_metadata, in which a node that several lines make has up to MOST of their methods. The nodes that a method
  makes below its result get its name, too: tinygrad notes a gradient only for nodes that have a name."""

  def __setitem__(self, node: Any, made_by: Any) -> None:
    self.note_origin(node, merge_methods(self.get(node, ()), made_by))
    stack = list(node.src)
    while stack:
      inner = stack.pop()
      if inner.op.name in LEAVES or inner.op.name in STORAGE or inner in self: continue
      self.note_origin(inner, made_by)
      stack += inner.src

  def note_origin(self, node: Any, made_by: Any) -> None:
    super().__setitem__(node, made_by)
    if not has_index_or_void_dtype(node): node.__dict__[ORIGIN] = made_by


class FollowedNodes(dict[Any, Any]):
  """Maps a node to what a rewrite puts in its place: RewriteContext.replace. Notes the origin of new nodes."""
  __slots__ = ("fresh", "kernel", "known", "metadata", "root")
  watched: ClassVar[set[str]] = set()  # names of the ops of nodes that are passed to follow(node, new)
  follow: ClassVar[Any]

  def __init__(self, metadata: MergedMetadata | None, kernel: dict[Any, Any] | None, fresh: set[Any]) -> None:
    super().__init__()
    self.metadata = metadata      # where new nodes are noted, too, since the program may ask for their gradient; None in a schedule
    self.kernel = kernel          # the origins of a kernel's nodes while it is made; None: they are noted with the nodes
    self.fresh = fresh
    self.root: Any = None
    self.known: set[Any] | None = None

  def __setitem__(self, node: Any, new: Any) -> None:
    super().__setitem__(node, new)
    if node.op.name in self.watched and self.kernel is None: self.follow(node, new)
    if new is node or (made_by := self.origin(node)) is None or new.op.name in LEAVES or self.has_origin(new): return
    if node.op.name in SAME_VALUE and new.op is not node.op:
      value = node
      while value.op.name in SAME_VALUE: value = value.src[0]
      made_by = self.origin(value) or made_by
    stack = [new]
    while stack:
      u = stack.pop()
      if self.kernel is None: u.__dict__[ORIGIN] = made_by
      else: self.kernel[u] = made_by
      if self.metadata is not None: self.metadata.note_origin(u, made_by)
      if self.kernel is None: self.fresh.add(u)
      stack += [s for s in u.src if s.op.name not in LEAVES and s.op.name not in STORAGE and not has_index_or_void_dtype(s) and not self.has_origin(s)]

  def origin(self, node: Any) -> Any:
    own = node.__dict__.get(ORIGIN)
    return own if self.kernel is None else self.kernel.get(node, own)

  def has_origin(self, node: Any) -> bool:
    """Returns True if a node got its origin in this kernel or schedule, and not as an equal node of another one."""
    if self.kernel is not None and node in self.kernel: return True
    return ORIGIN in node.__dict__ and ((self.kernel is None and node in self.fresh) or self.existed_before(node))

  def existed_before(self, node: Any) -> bool:
    if self.known is None:
      self.known, stack = set(), [] if self.root is None else [self.root]
      while stack:
        u = stack.pop()
        if u in self.known: continue
        self.known.add(u)
        if u.op.name not in CALLS: stack += u.src
    return node in self.known


class Origins:
  def __init__(self) -> None: self.thread = threading.local()

  def watch(self) -> None:
    from tinygrad import tensor
    from tinygrad.uop import ops
    context = getattr(ops, "RewriteContext", None)
    if context is None or not ops.UOp.__dictoffset__ or not hasattr(ops, "all_metadata"): return
    before = type(ops.all_metadata)
    ops.all_metadata.__class__ = MergedMetadata
    undo.append(lambda: setattr(ops.all_metadata, "__class__", before))
    thread = self.thread

    def followed(name: str) -> Any:
      rewrite = getattr(context, name)
      def call(self: Any, root: Node) -> Any:
        nodes = self.replace
        if not isinstance(nodes, FollowedNodes): return rewrite(self, root)
        nodes.root = root
        if nodes.metadata is not None or root.op.name not in ("STORE", "END") or getattr(thread, "kernel", None) is not None: return rewrite(self, root)
        thread.kernel = nodes.kernel = {}
        try: result = rewrite(self, root)
        finally: thread.kernel = None
        result.__dict__[ORIGINS] = [nodes.origin(u) for u in result.toposort()]
        return result
      return call

    def begin(self: Any, *args: Any, **kwargs: Any) -> None:
      context.__init__(self, *args, **kwargs)
      if getattr(thread, "compiles", None) is not None: return
      fresh = getattr(thread, "schedules", None)
      self.replace = FollowedNodes(ops.all_metadata if fresh is None else None, getattr(thread, "kernel", None), set() if fresh is None else fresh)

    methods = {name: followed(name) for name in ("unified_rewrite", "walk_rewrite") if hasattr(context, name)}
    replace_everywhere(context, type("RewriteContext", (context,), {"__init__": begin, **methods}))
    running = getattr(tensor, "_METADATA", None)
    if running is None: return
    def watched_maker(make: Any, note: Any) -> Any:
      """Returns `make` as a function that also calls `note` with the node that it makes and the running method."""
      def call(*args: Any, **kwargs: Any) -> Any:
        made = make(*args, **kwargs)
        if getattr(thread, "schedules", None) is None and (method := running.get()) is not None: note(made, (method,))
        return made
      return call
    def note_store(made: Any, made_by: Any) -> None: made.__dict__.setdefault(ORIGIN, made_by)
    def note_tensor(made: Any, made_by: Any) -> None:
      if made.uop.op.name not in LEAVES and made.uop not in ops.all_metadata: ops.all_metadata[made.uop] = made_by
    if store := vars(ops.UOp).get("store"): set_attribute(ops.UOp, "store", watched_maker(store, note_store))
    if wrap := vars(tensor.Tensor).get("_wrap_uop"):
      set_attribute(tensor.Tensor, "_wrap_uop", classmethod(watched_maker(wrap.__func__, note_tensor)))

  @contextlib.contextmanager
  def running_phase(self, what: str) -> Iterator[None]:
    """Sets, for a block, what runs in this thread: "schedules", or "compiles", in which no nodes are followed."""
    before = getattr(self.thread, what, None)
    setattr(self.thread, what, set())
    try: yield
    finally: setattr(self.thread, what, before)


def origins_of(ast: Node) -> dict[Any, Any]:
  """Returns the methods that made the nodes of a kernel, by node. Loads count only if the kernel has no other nodes
  with methods and computes nothing but reductions: an equal load may belong to another kernel."""
  out: dict[Any, Any] = {}
  loads: dict[Any, Any] = {}
  computes = False
  for part in ast.src if ast.op.name == "SINK" else (ast,):
    nodes = list(part.toposort())
    noted = getattr(part, "__dict__", {}).get(ORIGINS) or [getattr(u, "__dict__", {}).get(ORIGIN) for u in nodes]
    for u, made_by in zip(nodes, noted):
      computes |= u.op.name not in LEAVES | STORAGE | {"INDEX", "LOAD", "REDUCE", "REDUCE_AXIS"} and not has_index_or_void_dtype(u)
      if made_by and u.op.name not in LEAVES: (loads if u.op.name in ("INDEX", "LOAD") else out).setdefault(u, made_by)
  return out if computes else out or loads


def methods_of(numbers: dict[Any, int]) -> list[JSON]:
  """Returns the methods that made the nodes of a tensor graph, with the numbers of these nodes in the recorded graph. A
  node that several methods made counts for the first one."""
  from tgc.export.metadata import metadata_list
  nodes: dict[Any, list[int]] = {}
  for u, number in numbers.items():
    if u.op.name not in LEAVES and (made_by := getattr(u, "__dict__", {}).get(ORIGIN)): nodes.setdefault(made_by[0], []).append(number)
  return [entry | {"nodes": made} for made, entry in zip(nodes.values(), metadata_list(nodes))]


def metadata_of(ast: Node, numbers: dict[Any, int] | None = None) -> list[JSON]:
  """Returns the methods that made a kernel, as a record lists them. With `numbers`, which has node numbers of the
  recorded graph, an entry has the numbers of the nodes that its method made."""
  from tgc.export.metadata import metadata_list
  origins = origins_of(ast)
  needed = {m for made_by in origins.values() if len(made_by) == 1 for m in made_by}
  nodes: dict[Any, list[int]] = {}
  for u, made_by in origins.items():  # if several methods made a node, those that also made a node alone count
    for m in [m for m in made_by if m in needed] or made_by:
      nodes.setdefault(m, []).extend([numbers[u]] if numbers and u in numbers else ())
  return [entry | ({"nodes": sorted(nodes[m])} if nodes[m] else {}) for m, entry in zip(nodes, metadata_list(nodes))]
