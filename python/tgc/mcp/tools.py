from __future__ import annotations

import contextlib
import functools
import os
import pathlib
import re
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterable
from typing import Annotated, ParamSpec

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from tgc.export.golden import LEVELS, tagged_path
from tgc.mcp.access import AccessRefused
from tgc.mcp.answers import answer_page, call_text
from tgc.mcp.consent import (
  Ctx,
  RecordConsent,
  ReduceConsent,
  RunConsent,
  SessionState,
  TimeConsent,
  program_text,
  session_state,
  state_if_granted,
)
from tgc.process import PACKAGE, TgcError, diagnostics_of
from tgc.recording import slug
from tgc.results import Bisection, KernelRun, Proof

Input = Annotated[str, Field(description="FILE, or FILE#ID for one record of a recording")]
PageNumber = Annotated[int, Field(description="page of the answer, from 1", ge=1)]
Device = Annotated[str | None, Field(description="REF, CPU, CUDA, ...; default: the record's")]
Program = Annotated[str, Field(description="a Python file, or -m for a module that is the first argument")]
Recording = Annotated[str | None, Field(description="FILE.jsonl.gz, a new file")]
Bundle = Annotated[str | None, Field(description="FILE.repro, a new file")]
Html = Annotated[str | None, Field(description="FILE.html, a new file")]
RecordingOrNone = Annotated[str, Field(description="a recording; none: list the files of the server's folders")]
Stage = Annotated[str, Field(description="name of a stage, source, asm, linearize, ...; list: their names")]
Since = Annotated[str | None, Field(description="an earlier stage: show the difference from it to `stage`")]
Rule = Annotated[str | None, Field(description="FILE:LINE, or a part of it")]
Node = Annotated[str, Field(description="#N, as trace numbers the nodes, or cN of the last graph", pattern=r"^[#c]\d+$")]
Seconds = Annotated[float, Field(description="limit for a kernel", gt=0)]
Show = Annotated[int, Field(description="differences in detail", ge=0, le=20)]
Explained = Annotated[int, Field(description="kernels that get reasons", ge=0, le=20)]
Other = Annotated[str | None, Field(description="a second input to compare with")]
Live = Annotated[bool, Field(description="compile with the tinygrad of this server")]

NO_GRAPH = ("source", "asm", "llvm-ir", "disasm", "sass", "cubin", "binary", "program", "schedule")
P = ParamSpec("P")


def tool(function: Callable[P, Awaitable[str]]) -> Callable[P, Awaitable[str]]:
  """Turns TgcError and AccessRefused into errors that the model reads, with the next call."""
  @functools.wraps(function)
  async def called(*args: P.args, **kwargs: P.kwargs) -> str:
    try: return await function(*args, **kwargs)
    except TgcError as e:
      file = file_of(str(kwargs.get("input", kwargs.get("a", ""))))
      raise ToolError(f"{e}\nnext: {call_text('records', input=file)}") from e
    except AccessRefused as e: raise ToolError(f"{e}\nnext: {call_text('records')}") from e
  return called


def option(name: str, value: object) -> list[str]:
  """Returns an option of tgc, or nothing for a value that was not given. Raises AccessRefused for a plugin as the device."""
  if value in (None, "", False): return []
  if name == "device" and str(value).startswith("plugin"):
    raise AccessRefused("a plugin is code, which this server does not load")
  return [f"--{name}" if value is True else f"--{name}={value}"]


def file_of(name: str) -> str: return name.partition("#")[0]
def stem_of(name: str) -> str: return pathlib.Path(file_of(name)).name.split(".")[0]
def record_input(input: str, name: str) -> str: return input if "#" in input or not name else f"{input}#{name}"


def files_of_levels(state: SessionState, file: str, levels: Iterable[str]) -> list[str]:
  paths = [tagged_path(pathlib.Path(file), level) for level in levels]
  return [state.folders.short(path) for path in paths if path.exists() and path.name != pathlib.Path(file).name]


