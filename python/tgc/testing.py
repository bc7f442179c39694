"""pytest plugin: records the kernels and schedules that each test compiles, compares them with a golden, and runs them.

  pytest --tgc-record=run.jsonl.gz              record; the ids of the records are the ids of the tests: NODEID.0, ...
  pytest --tgc-golden=golden.jsonl.gz           fail each test whose kernels or schedules differ from the golden
  pytest --tgc-golden=golden.jsonl.gz --tgc-update      record the tests that run, and replace their records in the golden
  pytest --tgc-run                              run each kernel that a test compiles against the reference interpreter

tinygrad compiles a kernel once in a process. If several tests use a kernel, it belongs to the first of them. Records are
compared with the golden's record of the same input graph, so the selection and the order of the tests do not matter.
A record of a test that passed, and whose graph no test compiled, is missing: the session fails, and names it.
"""
from __future__ import annotations

import contextlib
import hashlib
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tgc.export.golden import NATIVE_RELEASE, golden_lines, tagged_path
from tgc.export.graph_recorder import GraphRecorder
from tgc.export.hooks import call_on_import, called_by_runtime
from tgc.export.kinds import JSON, Function, Node
from tgc.export.versions import installed_version
from tgc.process import visible

LEVELS = ("kernel", "tensor")
BUFFER_NUMBER = re.compile(r'("op":"UNIQUE"[^\n]*"arg":|"op":"BUFFER"[^\n]*"ParamArg":\{"\*":\[)(\d+)')


def pytest_addoption(parser: pytest.Parser) -> None:
  group = parser.getgroup("tgc", "tinygrad's compiler, recorded and compared by tgc")
  group.addoption("--tgc-record", metavar="FILE", help="record what each test compiles: FILE.jsonl.gz")
  group.addoption("--tgc-golden", metavar="FILE", help="fail the tests whose kernels or schedules differ from this recording")
  group.addoption("--tgc-update", action="store_true", help="replace the records of the tests that run in the golden")
  group.addoption("--tgc-run", action="store_true", help="run each kernel that a test compiles, and compare the results with REF")
  group.addoption("--tgc-repro", metavar="FOLDER", default="tgc-repro", help="where --tgc-run writes repro bundles")
  group.addoption("--tgc-no-rewrites", action="store_true", help="do not record the rewrites, which name the rule of a difference")


def pytest_configure(config: pytest.Config) -> None:
  option = config.option
  if option.tgc_update and not option.tgc_golden: raise pytest.UsageError("--tgc-update needs --tgc-golden=FILE")
  if option.tgc_golden and not option.tgc_update and not os.path.exists(option.tgc_golden):
    raise pytest.UsageError(f"--tgc-golden: there is no file {option.tgc_golden}; --tgc-update makes it")
  if option.tgc_record or option.tgc_golden or option.tgc_run: config.pluginmanager.register(Plugin(config), "tgc-recorder")


class TestRecorder(GraphRecorder):
  """Records one test after another: `made` holds the records of the running test."""

  def __init__(self, options: JSON, is_child: bool) -> None:
    super().__init__(options, is_child)
    self.writes_file = bool(options["writes_file"])
    self.made: list[tuple[str, JSON]] = []  # (level, record)

  def begin(self, test: str) -> None:
    self.prefix, self.kernel_ids, self.schedules = test, {}, 0
    self.made.clear()

  def id_prefix(self) -> str: return self.prefix

  def kernel_id(self, ast: Any) -> str:
    # tinygrad's runtime compiles its kernels once in a process: they must not shift the numbers of the others
    return f"{self.prefix}.runtime" if called_by_runtime() else super().kernel_id(ast)

  def compile(self, function: Function, ast: Node, renderer: Any, *args: Any, target: str | None = None, **kwargs: Any) -> Any:
    # Until 0.13, tinygrad numbers kernels of the same shape in the order in which it compiles them: r_8_8, r_8_8n1.
    for module, name in (("postrange", "Scheduler"), ("kernel", "Kernel")):  # 0.12 and 0.13, 0.11
      kind = getattr(sys.modules.get(f"tinygrad.codegen.opt.{module}"), name, None)
      if (counts := getattr(kind, "kernel_cnt", None)) is not None: counts.clear()
    return super().compile(function, ast, renderer, *args, target=target, **kwargs)

  def write(self, level: str, record: JSON, settings: Any, metadata: Any = None) -> None:
    if record.get("runtime"): return
    kept = level in LEVELS
    if self.writes_file or not kept: super().write(level, record, settings, metadata)
    if kept: self.made.append((level, record | ({"settings": settings} if settings else {})))


