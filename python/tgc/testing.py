"""pytest plugin: records the kernels and schedules that each test compiles, compares them with a golden, and runs them.

  pytest --tgc-record=run.jsonl.gz              record; the ids of the records are the ids of the tests: NODEID.0, ...
  pytest --tgc-golden=golden.jsonl.gz           fail each test whose kernels or schedules differ from the golden
  pytest --tgc-golden=golden.jsonl.gz --tgc-update      record the tests that run, and replace their records in the golden
  pytest --tgc-run                              run each kernel that a test compiles against the reference interpreter

Each test begins with empty caches of schedules and kernels and with random numbers from the seed, so a golden holds for
any selection and order of the tests. The first test that needs a tensor of a fixture or a module computes it: its graph
may be missing in the golden if the golden has its kernels. If a test passed, but no test compiled the graph of one of
its records in the golden, this record is missing: the session fails, and names it.
"""
from __future__ import annotations

import itertools
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tgc.export.golden import NATIVE_RELEASE, golden_lines, tagged_path
from tgc.export.graph_recorder import GraphRecorder
from tgc.export.hooks import call_on_import, called_by_runtime, set_attribute
from tgc.export.kinds import JSON, Function, Node
from tgc.export.versions import installed_version
from tgc.golden_of_tests import LEVELS, GoldenRecords, record_digests, schedule_kernels, test_of, with_numbered_buffers
from tgc.process import TgcError, visible
from tgc.rule_changes import header_entry, matched_rules, rule_hashes

FIRST_BUFFER = 1 << 20  # number of a process's first buffer; a schedule's temporary buffers have small numbers
SECONDS = 30


def pytest_addoption(parser: pytest.Parser) -> None:
  group = parser.getgroup("tgc", "tinygrad's compiler, recorded and compared by tgc")
  group.addoption("--tgc-record", metavar="FILE", help="record what each test compiles: FILE.jsonl.gz")
  group.addoption("--tgc-golden", metavar="FILE", help="fail the tests whose kernels or schedules differ from this recording")
  group.addoption("--tgc-update", action="store_true", help="replace the records of the tests that run in the golden")
  group.addoption("--tgc-run", action="store_true", help="run each kernel that a test compiles, compare the results with REF, find the wrong rule")
  group.addoption("--tgc-repro", metavar="FOLDER", help="where --tgc-run keeps failing kernels; default: a new folder for temporary files")
  group.addoption("--tgc-no-rewrites", action="store_true", help="do not record the rewrites, which name the rule of a difference")


def pytest_configure(config: pytest.Config) -> None:
  option = config.option
  if option.tgc_update and not option.tgc_golden: raise pytest.UsageError("--tgc-update needs --tgc-golden=FILE")
  if option.tgc_golden and not option.tgc_update and not os.path.exists(option.tgc_golden):
    raise pytest.UsageError(f"--tgc-golden: there is no file {option.tgc_golden}; --tgc-update makes it")
  if option.tgc_record or option.tgc_golden or option.tgc_run: config.pluginmanager.register(RecordingPlugin(config), "tgc-recorder")


