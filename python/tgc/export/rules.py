"""Makes instances of the rewrite rules of the installed tinygrad, for `tgc prove --rules --live`: nodes that a rule's
pattern matches, and what the rule makes of them. For rules with few instances, also takes instances from rule_programs.
"""
from __future__ import annotations

import contextlib
import difflib
import functools
import gzip
import importlib
import importlib.util
import json
import pathlib
import pkgutil
from collections.abc import Callable, Iterator
from typing import Any

from tgc.export.general_rules import ROUNDS_TWICE, general_sides, without_cache
from tgc.export.graphs import graph_text
from tgc.export.kinds import JSON, Function, Node
from tgc.export.matches import location_text, matches_json, rule_location
from tgc.export.rule_instances import constant_of, patterns_below
from tgc.export.rule_lines import RuleLines, functions_below
from tgc.export.rule_programs import matches_of_programs
from tgc.export.rule_search import InstanceSearch
from tgc.export.versions import installed_version

SEARCHED_MODULES = ("tinygrad.uop.symbolic", "tinygrad.uop.divandmod", "tinygrad.uop.movement", "tinygrad.uop.weak", "tinygrad.codegen",
                    "tinygrad.schedule", "tinygrad.renderer")
# Rules of these files are left out: they check graphs, write text, or prepare graphs for one language.
NO_REWRITES = ("uop/spec.py", "uop/render.py", "renderer/")
MOST_INSTANCES = 24
MOST_OF_FEW = 48
MOST_NEAR = 5
FEW = 4  # rules with fewer instances also use those of rule_programs; up to FEW rules make MOST_OF_FEW instances each


def compiler_modules() -> Iterator[Any]:
  names = []
  for module_name in SEARCHED_MODULES:
    try: module = importlib.import_module(module_name)
    except ImportError: continue
    names.append(module_name)
    if hasattr(module, "__path__"): names += [m.name for m in pkgutil.walk_packages(module.__path__, module_name + ".")]
  for name in names:
    # the libraries of a backend may be missing
    with contextlib.suppress(Exception): yield importlib.import_module(name)


def all_rules() -> Iterator[tuple[Any, Function]]:
  """Yields the pattern and the function of the rules in the compiler's modules but NO_REWRITES, each once."""
  seen: set[Any] = set()
  for module in compiler_modules(): yield from rules_of(module, seen)


def matchers_of(module: Any) -> list[tuple[str, Any]]:
  from tinygrad.uop.ops import PatternMatcher
  return [(name, value) for name, value in vars(module).items() if isinstance(value, PatternMatcher)]


def rules_of(module: Any, seen: set[Any]) -> Iterator[tuple[Any, Function]]:
  for _, matcher in matchers_of(module):
    for pattern, function in matcher.patterns:
      where = rule_location(pattern)
      if (key := (id(pattern), getattr(function, "__code__", function))) in seen or where.startswith(NO_REWRITES): continue
      seen.add(key)
      yield pattern, function


def module_outside(wanted: str) -> Any:
  """Imports and returns the module of the file that `wanted`, FILE or FILE:LINE, names: a file of the installed
  tinygrad, or a path from the working directory. Returns None if there is no such file; the file may raise."""
  import tinygrad
  file = pathlib.Path(wanted.rpartition(":")[0] if wanted.rpartition(":")[2].isdigit() else wanted)
  package = pathlib.Path(tinygrad.__path__[0])
  found = next((p for p in (package / file, package.parent / file, file) if file.suffix == ".py" and p.is_file()), None)
  if found is None: return None
  if found.resolve().is_relative_to(package.resolve()):
    parts = found.resolve().relative_to(package.resolve()).with_suffix("").parts
    return importlib.import_module(".".join(["tinygrad", *parts]))
  spec = importlib.util.spec_from_file_location(found.stem, found.resolve())
  if spec is None or spec.loader is None: return None
  module = importlib.util.module_from_spec(spec)
  spec.loader.exec_module(module)
  return module