def numbered_buffers(graph: str) -> str:
  """Numbers the buffers of a graph by their first use: tinygrad numbers them by process."""
  numbers: dict[str, int] = {}
  return BUFFER_NUMBER.sub(lambda m: m[1] + str(numbers.setdefault(m[2], len(numbers))), graph)


def digest(*parts: Any) -> bytes: return hashlib.sha256("\0".join(map(str, parts)).encode()).digest()


def digests(level: str, record: JSON) -> tuple[bytes, bytes]:
  """Returns hashes of what a record was made of, and of what was made: equal hashes mean equal records."""
  graph: Callable[[str], str] = numbered_buffers if level == "tensor" else str
  key = digest(level, graph(record["ast"]), record.get("target"), sorted((record.get("settings") or {}).items()))
  stages = [(s["name"], graph(s.get("ir") or "")) for s in record.get("stages", ())]
  kernels = [kernel["ast"] for kernel in record.get("kernels", ())]
  return key, digest(stages, kernels, record.get("source"), record.get("error"))


class Golden:
  """The records of a golden. `made` maps what a record was made of to what was made: a schedule that tinygrad's cache
  knows has fewer stages, so equal graphs may have several records."""

  def __init__(self, path: pathlib.Path) -> None:
    self.made: dict[bytes, set[bytes]] = {}
    self.sources: dict[bytes, tuple[str, str]] = {}  # level and line
    self.headers: dict[str, str] = {}
    self.tests: dict[tuple[str, str], list[str]] = {}  # (level, test): its lines
    self.keys: dict[str, list[tuple[str, bytes]]] = {}  # test: ids of its records, and what they were made of
    for level in LEVELS:
      file = path if level == "kernel" else tagged_path(path, level)
      lines = golden_lines(file) if file.exists() else iter(())
      self.headers[level] = next(lines, "")
      for line in lines:
        record = json.loads(line)
        key, made = digests(level, record)
        self.made.setdefault(key, set()).add(made)
        self.sources.setdefault(key, (level, line))
        self.tests.setdefault((level, test_of(record["id"])), []).append(line)
        self.keys.setdefault(test_of(record["id"]), []).append((record["id"], key))

  def lines_for(self, test: str, level: str, wanted: list[bytes]) -> list[str]:
    """Returns the golden's lines to compare a test with: those of equal input graphs, and the other ones of the test."""
    found = [line for key in wanted for kind, line in [self.sources.get(key, ("", ""))] if kind == level]
    return found + [line for line in self.tests.get((level, test), ()) if line not in found]


def test_of(record_id: str) -> str:
  """Returns the test of a record: NODEID of NODEID.3."""
  return record_id.rpartition(".")[0]