class TestRecorder(GraphRecorder):
  """Records one test after another: `made` holds the records of the running test."""

  def __init__(self, options: JSON, is_child: bool) -> None:
    super().__init__(options, is_child)
    self.writes_file = bool(options["writes_file"])
    self.made: list[tuple[str, JSON]] = []

  def watch(self) -> None:
    super().watch()
    from tinygrad.uop.ops import UOp
    set_attribute(UOp, "unique_num", itertools.count(FIRST_BUFFER))

  def begin(self, test: str) -> None:
    from tgc.capture import schedule_caches
    self.prefix, self.kernel_ids, self.schedules = test, {}, 0
    self.made.clear()
    self.recorded.clear()
    for cache in schedule_caches(): cache.clear()
    tensor = getattr(sys.modules.get("tinygrad.tensor"), "Tensor", None)
    for name in ("_device_seeds", "_device_rng_counters"):  # made when a process first asks for random numbers
      if isinstance(made := getattr(tensor, name, None), dict): made.clear()

  def id_prefix(self) -> str: return self.prefix

  def kernel_id(self, ast: Any) -> str:
    # tinygrad's runtime compiles its kernels once in a process: they must not shift the numbers of the others
    return f"{self.prefix}.runtime" if called_by_runtime() else super().kernel_id(ast)

  def compile(self, function: Function, ast: Node, renderer: Any, *args: Any, target: str | None = None, **kwargs: Any) -> Any:
    # Up to 0.13, tinygrad numbers kernels of the same shape in the order in which it compiles them: r_8_8, r_8_8n1.
    for module, name in (("postrange", "Scheduler"), ("kernel", "Kernel")):
      kind = getattr(sys.modules.get(f"tinygrad.codegen.opt.{module}"), name, None)
      if (counts := getattr(kind, "kernel_cnt", None)) is not None: counts.clear()
    return super().compile(function, ast, renderer, *args, target=target, **kwargs)

  def write(self, level: str, record: JSON, settings: Any, metadata: Any = None) -> None:
    if record.get("runtime"): return
    kept = level in LEVELS
    if self.writes_file or not kept: super().write(level, record, settings, metadata)
    if kept: self.made.append((level, record | ({"settings": settings} if settings else {})))


@dataclass(frozen=True)
class RecordProblem:
  """A fault of the kernels or schedules of a test: a report, a line for pytest's summary, and rules (file and line),
  the cause first."""
  text: str
  line: str
  rules: tuple[str, ...] = ()