def no_rule_text(wanted: str, rules: list[tuple[Any, Function]], why: str) -> str:
  """Returns text that names the rules nearest to the wanted place or name or, if there are none, says why."""
  file, _, line = wanted.rpartition(":")
  places = sorted({rule_location(pattern) for pattern, _ in rules})
  of_file = [p for p in places if line.isdigit() and p.rpartition(":")[0].endswith(file)]
  of_file.sort(key=lambda p: abs(int(p.rpartition(":")[2]) - int(line)))
  near = of_file[:MOST_NEAR] or difflib.get_close_matches(wanted, [getattr(f, "__name__", "") for _, f in rules], MOST_NEAR)
  if near: return "the nearest rules: " + ", ".join(near)
  return why or "no matcher of the pipeline's modules has it, and it is not the path of a file with a PatternMatcher"


def is_value_rule(pattern: Any) -> bool:
  """Returns True if the pattern's root is an operation on values (an ALU op, a cast or a vector) and needs no tag."""
  from tinygrad.uop.ops import GroupOp, Ops
  values = {*GroupOp.ALU, Ops.CAST, Ops.BITCAST, *(getattr(Ops, n) for n in ("STACK", "VECTORIZE", "GEP") if hasattr(Ops, n))}
  return pattern.op is not None and values.issuperset(pattern.op) and not getattr(pattern, "match_tag", None)


def depends_on_context(pattern: Any, function: Function) -> bool:
  """Returns True if the rule reads a context or a tag. Then what the sides mean may depend on these."""
  if (code := getattr(function, "__code__", None)) is not None and {"ctx", "tag", "rtag"}.intersection(code.co_varnames + code.co_names): return True
  return any(getattr(p, "match_tag", None) for p in patterns_below(pattern))


def instances_of_elements(pattern: Any, function: Function, sides: list[tuple[Node, Node]]) -> list[tuple[Node, Node]]:
  """Returns the left sides in `sides` to which the rule applies although their operands are elements of buffers, each
  with what the rule makes of it."""
  from tinygrad.uop.ops import PatternMatcher
  matcher, out = PatternMatcher([(pattern, function)]), []
  for before, _ in sides:
    with contextlib.suppress(Exception):
      if (after := matcher.rewrite(before, {})) is not None and after is not before: out.append((before, after))
  return out


def lines_without_instance(rules: list[tuple[Any, Function]], instances: list[tuple[Node, Node]]) -> str:
  """Returns the numbers of the lines of the rules' functions that run for none of the instances, as text; empty if
  there are no instances."""
  from tinygrad.uop.ops import PatternMatcher
  if not instances: return ""
  lines, matcher = RuleLines([f for _, f in rules]), PatternMatcher(rules)
  for before, _ in instances:
    with contextlib.suppress(Exception): lines.run(functools.partial(matcher.rewrite, before, {}))
  return lines.text()