class Plugin:
  def __init__(self, config: pytest.Config) -> None:
    option = config.option
    self.config, self.is_worker = config, hasattr(config, "workerinput")
    self.target = pathlib.Path(option.tgc_golden if option.tgc_update else option.tgc_record or "none.jsonl.gz").absolute()
    self.writes_file = bool(option.tgc_record or option.tgc_update)
    self.output = tagged_path(self.target, "new") if option.tgc_update else self.target
    self.ran: set[str] = set()
    self.passed: set[str] = set()
    self.golden: Golden | None = None
    self.seen: set[bytes] = set()  # what the records of all tests were made of
    self.missing: list[str] = []  # ids of the golden's records that no test made
    self.compared = self.differing = 0
    # With xdist, the workers record, and the controller merges their files.
    self.records = self.is_worker or not getattr(option, "numprocesses", None)
    self.recorder = self.begin() if self.records else None
    if not self.is_worker and not self.records and self.writes_file: self.recorder_of(False).writer.remove_old()

  def recorder_of(self, is_child: bool) -> TestRecorder:
    option = self.config.option
    return TestRecorder({"output": str(self.output), "targets": [], "id": "test", "save_inputs": False, "version": self.version(),
                         "rewrites": not option.tgc_no_rewrites and (self.writes_file or bool(option.tgc_golden)),
                         "writes_file": self.writes_file}, is_child)

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
    result = yield
    if self.recorder and (problems := self.problems(item.nodeid, self.recorder)): pytest.fail("\n".join(problems), pytrace=False)
    return result

  def problems(self, test: str, recorder: TestRecorder) -> list[str]:
    """Returns what is wrong with the kernels and schedules of a test."""
    option, out = self.config.option, []
    if option.tgc_golden and not option.tgc_update: out += self.differences(test, recorder)
    if option.tgc_run: out += self.wrong_kernels(test, recorder)
    return out

  def differences(self, test: str, recorder: TestRecorder) -> list[str]:
    from tgc.reports import diff
    if self.golden is None: self.golden = Golden(pathlib.Path(self.config.option.tgc_golden))
    out = []
    for level in LEVELS:
      records = [r for kind, r in recorder.made if kind == level]
      hashes = [digests(level, r) for r in records]
      self.seen.update(key for key, _ in hashes)
      changed = [(r, key) for r, (key, made) in zip(records, hashes, strict=True) if made not in self.golden.made.get(key, ())]
      self.compared += len(records)
      if not changed: continue
      with tempfile.TemporaryDirectory(prefix="tgc.") as folder:
        lines = self.golden.lines_for(test, level, [key for _, key in changed])
        known = {key for key, _ in hashes}
        lines = [line for line in lines if (key := digests(level, json.loads(line))[0]) not in known or key in {k for _, k in changed}]
        old = write_recording(folder, "golden", self.golden.headers[level], lines)
        new = write_recording(folder, "now", header_of(level, recorder), [json.dumps(r) for r, _ in changed])
        if not lines:
          out.append(f"tgc: the golden has no {level} record of {test}; add --tgc-update to record it")
          continue
        found = diff(old, new, show=3)
        counts = found.facts["kernels"]
        if not counts["different"] and not counts["only_b"]: continue  # a record that only the golden has may belong to another test
        names = ["kernel" if level == "kernel" else "schedule", "the golden"]
        rules = sorted({str(r["rule"]) for r in found.differing if r.get("rule")})
        out.append(f"tgc: a {names[0]} of this test differs from {names[1]}" + (f"; first rule: {visible(', '.join(rules))}" if rules else ""))
        out.append(found.text.replace(folder + os.sep, "").rstrip())
    self.differing += bool(out)
    return out

  def wrong_kernels(self, test: str, recorder: TestRecorder) -> list[str]:
    from tgc.process import TgcError
    from tgc.recording import load
    from tgc.reports import run
    kernels = [r for kind, r in recorder.made if kind == "kernel" and "error" not in r]
    out = []
    for number, record in enumerate(kernels):
      bundle = pathlib.Path(self.config.option.tgc_repro, re.sub(r"[^\w.-]+", "_", f"{test}.{number}") + ".json")
      with tempfile.TemporaryDirectory(prefix="tgc.") as folder:
        file = write_recording(folder, "kernel", header_of("kernel", recorder), [json.dumps(record)])
        kernel = load(file).kernels[0]
        try: result = run(kernel)
        except TgcError as e:
          self.config.stash.setdefault(NOT_RUN, []).append(f"{record['id']}: {e}")
          continue
        if result.passed: continue
        bundle.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(TgcError): run(kernel, repro=str(bundle))
        if not bundle.exists():  # a failure that only tinygrad's own source has: the record repeats it
          bundle = bundle.with_suffix(".jsonl")
          shutil.copy(file, bundle)
        words = ["--recorded"] * (bundle.suffix == ".jsonl" and kernel.producer.endswith(NATIVE_RELEASE))
        commands = [" ".join(["tgc", command, *words, str(bundle)]) for command in ("run", "bisect")]
        out.append(f"tgc: kernel {result[0]}\n  repeat: {commands[0]}\n  find the cause: {commands[1]}")
    return out

  def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
    self.ran.add(report.nodeid)
    if report.when == "call" and report.passed: self.passed.add(report.nodeid)

  @pytest.hookimpl(optionalhook=True)
  def pytest_testnodedown(self, node: Any) -> None:  # of xdist, in the controller
    self.seen.update(bytes.fromhex(key) for key in node.workeroutput.get("tgc_seen", ()))

  def find_missing(self, session: pytest.Session) -> None:
    golden = self.golden or Golden(pathlib.Path(self.config.option.tgc_golden))
    self.missing = [name for test in sorted(self.passed) for name, key in golden.keys.get(test, ()) if key not in self.seen]
    if self.missing: session.exitstatus = pytest.ExitCode.TESTS_FAILED

  def pytest_sessionfinish(self, session: pytest.Session) -> None:
    if self.recorder: self.recorder.writer.close()
    if self.is_worker:
      self.config.workeroutput["tgc_seen"] = [key.hex() for key in self.seen]  # type: ignore[attr-defined]
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
      write_lines(old, [*now[:1], *kept, *now[1:]])
      new.unlink(missing_ok=True)
    jit = tagged_path(self.output, "jit")
    if jit.exists(): shutil.move(jit, tagged_path(self.target, "jit"))

  def pytest_terminal_summary(self, terminalreporter: Any) -> None:
    if self.is_worker: return
    for line in self.config.stash.get(NOT_RUN, []): terminalreporter.write_line(f"tgc: not run: {line}")
    for name in self.missing: terminalreporter.write_line(f"tgc: missing: {visible(name)} of the golden, which no test compiles now", red=True)
    if self.writes_file and self.target.exists(): terminalreporter.write_line(f"tgc: wrote {self.target}")


NOT_RUN = pytest.StashKey[list[str]]()


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