@tool
async def record(program: Program, ctx: Ctx, consent: RecordConsent, arguments: list[str] | None = None,
                 output: Recording = None, watch_nan: bool = False) -> str:
  """Record what a program compiles with tinygrad: its kernels and schedules, with every rewrite. Runs the program."""
  state = state_if_granted(ctx, consent, f"program {program_text(program, arguments)}")
  words, folders = arguments or [], state.folders
  path = program if program == "-m" else str(folders.file(program))
  stem = pathlib.Path(words[0] if program == "-m" and words else program).stem
  out = folders.output(output) if output else folders.new_output_path(stem, ".jsonl.gz")
  for level in LEVELS[1:]: folders.output(str(tagged_path(out, level)))  # the exporter replaces these files, too
  paths = os.pathsep.join(filter(None, [str(PACKAGE.parent), os.environ.get("PYTHONPATH")]))
  options = [*option("watch-nan", watch_nan), "-o", str(out)]
  command = [sys.executable, "-m", "tgc.export", "--rewrites", *options, "--", path, *words]
  ran = await state.commands.execute(command, {**os.environ, "PYTHONPATH": paths})
  tail = "\n".join([*ran.errors.strip().splitlines()[-12:], *ran.text.strip().splitlines()[-12:]])
  made = next((p for p in (out, tagged_path(out, "tensor")) if p.exists()), None)
  if made is None: raise TgcError([f"the program compiled nothing, exit code {ran.code}; its last lines:\n{tail}"])
  name = folders.short(made)
  text = f"recorded in {name}; exit code of the program: {ran.code}\n{tail}"
  return answer_page(text, 1, ("record", {}), call_text("records", input=name))


@tool
async def records(ctx: Ctx, input: RecordingOrNone = "", page: PageNumber = 1) -> str:
  """List the kernels or schedules of a recording: id, target, nodes, name, line of the program. Without an input: list
  recordings."""
  state = session_state(ctx)
  if not input:
    files = state.folders.recordings()
    following = call_text("records", input=files[0]) if files else call_text("record", program="PROGRAM.py")
    return answer_page("\n".join(files), page, ("records", {}), following)
  place = state.folders.input(input)
  listed = await state.commands.run("records", place, allowed=(0, 2))
  others = [f"also: {name}" for name in files_of_levels(state, file_of(place), ("tensor", "jit"))]
  text = "\n".join([listed.text.rstrip(), *others])
  return answer_page(text, page, ("records", {"input": input}), call_text("run", input=input))


@tool
async def run(input: Input, ctx: Ctx, consent: RunConsent, device: Device = None, page: PageNumber = 1) -> str:
  """Run kernels or schedules and compare the results with the reference interpreter. Reports those that fail or cannot
  run."""
  state = state_if_granted(ctx, consent)
  place = state.folders.input(input)
  ran = await state.commands.run("run", place, *option("device", device), "--json", allowed=(0, 1, 2))
  results = [KernelRun.from_json(facts) for facts in ran.json_objects()]
  if not results: raise TgcError(diagnostics_of(ran.errors))
  counts = {kind: sum(r.result == kind for r in results) for kind in ("passed", "failed", "ran", "trouble")}
  total = ", ".join(f"{n} {kind}" for kind, n in counts.items() if n)
  text = "\n".join([f"{len(results)} run: {total}", *(str(r) for r in results if r.result in ("failed", "trouble"))])
  wrong = next((r.kernel for r in results if r.result == "failed"), None)
  schedules = [] if wrong or "#" in input else files_of_levels(state, file_of(place), ["tensor"])
  # bisect also tries inputs of all sizes and compares each rewrite, so it may find what a run does not show
  bisected = call_text("bisect", input=record_input(input, wrong or results[0].kernel), device=device)
  following = call_text("run", input=schedules[0]) if schedules else bisected
  return answer_page(text, page, ("run", {"input": input, "device": device}), following)


