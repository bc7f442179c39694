"""Tests of the server of the Model Context Protocol, with the SDK's own client."""
from __future__ import annotations

import contextlib
import csv
import gzip
import json
import os
import pathlib
import shutil
import sys
from collections.abc import Awaitable, Callable
from typing import Any, Literal

import pytest
from conftest import ROOT

pytest.importorskip("mcp", reason="SKIPPED: the SDK of the Model Context Protocol is not installed")

import anyio
from mcp import Client, StdioServerParameters
from mcp.types import ElicitRequestParams, ElicitResult
from tgc.mcp import __main__ as command
from tgc.mcp.answers import split_pages
from tgc.mcp.server import make_server

FAULTS = "recorded_faults.jsonl.gz"
MOST_CALLS, MOST_BYTES = 6, 20_000  # for one fault


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
  shutil.copy(ROOT / "testdata" / FAULTS, tmp_path)
  return tmp_path


def talk(server: Any, work: Callable[[Client], Awaitable[None]], **options: Any) -> None:
  async def session() -> None:
    async with Client(server, **options) as client: await work(client)
  anyio.run(session)


async def call(client: Client, tool: str, **arguments: Any) -> str:
  """Returns a tool's answer, or its error with "error: " before it."""
  result = await client.call_tool(tool, arguments)
  return "error: " * bool(result.is_error) + "".join(getattr(c, "text", "") for c in result.content)


def next_call(text: str) -> tuple[str, dict[str, Any]]:
  tool, _, arguments = text.splitlines()[-1].removeprefix("next: ").partition(" ")
  return tool, json.loads(arguments)


def culprits() -> dict[str, str]:
  with open(ROOT / "testdata/recorded_faults.tsv") as file: return {row["record"]: row["culprit"] for row in csv.DictReader(file, delimiter="\t")}


def test_client_that_follows_the_answers_finds_ten_culprits(folder: pathlib.Path) -> None:
  async def work(client: Client) -> None:
    for record, culprit in list(culprits().items())[::2]:
      named = "verdict: renderer" if culprit == "renderer" else f"rule: {culprit}\n"
      tool, arguments, answers = "run", {"input": f"{FAULTS}#{record}"}, [""]
      while named not in answers[-1] and len(answers) <= MOST_CALLS:
        answers.append(await call(client, tool, **arguments))
        tool, arguments = next_call(answers[-1])
      assert named in answers[-1], (record, answers)
      assert sum(len(a.encode()) for a in answers) <= MOST_BYTES
  talk(make_server([folder], allow_run=True), work)


def test_an_answer_follows_a_changed_file(folder: pathlib.Path) -> None:
  recording = folder / "run.jsonl"
  header, first, second = gzip.decompress((folder / FAULTS).read_bytes()).decode().splitlines()[:3]

  async def work(client: Client) -> None:
    for record in (first, second):
      recording.write_text(f"{header}\n{record}\n")
      assert json.loads(record)["id"] in await call(client, "records", input="run.jsonl")
  talk(make_server([folder]), work)


def test_nothing_runs_without_consent(folder: pathlib.Path) -> None:
  (folder / "prog.py").write_text("open('ran', 'w')\n")
  asked: list[str] = []

  def answering(action: Literal["accept", "decline"], remember: bool) -> Callable[..., Awaitable[ElicitResult]]:
    async def answer(_: Any, params: ElicitRequestParams) -> ElicitResult:
      asked.append(params.message)
      return ElicitResult(action=action, content={"remember": remember} if action == "accept" else None)
    return answer

  async def refused(client: Client) -> None:
    for tool in ("run", "bisect", "reduce", "bench"):
      text = await call(client, tool, input=f"{FAULTS}#own-shift")
      assert text.startswith("error: ") and "not allowed" in text and "--allow-run" in text
      assert next_call(text)[0] in ("bisect", "dump", "records")
    assert "not allowed" in await call(client, "record", program="prog.py")
    assert "codegen/opt/postrange.py:96" in await call(client, "bisect", input=f"{FAULTS}#own-shift", device="REF")  # nothing is executed

  async def accepted(client: Client) -> None:
    for _ in range(2): assert "own-shift" in await call(client, "run", input=f"{FAULTS}#own-shift")

  server = make_server([folder])
  talk(server, refused)
  for mode in ("legacy", "auto"):  # the protocol until 2025-11-25, and later
    talk(server, refused, mode=mode, elicitation_callback=answering("decline", False))
    assert [("prog.py" in a) for a in asked] == [False] * 4 + [True]
    assert not (folder / "ran").exists()
    asked.clear()
    talk(server, accepted, mode=mode, elicitation_callback=answering("accept", False))
    assert len(asked) == 2
    asked.clear()
    talk(server, accepted, mode=mode, elicitation_callback=answering("accept", True))
    assert len(asked) == 1
    asked.clear()


