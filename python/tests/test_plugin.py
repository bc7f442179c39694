"""Tests of the pytest plugin, on tests of their own."""
from __future__ import annotations

import json
import os
import pathlib
import shutil
from collections.abc import Callable

import pytest
import tgc
from conftest import RELEASE
from forks import Forks
from tgc.golden_of_tests import numbered_buffers

TESTS = """
from tinygrad import Tensor
def test_product(): PRODUCT
def test_sum(): assert Tensor.ones(3, 5).contiguous().sum(0).tolist() == [3.0] * 5
class TestClass:
  def test_exp(self): EXP
def test_other_product(): (Tensor.empty(8, 8) @ Tensor.empty(8, 8)).neg().realize()
"""
PRODUCT, EXP = "(Tensor.empty(8, 8) @ Tensor.empty(8, 8)).relu().realize()", "Tensor.empty(7, 3).exp().realize()"
WORDS = ("-p", "tgc.testing", "-p", "no:cacheprovider")


Run = Callable[..., pytest.RunResult]


def file_with(product: str = PRODUCT, exp: str = EXP) -> str: return TESTS.replace("PRODUCT", product).replace("EXP", exp)


@pytest.fixture
def run(pytester: pytest.Pytester, forks: Forks) -> Run:
  """Returns a function that runs the tests with options of the plugin: in a fork, or with `fresh` in a process that
  loads tinygrad.
  """
  def run(*words: str, fresh: bool = False, **parts: str) -> pytest.RunResult:
    pytester.makepyfile(test_it=file_with(**parts))
    if fresh: return pytester.runpytest_subprocess(*WORDS, *words)
    no_others = {} if "-n" in words else {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = forks.run("-m", "pytest", *WORDS, *words, cwd=pytester.path, environment={**os.environ, **no_others})
    return pytest.RunResult(done.returncode, done.stdout.splitlines(), done.stderr.splitlines(), 0)
  return run


@pytest.fixture(scope="module")
def made_golden(tmp_path_factory: pytest.TempPathFactory, forks: Forks) -> pathlib.Path:
  folder = tmp_path_factory.mktemp("golden")
  (folder / "test_it.py").write_text(file_with())
  done = forks.run("-m", "pytest", *WORDS, "--tgc-golden=golden.jsonl.gz", "--tgc-update", cwd=folder, environment=os.environ)
  assert "4 passed" in done.stdout, done.stdout + done.stderr
  return folder


@pytest.fixture
def golden(made_golden: pathlib.Path, pytester: pytest.Pytester) -> pathlib.Path:
  """Copies the golden of the tests to the folder in which they run."""
  for file in made_golden.glob("*.jsonl.gz"): shutil.copy(file, pytester.path)
  return pytester.path / "golden.jsonl.gz"


def ids(path: pathlib.Path) -> list[str]: return sorted({k.id for k in tgc.load(path).kernels})


def test_record(run: Run, pytester: pytest.Pytester) -> None:
  run("--tgc-record=run.jsonl.gz", fresh=True).assert_outcomes(passed=4)
  made = tgc.load(pytester.path / "run.jsonl.gz")
  assert {i.rpartition(".")[0] for i in ids(made.path)} >= {"test_it.py::test_product", "test_it.py::TestClass::test_exp"}
  assert "test_it.py::TestClass::test_exp.0" in ids(made.path)
  assert any(s.id.startswith("test_it.py::test_sum.") for s in made.schedules)
  assert not any(k.listed.get("runtime") for k in made.all_kernels)
  assert made["test_it.py::test_product.0"].rewrites
  assert tgc.run(made["test_it.py::test_product.0"]).passed


def test_golden(run: Run, pytester: pytest.Pytester, golden: pathlib.Path) -> None:
  run("--tgc-golden=none.jsonl.gz").stderr.fnmatch_lines(["*there is no file none.jsonl.gz*"])
  run("--tgc-update").stderr.fnmatch_lines(["*--tgc-update needs --tgc-golden*"])
  before = ids(golden)
  # now the kernel of test_other_product is the first one of its shape
  run("--tgc-golden=golden.jsonl.gz", "-k", "exp or other").assert_outcomes(passed=2, deselected=2)
  changed = run("--tgc-golden=golden.jsonl.gz", exp="(Tensor.empty(7, 3).exp() + 1).realize()")
  changed.assert_outcomes(passed=3, failed=1)
  changed.stdout.fnmatch_lines(["*test_exp*", "*a kernel of this test differs from the golden*", "*FAILED test_it.py::TestClass::test_exp*"])
  changed.stdout.fnmatch_lines(["*ADD*"])
  fewer = run("--tgc-golden=golden.jsonl.gz", exp="pass")
  fewer.assert_outcomes(passed=4)
  fewer.stdout.fnmatch_lines(["*missing: test_it.py::TestClass::test_exp.0 of the golden*"])
  assert fewer.ret == pytest.ExitCode.TESTS_FAILED
  run("--tgc-golden=golden.jsonl.gz", "--tgc-update", "-k", "exp", exp="(Tensor.empty(7, 3).exp() + 1).realize()")
  assert ids(golden) == before
  same = run("--tgc-golden=golden.jsonl.gz", exp="(Tensor.empty(7, 3).exp() + 1).realize()")
  same.assert_outcomes(passed=4)
  assert same.ret == 0
  assert not list(pytester.path.glob("*.new.*"))


def test_golden_of_tests_that_share_a_tensor(run: Run, pytester: pytest.Pytester) -> None:
  """The first test that needs the tensor computes it, in any order of the tests."""
  def tests(body: str, names: str) -> None:
    pytester.makepyfile(test_shared="from tinygrad import Tensor\nshared = Tensor.ones(4, 6).contiguous()\n" + "".join(
      f"def test_{name}(): {body if name == 'sub' else f'shared.{name}(3).realize()'}\n" for name in names.split()))
  tests("shared.sub(2).realize()", "add mul sub")
  assert run("test_shared.py", "--tgc-golden=shared.jsonl.gz", "--tgc-update").ret == 0
  assert run("test_shared.py", "--tgc-golden=shared.jsonl.gz", "-k", "mul").ret == 0
  tests("shared.sub(2).realize()", "mul sub add")
  assert run("test_shared.py", "--tgc-golden=shared.jsonl.gz").ret == 0
  tests("(shared + 1).sub(2).exp().realize()", "mul sub add")
  run("test_shared.py", "--tgc-golden=shared.jsonl.gz").assert_outcomes(passed=2, failed=1)


@pytest.mark.skipif(RELEASE != "0.14.0", reason="removes a rule of tinygrad 0.14.0")
def test_rule_is_named(run: Run, pytester: pytest.Pytester, golden: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
  import tinygrad
  copy = pytester.path / "copy"
  shutil.copytree(pathlib.Path(tinygrad.__file__).parent, copy / "tinygrad")
  file = copy / "tinygrad/codegen/decomp/op.py"
  lines = file.read_text().splitlines(keepends=True)
  rule = "if Ops.MAX not in ops and Ops.CMPLT in ops: pat.append("
  number = next(i for i, line in enumerate(lines) if rule in line)
  lines[number] = lines[number].replace("(m.src[0] < m.src[1]).where(m.src[1], m.src[0])", "(m.src[1] < m.src[0]).where(m.src[0], m.src[1])")
  file.write_text("".join(lines))
  monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(copy), os.environ["PYTHONPATH"]]))
  monkeypatch.setenv("TINYGRAD_COPY", "1")
  changed = run("--tgc-golden=golden.jsonl.gz", fresh=True)
  changed.assert_outcomes(passed=3, failed=1)
  changed.stdout.fnmatch_lines([f"*first rule: codegen/decomp/op.py:{number + 1}*", "*FAILED test_it.py::test_product*"])