class RecordingPlugin:
  def __init__(self, config: pytest.Config) -> None:
    option = config.option
    self.config, self.is_worker = config, hasattr(config, "workerinput")
    self.target = pathlib.Path(option.tgc_golden if option.tgc_update else option.tgc_record or "none.jsonl.gz").absolute()
    self.writes_file = bool(option.tgc_record or option.tgc_update)
    self.output = tagged_path(self.target, "new") if option.tgc_update else self.target
    self.ran: set[str] = set()
    self.passed: set[str] = set()
    self.golden: GoldenRecords | None = None
    self.seen: set[bytes] = set()
    self.scheduled: set[bytes] = set()
    self.other_order: set[str] = set()  # the tests of which GoldenRecords.differs_by_order() is true
    self.missing: list[str] = []
    self.verdicts: dict[tuple[bytes, bytes], RecordProblem | None] = {}  # digests of a kernel: what is wrong with its results
    self.rules: dict[str, list[str]] = {}
    self.hashes: dict[str, str] = {}
    # With xdist, the workers record, and the controller merges their files.
    self.records = self.is_worker or not getattr(option, "numprocesses", None)
    self.recorder = self.begin() if self.records else None
    if not self.is_worker and not self.records and self.writes_file: self.recorder_of(False).writer.remove_old()

  def recorder_of(self, is_child: bool) -> TestRecorder:
    option = self.config.option
    return TestRecorder({"output": str(self.output), "targets": [], "id": "test", "save_inputs": False, "version": self.version(),
                         "rewrites": not option.tgc_no_rewrites, "writes_file": self.writes_file}, is_child)

  @staticmethod
  def version() -> str:
    found = installed_version()
    if found is None: raise pytest.UsageError("the options of tgc need tinygrad; run pip install tinygrad")
    return found

  def begin(self) -> TestRecorder:
    os.environ.setdefault("PARALLEL", "0")  # kernels that other processes compile would be missing
    recorder = self.recorder_of(self.is_worker)
    if not self.is_worker and self.writes_file: recorder.writer.remove_old()
    sys.setrecursionlimit(max(sys.getrecursionlimit(), 20000))
    call_on_import("tinygrad", lambda _: recorder.watch())
    return recorder

  @pytest.hookimpl(wrapper=True)
  def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[Any]:
    if self.recorder: self.recorder.begin(item.nodeid)
    return (yield)

  @pytest.hookimpl(wrapper=True)
  def pytest_runtest_call(self, item: pytest.Item) -> Iterator[Any]:
    try: return (yield)
    finally:
      if self.recorder and not isinstance(sys.exc_info()[1], (KeyboardInterrupt, SystemExit, pytest.exit.Exception)):
        item.stash[PROBLEMS] = self.problems(item.nodeid, self.recorder)

  @pytest.hookimpl(wrapper=True, tryfirst=True)
  def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    problems = item.stash.get(PROBLEMS, []) if call.when == "call" else []
    if problems and not report.skipped and not hasattr(report, "wasxfail"): fail(report, problems)
    return report

  def problems(self, test: str, recorder: TestRecorder) -> list[RecordProblem]:
    option, out = self.config.option, []
    try:
      if option.tgc_golden and not option.tgc_update: out += self.differences(test, recorder)
      if option.tgc_run: out += self.wrong_kernels(test, recorder)
    except TgcError as e: out.append(RecordProblem(f"tgc: {test} could not be checked: {e}", "tgc could not check this test"))
    return out

  def differences(self, test: str, recorder: TestRecorder) -> list[RecordProblem]:
    from tgc.reports import diff
    if self.golden is None: self.golden = GoldenRecords(pathlib.Path(self.config.option.tgc_golden))
    texts: list[str] = []
    counts: list[str] = []
    rules: dict[str, None] = {}
    for level in LEVELS:
      records = [r for kind, r in recorder.made if kind == level]
      hashes = [record_digests(level, r) for r in records]
      self.seen.update(key for key, _ in hashes)
      changed = [(r, key) for r, (key, made) in zip(records, hashes, strict=True) if made not in self.golden.made.get(key, ())]
      if level == "tensor":
        kernels = schedule_kernels(records)
        if self.golden.differs_by_order(test, kernels, self.scheduled):
          self.other_order.add(test)
          changed = [(r, key) for r, key in changed if key in self.golden.made]
        self.scheduled.update(kernels)
      if not changed: continue
      what = "kernel" if level == "kernel" else "schedule"
      with tempfile.TemporaryDirectory(prefix="tgc.") as folder:
        lines = self.golden.lines_for(test, level, [key for _, key in changed])
        known = {key for key, _ in hashes}
        lines = [line for line in lines if (key := record_digests(level, json.loads(line))[0]) not in known or key in {k for _, k in changed}]
        counts.append(f"{len(changed)} {what}{'s' if len(changed) > 1 else ''}")
        if not lines:
          texts.append(f"tgc: the golden has no {what} like {len(changed)} of this test; --tgc-update replaces its records")
          continue
        before, after = [json.loads(line) for line in lines], [r for r, _ in changed]
        if level == "tensor": before, after = [with_numbered_buffers(r) for r in before], [with_numbered_buffers(r) for r in after]
        old = write_recording(folder, "golden", self.golden.headers[level], [json.dumps(r) for r in before])
        new = write_recording(folder, "now", header_of(level, recorder), [json.dumps(r) for r in after])
        found = diff(old, new, show=3)
        own = dict.fromkeys(visible(r.rule) for r in found.differing if r.rule)
        # a rule that the comparison names may only match because another one changed: edited rules, if any, are the
        # cause
        edited = [visible(r) for r in self.golden.changes.changed_among(matched_rules(before), matched_rules(after))]
        if edited: own = dict.fromkeys(sorted(edited, key=lambda rule: not any(rule in o.split(" -> ") for o in own)))
        rules |= own
        texts.append(f"tgc: a {what} of this test differs from the golden" + (f"; first rule: {', '.join(sorted(own))}" if own else ""))
        texts.append(found.text.replace(folder + os.sep, "").rstrip())
    if not counts: return []
    many = f" and {len(rules) - 1} more" if len(rules) > 1 else ""
    line = f"{' and '.join(counts)} differ{'s' if counts[0][:2] == '1 ' and len(counts) == 1 else ''} from the golden"
    return [RecordProblem("\n".join(texts), f"{next(iter(rules))}{many}: {line}" if rules else f"tgc: {line}", tuple(rules))]

  def wrong_kernels(self, test: str, recorder: TestRecorder) -> list[RecordProblem]:
    for number, record in enumerate(r for kind, r in recorder.made if kind == "kernel" and "error" not in r):
      if (key := record_digests("kernel", record)) not in self.verdicts: self.verdicts[key] = self.wrong_kernel(test, number, record, recorder)
    found = (self.verdicts.get(record_digests("kernel", r)) for kind, r in recorder.made if kind == "kernel")
    return list(dict.fromkeys(problem for problem in found if problem))

  def wrong_kernel(self, test: str, number: int, record: JSON, recorder: TestRecorder) -> RecordProblem | None:
    """Runs a kernel. If the result is wrong, keeps the kernel in a file and finds the rule that makes it wrong.
    pytest's summary lists the kernels that could not be run or compared."""
    from tgc.recording import load
    from tgc.reports import bisect, run
    with tempfile.TemporaryDirectory(prefix="tgc.") as folder:
      file = write_recording(folder, "kernel", header_of("kernel", recorder), [json.dumps(record)])
      kernel = load(file).kernels[0]
      try: result = run(kernel)
      except TgcError as e:
        self.config.stash.setdefault(NOT_RUN, []).append(f"{record['id']}: {e}")
        return None
      if not any(r.result == "failed" for r in result):
        if not result.passed: self.config.stash.setdefault(NOT_RUN, []).append(f"{record['id']}: nothing was compared")
        return None
      kept = self.repro_folder() / (re.sub(r"[^\w.-]+", "_", f"{test}.{number}") + ".jsonl")
      shutil.copy(file, kept)
    words = ["--recorded"] * kernel.producer.endswith(NATIVE_RELEASE)
    commands = [" ".join(["tgc", command, *words, str(kept)]) for command in ("run", "bisect")]
    rule, cause = None, "not searched: --tgc-no-rewrites leaves out the rewrites that bisect needs"
    if not self.config.option.tgc_no_rewrites:
      try: found = bisect(kept, seconds=SECONDS, recorded=bool(words))
      except TgcError as e: cause = f"not found: {e}"
      else: rule, cause = found.facts.get("rule"), visible(f"{found.facts['verdict']} {found.facts.get('rule') or ''}".rstrip())
    line = f"kernel {record['id']} computes a wrong result"
    return RecordProblem(f"tgc: kernel {result[0]}\n  cause: {cause}\n  repeat: {commands[0]}\n  find the cause: {commands[1]}",
                         visible(f"{rule}: {line}" if rule else f"tgc: {line}"), (visible(rule),) if rule else ())

  def repro_folder(self) -> pathlib.Path:
    option = self.config.option
    if not option.tgc_repro: option.tgc_repro = tempfile.mkdtemp(prefix="tgc-repro.")
    folder = pathlib.Path(option.tgc_repro)
    folder.mkdir(parents=True, exist_ok=True)
    return folder

  def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
    self.ran.add(report.nodeid)
    if report.when == "call" and report.passed: self.passed.add(report.nodeid)
    for key, value in report.user_properties if report.when == "call" else ():
      if key == "tgc_rule": self.rules.setdefault(str(value), []).append(report.nodeid)

  @pytest.hookimpl(optionalhook=True)
  def pytest_testnodedown(self, node: Any) -> None:
    self.seen.update(bytes.fromhex(key) for key in node.workeroutput.get("tgc_seen", ()))
    self.other_order.update(node.workeroutput.get("tgc_other_order", ()))
    self.config.stash.setdefault(NOT_RUN, []).extend(node.workeroutput.get("tgc_not_run", ()))
    self.hashes |= node.workeroutput.get("tgc_rules", {})

  def find_missing(self, session: pytest.Session) -> None:
    golden = self.golden or GoldenRecords(pathlib.Path(self.config.option.tgc_golden))
    self.missing = [name for test in sorted(self.passed) for name, key in golden.keys.get(test, ()) if key not in self.seen
                    and not (test in self.other_order and golden.sources[key][0] == "tensor")]
    if self.missing: session.exitstatus = pytest.ExitCode.TESTS_FAILED

  def pytest_sessionfinish(self, session: pytest.Session) -> None:
    if self.recorder: self.recorder.writer.close()
    if self.recorder and self.config.option.tgc_update and "tinygrad.uop.ops" in sys.modules: self.hashes = rule_hashes()
    if self.is_worker:
      output = self.config.workeroutput  # type: ignore[attr-defined]
      output["tgc_seen"], output["tgc_not_run"] = [key.hex() for key in self.seen], self.config.stash.get(NOT_RUN, [])
      output["tgc_rules"], output["tgc_other_order"] = self.hashes, sorted(self.other_order)
      return
    if self.config.option.tgc_golden and not self.config.option.tgc_update: self.find_missing(session)
    if not self.writes_file: return
    merged = self.recorder.writer if self.recorder else self.recorder_of(False).writer
    merged.merge_parts()
    merged.close()
    if self.config.option.tgc_update: self.replace_records()

  def replace_records(self) -> None:
    """Puts the new records in place of the golden's records of the tests that ran."""
    for level in LEVELS:
      old, new = (path if level == "kernel" else tagged_path(path, level) for path in (self.target, self.output))
      if not new.exists() and not old.exists(): continue
      before = list(golden_lines(old)) if old.exists() else []
      now = list(golden_lines(new)) if new.exists() else before[:1]
      kept = [line for line in before[1:] if test_of(json.loads(line)["id"]) not in self.ran]
      header = json.loads(now[0]) | (header_entry(self.hashes) if level == "kernel" and self.hashes else {})
      write_lines(old, [json.dumps(header), *kept, *now[1:]])
      new.unlink(missing_ok=True)
    jit = tagged_path(self.output, "jit")
    if jit.exists(): shutil.move(jit, tagged_path(self.target, "jit"))

  def pytest_terminal_summary(self, terminalreporter: Any) -> None:
    if self.is_worker: return
    for line in self.config.stash.get(NOT_RUN, []): terminalreporter.write_line(f"tgc: not run: {visible(line)}")
    for name in self.missing: terminalreporter.write_line(f"tgc: missing: {visible(name)} of the golden, which no test compiles now", red=True)
    for rule, tests in sorted(self.rules.items(), key=lambda x: (-len(x[1]), x[0])):
      more = f" and {len(tests) - 3} more" if len(tests) > 3 else ""
      terminalreporter.write_line(f"tgc: rule {rule}: {len(tests)} failed: {visible(', '.join(tests[:3]))}{more}", red=True)
    if self.writes_file and self.target.exists(): terminalreporter.write_line(f"tgc: wrote {self.target}")


