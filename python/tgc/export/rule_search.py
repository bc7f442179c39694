"""Looks for instances of a rule: nodes that its pattern matches, and what the rule makes of them.

Most wrong guards are wrong by one. So the numbers of an instance (constants, bounds of variables) are also moved to the
edge of what the rule accepts: the last number on each side to which the rule still applies. The numbers in the rule's
own code, and those next to them, are tried as well, and bits of masks are set and cleared."""
from __future__ import annotations

import contextlib
import functools
import itertools
import random
import signal
import time
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from tgc.export.kinds import Function, Node
from tgc.export.rule_instances import InstanceMaker, patterns_below
from tgc.export.rule_lines import LineTarget, RuleLines

MOST_TRIES = 600  # random tries; if they find nothing, as many with unusual operands follow
MOST_FAILURES = 200  # random tries without an instance, after which unusual operands are tried
ODD = 1 << 20  # seeds from this number on also make unusual operands
SUMS = 2 << 20  # seeds from this number on also make indices that are sums of products
MOST_SUMS = 2400
MOST_OF_LINES = 3  # seconds of processor time to look for instances that run further lines
MOST_MOVES = 1500
FARTHEST = 1 << 33
MOST_SECONDS = 0.3  # processor time for a try; one that needs longer makes no instance
MOST_OF_SEARCH = 6  # seconds of processor time to move numbers
MOST_NAMED = 32
NUMBERS = (int, float, tuple, list, set, frozenset, dict)
LARGEST = 1 << 62


class TooSlow(Exception):
  """A rule needs too much processor time, for example for a large number."""


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
  """Raises TooSlow in a block that needs more processor time. Only the main thread may call this."""
  def stop(*_: Any) -> None: raise TooSlow
  before = signal.signal(signal.SIGVTALRM, stop)
  signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
  try: yield
  finally:
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.signal(signal.SIGVTALRM, before)


class RuleInstance(NamedTuple):
  """`kind` says which ops and dtypes the instance has; `numbers` are those that may be moved."""
  seed: int
  numbers: tuple[Any, ...]
  kind: tuple[Any, ...]
  before: Node
  after: Node


def is_constant(one: RuleInstance) -> bool: return all(s.op.name == "CONST" for s in one.before.src)


def code_numbers(code: Any, scope: dict[str, Any], module: str, seen: set[Any]) -> Iterator[Any]:
  if code in seen: return
  seen.add(code)
  constants: list[Any] = [*code.co_consts, *[v for name in code.co_names if isinstance(v := scope.get(name), NUMBERS)]]
  while constants:
    value = constants.pop()
    if isinstance(value, (tuple, list, set, frozenset, dict)): constants += list(value)[:MOST_NAMED]
    elif hasattr(value, "co_consts"): yield from code_numbers(value, scope, module, seen)
    elif isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < LARGEST: yield value
  for name in code.co_names:
    other = scope.get(name)
    if other is not None and getattr(other, "__module__", None) == module and hasattr(other, "__code__"):
      yield from code_numbers(other.__code__, scope, module, seen)


def guard_numbers(pattern: Any, function: Function) -> list[Any]:
  """Returns 0, the numbers that the rule's function and pattern name, their negatives, and neighbours of integers."""
  named: set[Any] = {0}
  if (code := getattr(function, "__code__", None)) is not None: named |= {*code_numbers(code, function.__globals__, function.__module__, set())}
  named |= {p.arg for p in patterns_below(pattern) if type(p.arg) in (int, float)}
  out: dict[Any, None] = {}
  for value in sorted(named, key=abs):
    for near in (value, -value):
      out.update(dict.fromkeys([near, near + 1, near - 1] if isinstance(value, int) else [near]))
  return list(out)


