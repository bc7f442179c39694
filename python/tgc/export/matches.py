"""Records the matches of rules: the rule's location in tinygrad's source, the node it matched, the node it made, and
the nesting. Also measures the time of each rule."""
from __future__ import annotations

import functools
import linecache
import os
import re
import sys
import textwrap
import threading
from collections.abc import Sequence
from time import thread_time as clock
from typing import Any

from tgc.export.graphs import NodeCollector
from tgc.export.hooks import call_site
from tgc.export.kinds import JSON, Function, Node

MOST_LINES = 8
MOST_OF_FUNCTION = 100
SUBSTITUTES = re.compile(r"\b(substitute|graph_rewrite)\(")


def rule_location(pattern: Any) -> str: return location_text(*(getattr(pattern, "location", None) or ("?", 0)))


@functools.cache
def location_text(file: str, line: int) -> str:
  return f"{file.replace(os.sep, '/').split('/tinygrad/')[-1]}:{line}"


class RuleTimes:
  """How often each rule was tried and matched, and how long that took. The time includes that of rewrites inside the
  rule."""

  # rows, by pattern: numbers of matches and of attempts, seconds of matches and of attempts
  def __init__(self) -> None: self.rows: dict[Any, list[Any]] = {}
  def __bool__(self) -> bool: return bool(self.rows)

  def add(self, pattern: Any, seconds: float, is_match: bool) -> None:
    row = self.rows.get(pattern)
    if row is None: row = self.rows[pattern] = [0, 0, 0.0, 0.0]
    row[1] += 1
    row[3] += seconds
    if is_match:
      row[0] += 1
      row[2] += seconds

  def json(self) -> JSON:
    out: JSON = {}
    for pattern, row in self.rows.items():
      total = out.setdefault(rule_location(pattern), [0, 0, 0.0, 0.0])
      for i, value in enumerate(row): total[i] = round(total[i] + value, 6)
    return out


class RuleDepth(threading.local):
  depth = 0  # number of rules that are running in this thread


def rewrite_with_callback(on_match: Function, declines: Function | None = None, times: Function | None = None) -> Function:
  """Returns a replacement for PatternMatcher.rewrite that calls on_match(location, before, after, depth) for each match
  that makes a node, except those of tinygrad's compiler of patterns (uop/upat.py).

  `depth` is the number of rules inside which this one runs: a rule may rewrite other graphs. If declines(location,
  before) is true, the rule does not apply, and later rules are tried. `times` returns the RuleTimes to count in, or
  None."""
  running = RuleDepth()
  def rewrite(self: Any, uop: Node, ctx: Any = None) -> Any:
    patterns = self.pdict.get(uop.op, ())
    if not patterns: return None
    sources = {s.op for s in uop.src}
    depth = running.depth
    running.depth = depth + 1
    counts = times() if times is not None else None
    try:
      for pattern, match, early_reject in patterns:
        if not early_reject.issubset(sources): continue
        if counts is None: made = match(uop, ctx)
        else:
          begin = clock()
          made = match(uop, ctx)
          counts.add(pattern, clock() - begin, made is not None and made is not uop)
        if made is None or made is uop: continue
        if hasattr(made, "src"):
          location = rule_location(pattern)
          # a substitution of a stage: the call that chooses what is replaced says more than the matcher's line
          if location.startswith("uop/ops.py") and depth == 0: location = call_site().get("at", [location])[0]
          if not location.startswith("uop/upat.py"):
            if declines and declines(location, uop): continue
            on_match(location, uop, made, depth)
        return made
    finally: running.depth = depth
    return None
  return rewrite


def matches_json(matches: Sequence[tuple[Any, ...]]) -> JSON:
  """Returns the member "rewrites" of a record for matches, each (stage, location, before, after, depth). All graphs
  share one list of nodes."""
  nodes = NodeCollector()
  rows = [[stage, location, nodes.add(before), nodes.add(after), depth] for stage, location, before, after, depth in matches]
  texts = {location: text for location in dict.fromkeys(row[1] for row in rows) if (text := rule_text(location))}
  return {"nodes": nodes.lines, "list": rows, **({"texts": texts} if texts else {})}


def start_of_function(lines: Sequence[str], at: int) -> int:
  indent = [len(text) - len(text.lstrip()) for text in lines[:at + 1]]
  return next((i for i in range(at, -1, -1) if lines[i].lstrip().startswith("def ") and indent[i] < indent[at]), at)


@functools.cache
def rule_text(location: str) -> str:
  """Returns the source lines of a rule, up to the end of its brackets or MOST_LINES; "" if it has none. For a line that
  substitutes nodes, begins where its function begins."""
  file, _, line = location.rpartition(":")
  if not line.isdigit(): return ""  # FILE:LINE*: the sides of a rule for all operands (rules.py)
  package = getattr(sys.modules.get("tinygrad"), "__file__", None)
  lines = linecache.getlines(os.path.join(os.path.dirname(package), file)) if package else []
  first = int(line) - 1
  begin = start_of_function(lines, first) if SUBSTITUTES.search("".join(lines[first:first + 1])) else first
  out = [text.rstrip() for text in lines[max(begin, first - MOST_OF_FUNCTION):first]]
  head = len(out)
  for text in lines[first:first + MOST_LINES]:
    out.append(text.rstrip())
    text_so_far = "".join(out[head:])
    if sum(map(text_so_far.count, "([{")) <= sum(map(text_so_far.count, ")]}")): break
  return textwrap.dedent("\n".join(out))
