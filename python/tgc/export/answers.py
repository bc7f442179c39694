"""Answers tgc's questions about graphs with the installed tinygrad: one line of JSON per question and per answer.

lib/compare/README.md and lib/live/README.md describe the protocols. A question with a "stage" asks for the result of
that stage. A question without one asks for the golden record of a kernel, {"record": ...}:
  "after"   stages that the graph has been through already; they are skipped
  "until"   the last stage to run
  "texts"   {stage: text in tgc}; stops after the first stage whose text differs, and records its rule matches
With "level": "tensor" the graph is a tensor graph, and the answer is the record of its schedule.

Releases other than 0.12.0 answer only questions without a stage. They run all stages and, if there are "texts", record
the matches of all. live.py answers questions with the member "live" or "about", rule_program.py those with the member
"program".
"""
from __future__ import annotations

import contextlib
import functools
import io
import json
import os
import resource
import sys
from collections.abc import Iterator
from typing import Any

from tinygrad import codegen, helpers
from tinygrad.uop import ops
from tinygrad.uop.ops import KernelInfo, PatternMatcher

from tgc.export.golden import NATIVE_RELEASE, SETTINGS
from tgc.export.graph_reader import parse_nodes
from tgc.export.graph_text import GraphTextError
from tgc.export.hooks import replaced_attribute
from tgc.export.kinds import JSON, Function, Node, Settings
from tgc.export.live import live_recorder
from tgc.export.matches import matches_json, rewrite_with_callback
from tgc.export.records import StageLimits, kernel_record, make_renderer, pyrender_text, replayed_schedule
from tgc.export.rule_program import answer_program

RENDERERS: JSON = {}
CPU_SECONDS = 30  # per answer in a child process; tgc waits for one minute
READ_ON_IMPORT = {"ALLOW_HALF8"}
# with_settings() sets SPEC to at most 1: with more, tinygrad would run the texts of graphs as programs.
ALLOWED_SETTINGS = {*SETTINGS, "IGNORE_OOB", "NO_MEMORY_PLANNER", "REWRITE_STACK_LIMIT", "SPEC"}


class StageDone(Exception): pass


@contextlib.contextmanager
def with_settings(settings: JSON) -> Iterator[None]:
  """Applies a question's numeric settings that are in ALLOWED_SETTINGS, SPEC up to 1. Raises ValueError for a changed
  setting of READ_ON_IMPORT."""
  numeric = {k: v for k, v in settings.items() if k in ALLOWED_SETTINGS and v.lstrip("-").isdigit()}
  if int(numeric.get("SPEC", 0)) > 1: numeric["SPEC"] = "1"
  in_context = {k: int(v) for k, v in numeric.items() if k in helpers.ContextVar._cache}
  in_environment = {k: v for k, v in numeric.items() if k not in in_context}
  for name in READ_ON_IMPORT & in_environment.keys():
    if int(in_environment[name]) != int(os.environ.get(name) or 0): raise ValueError(f"{name} cannot be changed")
  before = {k: os.environ.get(k) for k in in_environment}
  def set_environment(values: Settings) -> None:
    for k, v in values.items():
      if v is None: os.environ.pop(k, None)
      else: os.environ[k] = v
    getattr(helpers.getenv, "cache_clear", lambda: None)()
  set_environment(in_environment)
  try:
    with helpers.Context(**in_context): yield
  finally: set_environment(before)


def renderer_of(target: str) -> Any:
  if target not in RENDERERS: RENDERERS[target] = make_renderer(target)
  return RENDERERS[target]


def run_stage(name: str, sink: Node, renderer: Any) -> Any:
  from tinygrad.codegen.opt.postrange import Scheduler
  result = None
  def only_stage(function: Function, stage_name: str | None) -> Any:
    def call(_graph: Any, *args: Any, **kwargs: Any) -> Any:
      nonlocal result
      if (stage_name or kwargs["name"]) != name: return sink
      result = function(sink, *args, **kwargs)
      raise StageDone
    return call
  Scheduler.kernel_cnt.clear()
  try:
    with (replaced_attribute(codegen, "graph_rewrite", only_stage(codegen.graph_rewrite, None)),
          replaced_attribute(codegen, "apply_opts", only_stage(codegen.apply_opts, "apply opts")),
          helpers.Context(DEBUG=0, BEAM=0, SPEC=0)):
      codegen.full_rewrite_to_sink(sink, renderer, optimize=True)
  except StageDone: pass
  return result


