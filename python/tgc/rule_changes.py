"""Finds the rules of tinygrad that changed since a golden was made, by hashes of rules in the golden's header."""
from __future__ import annotations

import functools
import gc
import hashlib
import inspect
import io
import platform
import tokenize
import types
from collections.abc import Iterable, Iterator
from typing import Any

from tgc.export.kinds import JSON
from tgc.export.matches import rule_location, rule_text

MOST_CALLS = 3  # levels of calls below a rule's function that its hash covers
DIGITS = 12


@functools.cache
def without_comments(text: str) -> str:
  tokens: list[str] = []
  try:
    for t in tokenize.generate_tokens(io.StringIO(text).readline):
      if t.type not in (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT): tokens.append(t.string)
  except (tokenize.TokenError, SyntaxError): pass  # the text ends inside brackets
  return " ".join(tokens)


def is_of_tinygrad(function: Any) -> bool: return isinstance(function, types.FunctionType) and "tinygrad" in function.__code__.co_filename.replace("\\", "/").split("/")


def hash_of(parts: Iterable[str]) -> str: return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def function_hash(function: types.FunctionType, known: dict[Any, str], depth: int = MOST_CALLS) -> str:
  """Returns a hash of what decides a function's results: its code, its constants, plain values of outer variables, and
  the same of tinygrad's functions that it calls, `depth` deep. `known` caches the hashes, by function and depth."""
  key = function, depth
  if key not in known: known[key] = hash_of(parts_of(function, known, depth))
  return known[key]


def parts_of(function: types.FunctionType, known: dict[Any, str], depth: int) -> Iterator[str]:
  used: dict[str, Any] = {}
  for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
    try: used[name] = cell.cell_contents
    except ValueError: continue  # an empty cell: the variable is assigned later
  codes = [function.__code__]
  for code in codes:
    codes += [c for c in code.co_consts if isinstance(c, types.CodeType)]
    yield code.co_code.hex()
    yield repr([c for c in code.co_consts if not isinstance(c, (types.CodeType, frozenset))])
    yield repr([sorted(map(repr, c)) for c in code.co_consts if isinstance(c, frozenset)])
    yield repr((code.co_names, code.co_varnames))
    used |= {name: function.__globals__[name] for name in code.co_names if name in function.__globals__}
  for name in sorted(used):
    value = used[name]
    if isinstance(value, (int, float, str, bytes, bool)): yield f"{name}={value!r}"
    called = inspect.unwrap(value) if callable(value) else None
    if depth and called is not None and is_of_tinygrad(called): yield function_hash(called, known, depth - 1)


def rule_hashes() -> dict[str, str]:
  """Returns hashes of the rules of the matchers that exist in this process, by file and line. Leaves out the rules of
  uop/upat.py, and those whose function is not tinygrad's."""
  from tinygrad.uop.ops import PatternMatcher
  parts: dict[str, set[str]] = {}
  known: dict[Any, str] = {}
  for matcher in [m for m in gc.get_objects() if issubclass(type(m), PatternMatcher)]:  # isinstance() would run code of some objects
    for pattern, function in matcher.patterns:
      where = rule_location(pattern)
      if where.startswith("uop/upat.py") or not is_of_tinygrad(called := inspect.unwrap(function)): continue
      parts.setdefault(where, set()).add(function_hash(called, known))
  return {where: hash_of([without_comments(rule_text(where)), *sorted(found)])[:DIGITS] for where, found in parts.items()}


def header_entry(hashes: dict[str, str]) -> JSON:
  """Returns the member of a golden's header. Compiled functions are comparable in one version of Python only."""
  return {"rule_hashes": {"python": python_version(), "rules": dict(sorted(hashes.items()))}}


def python_version() -> str: return ".".join(platform.python_version_tuple()[:2])


class RuleChanges:

  def __init__(self, header: JSON) -> None:
    noted = header.get("rule_hashes") or {}
    self.then: dict[str, str] = noted.get("rules", {}) if noted.get("python") == python_version() else {}
    self.now: dict[str, str] = {}

  def changed_among(self, matched_then: Iterable[str], matched_now: Iterable[str]) -> list[str]:
    """Returns the changed, new and removed rules among those that matched, each once: where they are now or, if that is
    not known, where they were."""
    if not self.then: return []
    before, after = list(dict.fromkeys(matched_then)), list(dict.fromkeys(matched_now))
    if not self.now or not self.now.keys() >= {p for p in after if p in self.then}: self.now = rule_hashes()  # a test may load more rules
    hashes_then, hashes_now = set(self.then.values()), set(self.now.values())
    gone = sorted((p for p, h in self.then.items() if h not in hashes_now), key=by_line)
    new = sorted((p for p, h in self.now.items() if h not in hashes_then), key=by_line)
    moved: dict[str, str] = {}
    for file in {file_of(p) for p in gone}:
      old_places, new_places = ([p for p in places if file_of(p) == file] for places in (gone, new))
      if len(old_places) == len(new_places): moved.update(zip(old_places, new_places, strict=True))
    found = [moved.get(p, p) for p in before if p in gone] + [p for p in after if p in new]
    return list(dict.fromkeys(found))


def file_of(place: str) -> str: return place.rpartition(":")[0]


def by_line(place: str) -> tuple[str, int]:
  file, _, line = place.rpartition(":")
  return file, int(line) if line.isdigit() else 0


def matched_rules(records: Iterable[JSON]) -> list[str]:
  return list(dict.fromkeys(row[1] for r in records for row in r.get("rewrites", {}).get("list", ())))
