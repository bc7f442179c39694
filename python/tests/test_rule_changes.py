"""Tests how the pytest plugin finds changed rules and numbers buffers."""
from __future__ import annotations

import json
import types

import pytest
from tgc.golden_of_tests import with_numbered_buffers
from tgc.rule_changes import RuleChanges, header_entry, matched_rules, rule_hashes, without_comments


def named_rule() -> tuple[str, types.FunctionType]:
  """Returns the place of a rule of tinygrad whose right side is a function with a name, and the function."""
  from tgc.export.matches import rule_location
  from tinygrad.uop.symbolic import symbolic
  return next((rule_location(p), f) for p, f in symbolic.patterns if f.__name__ != "<lambda>" and not f.__closure__)


def test_only_the_changed_rule_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
  place, function = named_rule()
  before = rule_hashes()
  assert len(before) > 300 and place in before
  assert RuleChanges(header_entry(before)).changed_among(before, before) == []
  code = function.__code__
  monkeypatch.setattr(function, "__code__", code.replace(co_consts=(*code.co_consts, "another constant")))
  changes = RuleChanges(header_entry(before)).changed_among(before, before)
  assert place in changes
  assert len(changes) < 20  # those whose right side is this function, or calls it


def test_other_objects_are_not_asked() -> None:
  class Refuses:
    def __getattribute__(self, name: str) -> object: raise AssertionError(name)
  refuses = Refuses()
  assert rule_hashes()
  del refuses


def changes(then: dict[str, str], now: dict[str, str]) -> RuleChanges:
  out = RuleChanges(header_entry(then))
  out.now = now
  return out


def test_moved_removed_and_new_rules() -> None:
  # a new line 2 moved the rules below it; the rule that was in line 2 has changed
  moved = changes({"a.py:1": "A", "a.py:2": "B", "a.py:3": "C"}, {"a.py:1": "A", "a.py:3": "B2", "a.py:4": "C"})
  assert moved.changed_among(["a.py:1", "a.py:2", "a.py:3"], ["a.py:1"]) == ["a.py:3"]
  assert moved.changed_among(["a.py:1", "a.py:3"], []) == []  # the changed rule did not match
  removed = changes({"a.py:1": "A", "a.py:2": "B"}, {"a.py:1": "A"})
  assert removed.changed_among(["a.py:2", "a.py:1"], []) == ["a.py:2"]
  added = changes({"a.py:1": "A"}, {"a.py:1": "A", "a.py:9": "N"})
  assert added.changed_among(["a.py:1"], ["a.py:9", "a.py:1"]) == ["a.py:9"]


def test_other_pythons_and_old_goldens_are_not_compared() -> None:
  header = header_entry({"a.py:1": "A"})
  header["rule_hashes"]["python"] = "2.7"
  assert RuleChanges(header).changed_among(["a.py:1"], ["a.py:1"]) == []
  assert RuleChanges({}).changed_among(["a.py:1"], ["a.py:1"]) == []


def test_comments_do_not_change_a_rule() -> None:
  assert without_comments('(UPat.var("x") * 1,\n  lambda x: x),  # x*1') == without_comments('(UPat.var("x")*1, lambda x: x), # x * 1 -> x')
  assert without_comments("(UPat(1, lambda x: x),") != without_comments("(UPat(1, lambda x: y),")


def test_matched_rules_are_in_order() -> None:
  records = [{"rewrites": {"list": [[0, "b.py:2", 0, 1, 0], [0, "a.py:1", 1, 2, 0], [1, "b.py:2", 2, 3, 0]]}}, {}]
  assert matched_rules(records) == ["b.py:2", "a.py:1"]


def test_buffers_of_a_record_are_numbered_alike() -> None:
  def record(first: int, second: int) -> dict[str, object]:
    node = {"op": "BUFFER", "dtype": "dtypes.float", "src": [0], "arg": {"ParamArg": {"*": [second, 1]}}}
    graph = "\n".join(json.dumps(n, separators=(",", ":")) for n in ({"op": "UNIQUE", "dtype": "dtypes.void", "arg": first}, node))
    return {"ast": graph, "stages": [{"name": "a", "ir": graph}], "kernels": [{"ast": graph}], "rewrites": {"nodes": [node], "list": []}}
  assert with_numbered_buffers(record(70, 71)) == with_numbered_buffers(record(5, 9))
  assert with_numbered_buffers(record(70, 70)) != with_numbered_buffers(record(5, 9))