def test_run_writes_bundles(run: Run, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
  run("--tgc-run").assert_outcomes(passed=4)
  pytester.makeconftest("""
import tgc.testing
write = tgc.testing.write_recording
def wrong(folder, name, header, lines):  # a tinygrad whose relu compares with 9, not with 0
  return write(folder, name, header, [line.replace("0.0f<", "9.0f<").replace("<0.0f", "<9.0f") for line in lines])
tgc.testing.write_recording = wrong
""")
  failing = run("--tgc-run", "--tgc-repro=bundles")
  failing.assert_outcomes(passed=3, failed=1)
  failing.stdout.fnmatch_lines(["*repeat: tgc run *bundles/test_it.py_test_product.0.json*"])
  bundle, = (pytester.path / "bundles").glob("*.json*")
  assert not tgc.run(tgc.load(bundle) if bundle.suffix == ".jsonl" else bundle).passed


def test_run_does_not_accuse_what_it_did_not_compare(run: Run, pytester: pytest.Pytester) -> None:
  pytester.makeconftest("""
import tgc.reports
from tgc.results import KernelRun, Run
tgc.reports.run = lambda kernel: Run((KernelRun.from_json({"kernel": kernel.id, "result": "ran"}),))
""")
  ran = run("--tgc-run")
  ran.assert_outcomes(passed=4)
  ran.stdout.fnmatch_lines(["tgc: not run: test_it.py::test_product.0: nothing was compared"])


def test_xdist(run: Run, pytester: pytest.Pytester, golden: pathlib.Path) -> None:
  same = run("--tgc-record=two.jsonl.gz", "--tgc-golden=golden.jsonl.gz", "-n", "2")
  same.assert_outcomes(passed=4)
  assert same.ret == 0
  assert {i.rpartition(".")[0] for i in ids(pytester.path / "two.jsonl.gz")} == {i.rpartition(".")[0] for i in ids(golden)}
  assert not list(pytester.path.glob("*part*"))
  other = run("--tgc-golden=golden.jsonl.gz", "-n", "2", exp="pass", product="(Tensor.empty(8, 8) @ Tensor.empty(8, 8)).exp().realize()")
  other.assert_outcomes(passed=3, failed=1)
  other.stdout.fnmatch_lines(["*missing: test_it.py::TestClass::test_exp.0 of the golden*"])


def test_off_does_nothing(run: Run, pytester: pytest.Pytester) -> None:
  pytester.makepyfile(test_off="""
def test_off():
  import tinygrad.uop.ops as ops, sys
  assert ops.graph_rewrite.__module__ == "tinygrad.uop.ops"
""")
  pytester.runpytest_subprocess("-p", "tgc.testing", "test_off.py").assert_outcomes(passed=1)
  assert not list(pytester.path.glob("*.jsonl*"))


def test_numbers_of_buffers() -> None:
  lines = [{"op": "UNIQUE", "dtype": "dtypes.void", "arg": n} for n in (7, 3, 7)]
  text = "\n".join(json.dumps(line, separators=(",", ":")) for line in lines)
  assert [json.loads(line)["arg"] for line in numbered_buffers(text).splitlines()] == [0, 1, 0]