def test_nothing_outside_of_the_folders(tmp_path: pathlib.Path) -> None:
  inside, outside = tmp_path / "in", tmp_path / "out"
  for path in (inside, outside): path.mkdir()
  for name in ("run.jsonl", "other.jsonl", "side.jsonl"): shutil.copy(ROOT / "testdata" / FAULTS, outside / name)
  shutil.copy(outside / "run.jsonl", inside / "side.jsonl")
  shutil.copy(outside / "run.jsonl", inside / "good.jsonl")
  (inside / "link.jsonl").symlink_to(outside / "run.jsonl")
  (inside / "folder").symlink_to(outside)
  (inside / "side.inputs").mkdir()
  (inside / "side.inputs" / "a.npz").symlink_to(outside / "other.jsonl")
  (inside / "page.html").write_text("the user's own")
  (inside / "hole.html").symlink_to(outside / "hole.html")
  reads = ["../out/run.jsonl", str(outside / "run.jsonl"), "link.jsonl", "folder/run.jsonl", "side.jsonl", "missing.jsonl", "folder", ".", "-"]
  writes = ["../out/new.html", str(outside / "new.html"), "folder/new.html", "hole.html", "page.html", "prog.py", "none/new.html", ""]

  async def work(client: Client) -> None:
    for name in reads: assert (await call(client, "records", input=name)).startswith("error: "), name
    for name in writes: assert (await call(client, "page", input="good.jsonl#own-shift", output=name or "x")).startswith("error: "), name
    assert "plugin" in await call(client, "run", input="good.jsonl#own-shift", device="plugin:/tmp/x.so")
  talk(make_server([inside], allow_run=True), work)
  assert sorted(p.name for p in outside.iterdir()) == ["other.jsonl", "run.jsonl", "side.jsonl"]
  assert (inside / "page.html").read_text() == "the user's own"


def test_answers_are_pages(folder: pathlib.Path) -> None:
  assert "".join(split_pages("x" * 10 + "\nabc\n" + "y" * 7, 8)) == "x" * 10 + "\nabc\n" + "y" * 7
  assert all(len(p) <= 8 for p in split_pages("ab\n" * 9, 8))

  async def work(client: Client) -> None:
    text = await call(client, "trace", input=f"{FAULTS}#own-shift")
    assert "page 1 of" in text
    more = text.splitlines()[-2].removeprefix("more: trace ")
    second = await call(client, "trace", **json.loads(more))
    assert "page 2 of" in second
    assert "page 1 of 1" not in await call(client, "records", input=FAULTS)
    for answer in (text, second): assert len(answer.encode()) < 5000 and next_call(answer)[0] == "explain"
  talk(make_server([folder]), work)


def test_every_tool(folder: pathlib.Path) -> None:
  one, two = f"{FAULTS}#own-load-lane", f"{FAULTS}#own-shift"

  async def work(client: Client) -> None:
    assert next_call(await call(client, "records")) == ("records", {"input": FAULTS})
    assert next_call(await call(client, "records", input=FAULTS)) == ("run", {"input": FAULTS})
    assert "memory coalescing" in await call(client, "dump", input=one, stage="list")
    assert "void" in await call(client, "dump", input=one)
    since = await call(client, "dump", input=one, since="expander", stage="memory coalescing")
    assert since.strip() and not since.startswith("error: ")
    tool, arguments = next_call(traced := await call(client, "trace", input=one, stage="memory coalescing", rule="ops.py:1756"))
    assert tool == "explain" and "uop/ops.py:1756" in traced
    assert "what becomes of it" in await call(client, tool, **arguments)
    assert "refuted" in await call(client, "prove", input=one)
    assert "1 different" in await call(client, "diff", a=one, b=two)
    assert "GFLOPS" in await call(client, "bench", input=two)
    assert "wrote recorded_faults.html" in await call(client, "page", input=one)
    assert "wrote recorded_faults-2.html" in await call(client, "page", input=two)
    assert "wrote compared.html" in await call(client, "page", input=one, other=two, output="compared.html")
    assert next_call(text := await call(client, "reduce", input=one)) == ("records", {"input": FAULTS})
    assert "live=PYTHON" in text
    assert (folder / "recorded_faults.html").stat().st_size > 10_000
  talk(make_server([folder], allow_run=True), work)


def test_record_through_a_pipe(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
  for name in ("own.jsonl", "beside.tensor.jsonl.gz"): (tmp_path / name).touch()
  (tmp_path / "prog.py").write_text("from tinygrad import Tensor\nprint((Tensor.empty(4, 6) + 1).sum().realize().shape)\n")
  environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
  server = StdioServerParameters(command=sys.executable, args=["-P", "-m", "tgc.mcp", f"--folder={tmp_path}", "--allow-run"], env=environment)

  async def work(client: Client) -> None:
    text = await call(client, "record", program="prog.py")
    assert "recorded in prog.jsonl.gz" in text and next_call(text) == ("records", {"input": "prog.jsonl.gz"})
    for name in ("own.jsonl", "beside.jsonl.gz"):
      assert "exists already" in await call(client, "record", program="prog.py", output=name)
    assert "prog.py:2" in (text := await call(client, "records", input="prog.jsonl.gz"))
    assert "also: prog.tensor.jsonl.gz" in text
    assert "compiled nothing" in await call(client, "record", program="-m", arguments=["this"])
  talk(server, work)


def test_call_has_a_time_limit(tmp_path: pathlib.Path) -> None:
  (tmp_path / "prog.py").write_text("import time; time.sleep(600)")

  async def work(client: Client) -> None:
    text = await call(client, "record", program="prog.py")
    assert "not done within 1 seconds" in text and next_call(text)[0] == "records"
  talk(make_server([tmp_path], allow_run=True, seconds=1), work)
  for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
    with contextlib.suppress(OSError): assert os.fsencode(tmp_path / "prog.py") not in path.read_bytes()


def test_command_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
  assert command.main(["--folder=/none"]) == 2
  assert "/none" in capsys.readouterr().err
  monkeypatch.setitem(sys.modules, "tgc.mcp.server", None)
  assert command.main([]) == 2
  assert "pip install" in capsys.readouterr().err