@tool
async def bisect(input: Input, ctx: Ctx, consent: RunConsent, device: Device = None, page: PageNumber = 1) -> str:
  """Find the rewrite, renderer or compiler pass that makes a kernel compute a wrong result: the rule's FILE:LINE in
  tinygrad."""
  state = state_if_granted(ctx, consent)
  options = [*option("device", device), f"--seconds={max(state.commands.seconds - 5, 1):g}", "--json"]
  found = await state.commands.run("bisect", state.folders.input(input), *options, allowed=(0, 1, 2))
  reports = [Bisection.from_json(facts) for facts in found.json_objects()]
  if not reports: raise TgcError(diagnostics_of(found.errors))
  report = next((r for r in reports if r.verdict not in ("same", "")), reports[0])
  here = record_input(input, report.kernel)
  listed = report.facts.get("listed_location", report.rule)  # where the trace has the rewrite
  following = call_text("prove", input=here)
  if report.verdict == "rewrite": following = call_text("trace", input=here, stage=report.stage, rule=listed)
  if report.verdict in ("renderer", "compiler"): following = call_text("dump", input=here, stage="source")
  return answer_page(str(report), page, ("bisect", {"input": input, "device": device}), following)


@tool
async def prove(input: Input, ctx: Ctx, seconds: Seconds = 30, page: PageNumber = 1) -> str:
  """Prove that each rewrite of a kernel or schedule computes the same for all inputs, or refute it. Records of other
  releases than 0.12.0 need recorded rewrites."""
  state = session_state(ctx)
  options = [f"--timeout={seconds:g}", "--json"]
  found = await state.commands.run("prove", state.folders.input(input), *options, allowed=(0, 1, 2))
  proofs = [Proof.from_json(facts) for facts in found.json_objects()]
  if not proofs: raise TgcError(diagnostics_of(found.errors))
  following = call_text("page", input=input)
  if wrong := next((p for p in proofs if p.refuted), None):
    following = call_text("trace", input=record_input(input, wrong.kernel), stage=wrong.refuted[0].stage, rule=wrong.rule)
  return answer_page("\n".join(map(str, proofs)), page, ("prove", {"input": input, "seconds": seconds}), following)


@tool
async def dump(input: Input, ctx: Ctx, stage: Stage = "source", since: Since = None, page: PageNumber = 1) -> str:
  """Print the graph after a stage, the source or the assembly of a kernel, or the difference of the graphs after two
  stages."""
  state = session_state(ctx)
  place = state.folders.input(input)
  following = call_text("dump", input=input, stage="source" if stage == "list" else "list")
  if stage == "list": text = (await state.commands.run("stages", place)).text
  elif since: text = await difference(state, place, since, stage)
  else: text = (await state.commands.run("dump", place, f"--stage={stage}")).text
  if stage not in (*NO_GRAPH, "list"): following = call_text("trace", input=input, stage=stage)
  return answer_page(text, page, ("dump", {"input": input, "stage": stage, "since": since}), following)


async def difference(state: SessionState, place: str, before: str, after: str) -> str:
  with tempfile.TemporaryDirectory(prefix="tgc.") as folder:
    files = [pathlib.Path(folder, side) for side in ("before", "after")]
    for file, stage in zip(files, (before, after), strict=True):
      file.write_text((await state.commands.run("dump", place, f"--stage={stage}")).text)
    found = await state.commands.run("diff", *map(str, files), keep=False)
  return found.text.replace(folder + os.sep, "")


@tool
async def trace(input: Input, ctx: Ctx, stage: str | None = None, rule: Rule = None, page: PageNumber = 1) -> str:
  """List the rewrites of a kernel or schedule: the rule with its file and line, the nodes that it removed (-) and
  added (+)."""
  commands, place = session_state(ctx).commands, session_state(ctx).folders.input(input)
  # The numbers of nodes that `explain` knows are those of the trace of all stages.
  text = (await commands.run("trace", place, *option("rule", rule))).text
  if stage:
    text = lines_of_stage(text, stage) or (await commands.run("trace", place, f"--stage={stage}", *option("rule", rule))).text
  following = call_text("dump", input=input, stage=stage or "list")
  if node := replaced_node(text):
    with contextlib.suppress(TgcError):  # no graph has the node: a rewrite made it and another one removed it
      await commands.run("trace", place, f"--explain={node}")
      following = call_text("explain", input=input, node=node)
  return answer_page(text, page, ("trace", {"input": input, "stage": stage, "rule": rule}), following)