class InstanceSearch:

  def __init__(self, pattern: Any, function: Function) -> None:
    from tinygrad.dtype import dtypes as d
    from tinygrad.uop.ops import GroupOp, Ops, PatternMatcher
    self.pattern, self.matcher = pattern, PatternMatcher([(pattern, function)])
    self.guards = guard_numbers(pattern, function)
    self.unsigned = d.uints
    weak = getattr(d, "weakint", None) or d.index
    self.dtypes = [weak, d.int, d.float, d.bool, weak, d.uint, d.long, d.half, d.uchar, weak, d.short, d.char, d.ulong, d.ushort, d.double]
    # bools must be equal even for a NaN, and a WHERE computes no float
    self.makes_special = pattern.op is not None and {Ops.AND, Ops.OR, Ops.XOR, Ops.WHERE, *GroupOp.Comparison}.issuperset(pattern.op)
    self.known: dict[Node, RuleInstance] = {}
    self.lines = RuleLines([function])
    self.needed: dict[int, set[LineTarget]] = {}  # seed of an instance: lines that it must run with moved numbers, too
    self.moves, self.end = 0, 0.0

  def try_seed(self, seed: int, changes: dict[int, Any] | None = None) -> RuleInstance | None:
    """Makes the node of a seed, with some numbers changed. Returns None if there is no such node, or the rule does not
    apply."""
    dtype = self.dtypes[seed % len(self.dtypes)]
    maker = InstanceMaker(dtype, random.Random(seed), self.guards, changes, seed >= ODD)
    maker.makes_special, maker.makes_sums = self.makes_special, seed >= SUMS
    maker.makes_weak_constants = seed // len(self.dtypes) % 2 == 1
    try:
      with time_limit(MOST_SECONDS):
        before = maker.make(self.pattern, dtype)
        after = self.matcher.rewrite(before, {})
    except Exception: return None  # the rule or a node does not accept these operands
    if after is None or after is before or not hasattr(after, "src"): return None
    nodes = [*before.toposort(), *after.toposort()]
    if any(getattr(u.dtype, "name", "") == "weakfloat" and u.op.name != "CONST" for u in nodes): return None  # such a node has no precision yet
    kind = (before.op, before.dtype, *[s.dtype for s in before.src], *[(name, u.dtype) for name, u in sorted(maker.named.items())])
    return self.known.setdefault(before, RuleInstance(seed, tuple(maker.numbers), kind, before, after))

  def random_instances(self) -> list[RuleInstance]:
    out: dict[Node, RuleInstance] = {}
    for seed in itertools.chain(range(MOST_TRIES), range(ODD, ODD + MOST_TRIES)):
      if seed == ODD and out: break
      if MOST_FAILURES <= seed < ODD and not out: continue
      if (found := self.try_seed(seed)) is not None: out[found.before] = found
    return list(out.values())

  def moved_instance(self, found: RuleInstance, changes: dict[int, Any]) -> RuleInstance | None:
    self.moves += 1
    if self.moves > 2 * MOST_MOVES or time.thread_time() > self.end: return None
    one, needed = self.try_seed(found.seed, changes), self.needed.get(found.seed)
    return one if one is None or not needed or needed <= self.lines_run_by(one) else None

  def edge_instance(self, found: RuleInstance, at: int, direction: int) -> RuleInstance:
    """Moves a number as far as the rule applies: by doubled steps, then by halved ones."""
    start, best, step = found.numbers[at], found, 1
    while step <= FARTHEST and (next_one := self.moved_instance(found, {at: start + direction * step})) is not None: best, step = next_one, step * 2
    least, most = step // 2, min(step, FARTHEST)  # the rule applies at `least`, and not at `most` if that is more
    while most - least > 1:
      middle = (least + most) // 2
      if (next_one := self.moved_instance(found, {at: start + direction * middle})) is None: most = middle
      else: best, least = next_one, middle
    return best

  def neighbours(self, found: RuleInstance) -> Iterator[tuple[tuple[Any, ...], RuleInstance]]:
    """Yields instances with one or two numbers moved, each with the position and the direction (1, -1 or "near") of the
    move.
    """
    whole = [at for at, value in enumerate(found.numbers) if isinstance(value, int) and not isinstance(value, bool)]
    for direction in (1, -1):  # last numbers first, because they are often constants of the pattern
      for at in reversed(whole):
        yield (at, direction), (at_edge := self.edge_instance(found, at, direction))
        for other in whole:  # at the edge, also negate each other number
          if other == at or at_edge is found or not found.numbers[other]: continue
          if (one := self.moved_instance(found, {at: at_edge.numbers[at], other: -found.numbers[other]})) is not None: yield (at, direction, other), one
    for at, value in enumerate(found.numbers):
      if isinstance(value, bool): continue
      near: list[Any] = [-value, *self.guards]
      if isinstance(value, int): near += [~value, *[value ^ (1 << bit) for bit in range(min(value.bit_length() + 2, 34))]]
      for number in near:
        if (one := self.moved_instance(found, {at: number})) is not None: yield (at, "near"), one

  def edge_instances(self, starts: Iterable[RuleInstance]) -> Iterator[RuleInstance]:
    """Yields instances with moved numbers (neighbours()), one of each start in turn, those of few numbers first. After
    two instances of the same move of a start, its others come last."""
    def of_start(found: RuleInstance) -> Iterator[RuleInstance | None]:
      seen: dict[Any, int] = {}
      for moved, one in self.neighbours(found):
        if one.before is found.before: continue
        seen[moved] = seen.get(moved, 0) + 1
        if seen[moved] > 2: later.append(one)
        yield one if seen[moved] <= 2 else None
    later: list[RuleInstance] = []
    self.end = time.thread_time() + MOST_OF_SEARCH
    turns = [of_start(found) for found in sorted(starts, key=lambda one: len(one.numbers))]
    while turns and self.moves <= MOST_MOVES and time.thread_time() <= self.end:
      for turn in list(turns):
        try: one = next(turn)
        except StopIteration: turns.remove(turn)
        else:
          if one is not None: yield one
    yield from later

  def is_negative(self, one: RuleInstance) -> bool:
    """Returns True if an instance has a negative constant beside unsigned operands, which stands for a large number."""
    constants = [s for u in one.before.toposort() for s in u.src if s.op.name == "CONST" and any(t.dtype in self.unsigned for t in u.src)]
    return not is_constant(one) and any(isinstance(s.arg, int) and s.arg < 0 for s in constants)

  def line_instances(self, found: list[RuleInstance]) -> Iterator[RuleInstance]:
    """Yields instances that run lines of the rule's function that none before them runs, those in `found` first; none
    if there is one way to a result. Their numbers are moved only as far as these lines run."""
    if self.lines.is_simple: return
    end = time.thread_time() + MOST_OF_LINES
    def others() -> Iterator[RuleInstance]:
      for seed in itertools.chain(range(ODD, ODD + MOST_TRIES), range(SUMS, SUMS + MOST_SUMS)):
        if not found or not self.lines.unreached or time.thread_time() > end: return
        if (one := self.try_seed(seed)) is not None: yield one
    for one in itertools.chain(sorted(found, key=is_constant), others()):
      if not (unreached := set(self.lines.unreached)): return
      if new := unreached & self.lines_run_by(one):
        self.needed.setdefault(one.seed, new)
        yield one

  def lines_run_by(self, one: RuleInstance) -> set[LineTarget]:
    try:
      with time_limit(MOST_SECONDS): return self.lines.run(functools.partial(self.matcher.rewrite, one.before, {}))
    except TooSlow: return set()

  def instances(self, most: int) -> list[tuple[Node, Node]]:
    """Returns up to `most` instances, as pairs of both sides; twice as many if there are several ways to a result."""
    if not self.lines.is_simple: most *= 2
    found = self.random_instances()
    kinds: dict[Any, RuleInstance] = {}
    for one in sorted(found, key=is_constant): kinds.setdefault(one.kind, one)
    line_instances = list(itertools.islice(self.line_instances(found), most // 2))
    out = {one.before: one.after for one in [*line_instances, *itertools.islice(filter(self.is_negative, found), 2)]}
    for turn in itertools.zip_longest(self.edge_instances(line_instances), kinds.values(), self.edge_instances(kinds.values()), found):
      for one in turn:
        if one is not None and len(out) < most: out[one.before] = one.after
      if len(out) >= most: break
    return list(out.items())