def write_rules(path: pathlib.Path, only: str, part: int = 1, of: int = 1, on_progress: Callable[[str], object] = lambda text: None) -> int:
  """Writes a recording of instances of the rules that `only` selects by place or by the name of their function: of the
  part-th of `of` parts of their places. Calls `on_progress` with a text before each rule. Returns the number of places.
  """
  places: dict[str, set[str]] = {}  # by place: words about its rules, which lib/prove/live_rules.cpp reads
  instances: dict[str, list[tuple[Node, Node]]] = {}
  sides: dict[str, list[list[tuple[Node, Node]]]] = {}  # by place: of each rule, the sides for all operands
  limits: dict[str, str] = {}  # by place: why `sides` has none
  def selected(among: list[tuple[Any, Function]]) -> list[tuple[Any, Function]]:
    return [(p, f) for p, f in among if is_place_of(rule_location(p), only) or is_function_of(f, only)]
  known, why = list(all_rules()), ""
  if not (rules := selected(known)):
    try: known += (others := list(rules_of(module, set())) if (module := module_outside(only)) else [])
    except Exception as e: others, why = [], f"the file raises {type(e).__name__} when it is imported: {str(e)[:100]}"
    rules = selected(others)
  most = MOST_OF_FEW if len(rules) <= FEW else MOST_INSTANCES
  in_part = set(list(dict.fromkeys(rule_location(p) for p, _ in rules))[part - 1::of])
  rules = [(p, f) for p, f in rules if rule_location(p) in in_part]
  for number, (pattern, function) in enumerate(rules, 1):
    where = rule_location(pattern)
    on_progress(f"making instances of rule {number} of {len(rules)}: {where}")
    words = places.setdefault(where, set())
    if is_value_rule(pattern) and not where.startswith("schedule/"): words.add("values")
    if depends_on_context(pattern, function): words.add("context")
    if (name := getattr(function, "__name__", "<lambda>")) != "<lambda>": words.add(f"function:{name}")
    instances.setdefault(where, []).extend(InstanceSearch(pattern, function).instances(most))
    pairs, limit = general_sides(pattern, function)
    if not instances[where]: instances[where] += instances_of_elements(pattern, function, pairs)[:most]
    sides.setdefault(where, []).append(pairs)
    if limit == ROUNDS_TWICE: words.add(limit)
    if not pairs: limits[where] = limit or "its function applies to no unknown operands"
  few = {where for where in places if len(instances[where]) < FEW}
  if few:
    on_progress(f"running programs for {len(few)} rules that have few instances")
    for where, pairs in matches_of_programs(few).items(): instances[where] += pairs
  for where, words in places.items():
    if text := lines_without_instance([(p, f) for p, f in rules if rule_location(p) == where], instances[where]): words.add(f"unreached:{text}")
  from tinygrad.uop.ops import UOp
  producer = f"tinygrad {installed_version()}"
  ast = UOp.sink(constant_of(0))
  header = {"format": "tgc-golden", "version": 1, "level": "kernel", "producer": producer, "settings": {}}
  matches = [(0, where, before, after, 0) for where in places for before, after in instances[where]]
  matches += [(0, where + "*", before, after, 0) for where in places if all(sides[where]) for pairs in sides[where] for before, after in pairs]
  record: JSON = {"id": "rules", "target": "CPU:CLANG", "nodes": 2, "ast": graph_text(ast, producer),
                  "stages": [{"name": "rules", "same": True}], "rewrites": matches_json(matches),
                  "metadata": [{"name": where, "caller": " ".join([*sorted(words), *([f"because:{limits[where]}"] if where in limits else [])])}
                               for where, words in places.items()] or [{"name": "", "caller": no_rule_text(only, known, why)}]}
  with gzip.open(path, "wt") as file: file.write(json.dumps(header) + "\n" + json.dumps(record) + "\n")
  return len(places)


def is_place_of(place: str, wanted: str) -> bool:
  """Returns True if FILE:LINE ends with the wanted place or, if that has no line, contains it."""
  return place.endswith(wanted) if wanted.rpartition(":")[2].isdigit() else wanted in place


def is_function_of(function: Function, wanted: str) -> bool:
  """Returns True if the function of a rule, or a function that a lambda of the rule names, has the wanted name, or if
  FILE:LINE is one of its lines."""
  code, name = getattr(function, "__code__", None), getattr(function, "__name__", "")
  if any(is_function_of(without_cache(f), wanted) for f in functions_below(function)[1:]): return True
  line = wanted.rpartition(":")[2]
  if code is None or not line.isdigit(): return bool(wanted) and name == wanted
  lines = [n for *_, n in code.co_lines() if n]
  return location_text(code.co_filename, int(line)).endswith(wanted) and code.co_firstlineno <= int(line) <= max(lines, default=0)