def lines_of_stage(text: str, stage: str) -> str:
  out: list[str] = []
  inside = False
  for line in text.splitlines():
    if line.startswith("--- ") and not re.match(r"--- \d+ rewrite", line): inside = slug(line[4:]) == slug(stage)
    if inside: out.append(line)
  return "\n".join(out)


def replaced_node(text: str) -> str | None:
  """Returns the number of the node that the first rewrite of a trace replaced: the last one that it removed."""
  first = re.search(r"(?:^ +- .*\n?)+", text, re.MULTILINE)
  numbers = re.findall(r"^ +- +(#\d+)", first[0], re.MULTILINE) if first else []
  return numbers[-1] if numbers else None


@tool
async def explain(input: Input, node: Node, ctx: Ctx, page: PageNumber = 1) -> str:
  """Say where a node comes from, and what becomes of it: every rewrite that made, changed or removed it."""
  state = session_state(ctx)
  found = await state.commands.run("trace", state.folders.input(input), f"--explain={node}")
  following = call_text("dump", input=input, stage="source")
  return answer_page(found.text, page, ("explain", {"input": input, "node": node}), following)


@tool
async def reduce(input: Input, ctx: Ctx, consent: ReduceConsent, output: Bundle = None, device: Device = None,
                 live: Live = False) -> str:
  """Shrink a kernel that computes a wrong result to a small one that fails in the same way, as a file for `run` and
  `bisect`. Recordings of other releases than 0.12.0 need `live`."""
  state = state_if_granted(ctx, consent, "live" if live else "kernels")
  place = state.folders.input(input)
  out = state.folders.output(output) if output else state.folders.new_output_path(stem_of(input), ".repro")
  options = [*option("device", device), *option("live", sys.executable if live else None), "-o", str(out)]
  reduced = await state.commands.run("reduce", place, *options, allowed=(0,), keep=False)
  return answer_page(reduced.text, 1, ("reduce", {}), call_text("bisect", input=state.folders.short(out)))


@tool
async def diff(a: Input, b: Input, ctx: Ctx, show: Show = 2, page: PageNumber = 1) -> str:
  """Compare two recordings stage by stage, or two graphs by structure: what differs first, because of which rule."""
  state = session_state(ctx)
  found = await state.commands.run("diff", *(state.folders.input(x) for x in (a, b)), f"--show={show}")
  return answer_page(found.text, page, ("diff", {"a": a, "b": b, "show": show}), call_text("page", input=a, other=b))


@tool
async def bench(input: Input, ctx: Ctx, consent: TimeConsent, explain: Explained = 1, page: PageNumber = 1) -> str:
  """Time kernels on their device: GFLOPS, GB/s, share of the peak, and why the slowest are slow, with opts to try."""
  state = state_if_granted(ctx, consent)
  found = await state.commands.run("bench", "--kernels", state.folders.input(input), f"--explain={explain}")
  following = call_text("dump", input=input, stage="asm")
  return answer_page(found.text, page, ("bench", {"input": input, "explain": explain}), following)


@tool
async def page(input: Input, ctx: Ctx, other: Other = None, output: Html = None) -> str:
  """Write a page for a person: every stage, rewrite, graph and text of a kernel or recording, or a comparison of two."""
  state = session_state(ctx)
  places = [state.folders.input(x) for x in (input, other) if x]
  out = state.folders.output(output) if output else state.folders.new_output_path(stem_of(input), ".html")
  await state.commands.run("view", *places, "-o", str(out), allowed=(0,), keep=False)
  text = f"wrote {state.folders.short(out)}, {out.stat().st_size // 1024} KiB; open it in a browser"
  return answer_page(text, 1, ("page", {}), call_text("records", input=file_of(input)))


TOOLS = (record, records, run, bisect, prove, dump, trace, explain, reduce, diff, bench, page)
READ_ONLY = (records, prove, dump, trace, explain, diff)