NOT_RUN = pytest.StashKey[list[str]]()
PROBLEMS = pytest.StashKey[list[RecordProblem]]()


def fail(report: pytest.TestReport, problems: list[RecordProblem]) -> None:
  """Makes a test fail for problems. If the test has failed already, its own failure is shown after the problems."""
  try: pytest.fail("\n".join(p.text for p in problems), pytrace=False)
  except pytest.fail.Exception: shown: Any = pytest.ExceptionInfo.from_current().getrepr(style="value")
  shown.reprcrash.message = problems[0].line
  own: Any = report.longrepr
  chain = list(shown.chain)
  if report.failed and hasattr(own, "reprtraceback"):
    before = [(traceback, text) for traceback, _, text in getattr(own, "chain", [(own.reprtraceback, None, None)])]
    chain = [(shown.reprtraceback, shown.reprcrash, "The test itself fails, too:"), *((tb, shown.reprcrash, text) for tb, text in before)]
  report.longrepr, report.outcome = type(shown)(chain), "failed"
  report.user_properties += [("tgc_rule", rule) for problem in problems for rule in problem.rules[:1]]


def header_of(level: str, recorder: TestRecorder) -> str:
  header = {"format": "tgc-golden", "version": 1, "level": level, "producer": recorder.producer}
  return json.dumps({**header, "settings": recorder.header_settings})


def write_recording(folder: str, name: str, header: str, lines: list[str]) -> str:
  path = pathlib.Path(folder, f"{name}.jsonl")
  write_lines(path, [header, *lines])
  return str(path)


def write_lines(path: pathlib.Path, lines: list[str]) -> None:
  import gzip
  data = "".join(line.rstrip("\n") + "\n" for line in lines).encode()
  path.write_bytes(gzip.compress(data, 6) if path.suffix == ".gz" else data)