def linear_list_of(sink: Node) -> Any: return codegen.line_rewrite(codegen.linearize(sink), codegen.pm_linearize_cleanups)


def linear_listing(lines: Any) -> str:
  out = io.StringIO()
  with contextlib.redirect_stdout(out): ops.print_uops(lines)
  return out.getvalue()


def stage_of(question: JSON) -> Any:
  """Returns the graph, the linear list or the source that a stage makes; None if tinygrad lacks it, or without a
  target."""
  target, stage = question["target"], question["stage"]
  if not target: return None
  nodes = parse_nodes(question["graph"])
  with with_settings(question["settings"]):
    if stage == "source": return renderer_of(target).render([nodes[i] for i in question["graph"]["list"]])
    sink = nodes[-1] if nodes[-1].arg is not None else nodes[-1].replace(arg=KernelInfo())
    return linear_list_of(sink) if stage == "linear" else run_stage(stage, sink, renderer_of(target))


def reply_of(result: Any) -> Any:
  if result is None: return {"not_supported": True}
  if isinstance(result, str): return {"source": result}
  return {"graph": linear_listing(result) if isinstance(result, list) else pyrender_text(result)}


class LimitsWithMatches(StageLimits):
  def __init__(self, *args: Any) -> None:
    super().__init__(*args)
    self.matches: list[Any] = []
  def begin(self, name: str) -> None: self.matches = []
  def add_match(self, *match: Any) -> None: self.matches.append(match)


def schedule_of(question: JSON) -> JSON | None:
  sink = parse_nodes(question["graph"])[-1]
  with with_settings(question["settings"]): return replayed_schedule(question["id"], sink)


def record_of(question: JSON) -> JSON | None:
  if question.get("level") == "tensor": return schedule_of(question)
  sink, target = parse_nodes(question["graph"])[-1], question["target"]
  limits = LimitsWithMatches(question.get("after", ()), question.get("until"), question.get("texts", ()))
  with with_settings(question["settings"]), replaced_attribute(PatternMatcher, "rewrite", rewrite_with_callback(limits.add_match)):
    record = kernel_record(question["id"], target, sink, renderer_of(target), limits)
  if "texts" in question:
    last = len(record["stages"]) - 1
    record["rewrites"] = matches_json([(last, *match) for match in limits.matches])
  return record


def error_reply(error: BaseException) -> JSON: return {"error": str(error) if isinstance(error, GraphTextError) else repr(error)}


def answer_in_child(answer: Function, question: JSON, out: Any) -> None:
  """Answers in a forked process: tinygrad's caches then cannot influence later answers (before 0.13, its node cache
  takes 0.0 and -0.0 for the same constant), and a crash becomes an answer."""
  if question["target"] and "live" not in question: renderer_of(question["target"])
  child = os.fork()
  if child == 0:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    try: reply = answer(question)
    except (Exception, SystemExit) as e: reply = error_reply(e)
    print(json.dumps(reply), file=out, flush=True)
    os._exit(0)
  if status := os.waitpid(child, 0)[1]: print(json.dumps({"error": f"tinygrad ended with status {status}"}), file=out, flush=True)


def answer_all(stage_of: Function = stage_of, version: str = NATIVE_RELEASE) -> None:
  """Answers questions until standard input ends. Output of tinygrad goes to standard error."""
  sys.setrecursionlimit(20000)
  make_record, live = record_of, functools.cache(lambda: live_recorder(version))
  if version != NATIVE_RELEASE: make_record, stage_of = live().record_of_native, lambda question: None
  out = os.fdopen(os.dup(1), "w")
  os.dup2(2, 1)
  for line in sys.stdin:
    try:
      question = json.loads(line)
      if "stage" not in question and not question.keys() & {"live", "about", "program"}:
        answer_in_child(lambda question: {"record": make_record(question)}, question, out)
        continue
      if question.get("rewrites") or question.get("leave_out"):
        with contextlib.suppress(Exception): live().prepare(question)  # the child reports an error of the target
        answer_in_child(live().answer, question, out)
        continue
      if "program" in question: reply = answer_program(question["program"])
      else: reply = reply_of(stage_of(question)) if "stage" in question else live().answer(question)
    except BrokenPipeError: os._exit(1)  # tgc has closed the pipe
    except (Exception, SystemExit) as e: reply = error_reply(e)
    print(json.dumps(reply), file=out, flush=True)
