"""The golden of the pytest plugin: the records of tests, compared by what they were made of and by what was made."""
from __future__ import annotations

import hashlib
import json
import pathlib
import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from tgc.export.golden import golden_lines, tagged_path
from tgc.export.kinds import JSON
from tgc.rule_changes import RuleChanges

LEVELS = ("tensor", "kernel")  # causes first: a rule that changes a schedule also changes the kernels' ASTs
BUFFER_NUMBER = re.compile(r'("op":"UNIQUE"[^\n]*"arg":|"op":"BUFFER"[^\n]*"ParamArg":\{"\*":\[)(\d+)')


def numbered_buffers(graph: str) -> str:
  """Returns a graph's text with its buffers numbered by their first use: tinygrad numbers the buffers of a process."""
  numbers: dict[str, int] = {}
  return BUFFER_NUMBER.sub(lambda m: m[1] + str(numbers.setdefault(m[2], len(numbers))), graph)


def with_numbered_buffers(record: JSON) -> JSON:
  """Returns a record of a schedule with its buffers numbered by their first use, in all of its graphs alike."""
  numbers: dict[str, int] = {}
  def number(text: str) -> str: return BUFFER_NUMBER.sub(lambda m: m[1] + str(numbers.setdefault(m[2], len(numbers))), text)
  out = record | {"ast": number(record["ast"])}
  for name in ("stages", "kernels"):
    out[name] = [part | {key: number(part[key]) for key in ("ir", "full", "ast") if isinstance(part.get(key), str)} for part in record.get(name, ())]
  if "rewrites" in record:
    nodes = [json.loads(number(json.dumps(node, separators=(",", ":")))) for node in record["rewrites"].get("nodes", ())]
    out["rewrites"] = record["rewrites"] | {"nodes": nodes}
  return out


def digest(*parts: Any) -> bytes: return hashlib.sha256("\0".join(map(str, parts)).encode()).digest()


def record_digests(level: str, record: JSON) -> tuple[bytes, bytes]:
  """Returns two hashes: of what a record was made of (graph, target, settings), and of what was made of it (stages,
  kernels, source, error)."""
  graph: Callable[[str], str] = numbered_buffers if level == "tensor" else str
  key = digest(level, graph(record["ast"]), record.get("target"), sorted((record.get("settings") or {}).items()))
  stages = [(s["name"], graph(s.get("ir") or "")) for s in record.get("stages", ())]
  kernels = [graph(kernel["ast"]) for kernel in record.get("kernels", ())]
  return key, digest(stages, kernels, record.get("source"), record.get("error"))


def schedule_kernels(schedules: Iterable[JSON]) -> Counter[bytes]:
  return Counter(digest(numbered_buffers(kernel["ast"])) for record in schedules for kernel in record.get("kernels", ()))


class GoldenRecords:
  """The records of a golden. `made` maps what a record was made of to what was made: a schedule that tinygrad's cache
  knows has fewer stages, so equal graphs may have several records."""

  def __init__(self, path: pathlib.Path) -> None:
    self.made: dict[bytes, set[bytes]] = {}
    self.sources: dict[bytes, tuple[str, str]] = {}  # by what a record was made of: level and line
    self.headers: dict[str, str] = {}
    self.tests: dict[tuple[str, str], list[str]] = {}
    self.keys: dict[str, list[tuple[str, bytes]]] = {}
    self.scheduled: dict[str, Counter[bytes]] = {}
    for level in LEVELS:
      file = path if level == "kernel" else tagged_path(path, level)
      lines = golden_lines(file) if file.exists() else iter(())
      header = json.loads(next(lines, "{}"))
      if level == "kernel": self.changes = RuleChanges(header)
      header.pop("rule_hashes", None)
      self.headers[level] = json.dumps(header)
      for line in lines:
        record = json.loads(line)
        key, made = record_digests(level, record)
        self.made.setdefault(key, set()).add(made)
        self.sources.setdefault(key, (level, line))
        self.tests.setdefault((level, test_of(record["id"])), []).append(line)
        self.keys.setdefault(test_of(record["id"]), []).append((record["id"], key))
        if level == "tensor": self.scheduled.setdefault(test_of(record["id"]), Counter()).update(schedule_kernels([record]))
    self.all_scheduled: set[bytes] = set().union(*self.scheduled.values())

  def differs_by_order(self, test: str, now: Counter[bytes], before: set[bytes]) -> bool:
    """Returns True if the kernels `now` of a test's schedules differ from the golden's only by kernels that tests
    share: several tests need a tensor, and the first of them computes it. `before` has the kernels of the schedules of
    earlier tests."""
    then = self.scheduled.get(test, Counter())
    more, fewer = now - then, then - now
    return bool(more or fewer) and all(k not in then and k in self.all_scheduled for k in more) and all(k not in now and k in before for k in fewer)

  def lines_for(self, test: str, level: str, wanted: list[bytes]) -> list[str]:
    """Returns the golden's lines of a level to compare a test with: those made of the same (`wanted`), then the test's
    own."""
    found = [line for key in wanted for kind, line in [self.sources.get(key, ("", ""))] if kind == level]
    return found + [line for line in self.tests.get((level, test), ()) if line not in found]


def test_of(record_id: str) -> str:
  return record_id.rpartition(".")[0]
