"""The tools of the server. Each calls one command of tgc and says which call comes next."""
from __future__ import annotations

import contextlib
import os
import pathlib
import re
import shlex
import sys
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Annotated, Any

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.resolve import AcceptedElicitation, Elicit, ElicitationResult, Resolve
from pydantic import BaseModel, Field

from tgc.export.golden import tagged_path
from tgc.mcp.access import Folders, Refused
from tgc.mcp.answers import Commands, answer, call_text
from tgc.process import PACKAGE, TgcError, diagnostics_of, visible
from tgc.recording import slug
from tgc.results import Bisection, KernelRun, Proof

ALLOW = "start the server with --allow-run, or use a host that asks its user (elicitation)"


@dataclass
class State:
  """State that the calls of a session share. allowed: what the host allowed for the rest of the session."""
  folders: Folders
  commands: Commands
  allow_run: bool = False
  allowed: set[str] = field(default_factory=set)


Ctx = Context[State, Any]


def state_of(ctx: Ctx) -> State: return ctx.request_context.lifespan_context


class Consent(BaseModel):
  """The host's answer to a question; declining it means no."""
  remember: bool = Field(default=False, description="also allow it for later calls, until the server ends")


def asked(ctx: Ctx, what: str, question: str, following: str) -> Consent | Elicit[Consent]:
  """Returns consent that was given before, or the question. Raises ToolError, with the call to make instead, if the host cannot be
  asked."""
  state = state_of(ctx)
  if state.allow_run or what in state.allowed: return Consent()
  capabilities = ctx.client_capabilities
  if capabilities is None or capabilities.elicitation is None:
    raise ToolError(f"not allowed: this would {question}. To allow it, {ALLOW}\nnext: {following}")
  return Elicit(f"Allow tgc to {question}?", Consent)


KERNELS = "run compiled kernels on this machine, in a confined process"


def kernels_question(input: str, device: str | None, ctx: Ctx) -> Consent | Elicit[Consent]:
  if device == "REF": return Consent()  # the interpreter executes no code of the input
  return asked(ctx, "kernels", f'{KERNELS}; device="REF" only interprets them', call_text("bisect", input=input, device="REF"))


def bench_question(input: str, ctx: Ctx) -> Consent | Elicit[Consent]:
  return asked(ctx, "kernels", f"{KERNELS}, to time them", call_text("dump", input=input, stage="asm"))


def reduce_question(input: str, device: str | None, live: bool, ctx: Ctx) -> Consent | Elicit[Consent]:
  if not live: return kernels_question(input, device, ctx)
  return asked(ctx, "live", "compile smaller kernels with tinygrad, with your rights, and run them", call_text("page", input=input))


def program_text(program: str, arguments: list[str] | None) -> str: return visible(shlex.join([program, *(arguments or ())]))


def program_question(program: str, arguments: list[str] | None, ctx: Ctx) -> Consent | Elicit[Consent]:
  text = program_text(program, arguments)
  return asked(ctx, f"program {text}", f"run the program `{text}` with your rights, to record what tinygrad compiles", call_text("records"))


KernelConsent = Annotated[ElicitationResult[Consent], Resolve(kernels_question)]
BenchConsent = Annotated[ElicitationResult[Consent], Resolve(bench_question)]
ReduceConsent = Annotated[ElicitationResult[Consent], Resolve(reduce_question)]
ProgramConsent = Annotated[ElicitationResult[Consent], Resolve(program_question)]
Page = Annotated[int, Field(description="page of the answer, from 1", ge=1)]
Input = Annotated[str, Field(description="FILE, or FILE#ID for one record of a recording")]


def granted(ctx: Ctx, consent: ElicitationResult[Consent], what: str) -> State:
  """Returns the state if the host consents. Raises ToolError if it does not."""
  state = state_of(ctx)
  if not isinstance(consent, AcceptedElicitation): raise ToolError(f"not allowed: the host's user declined. To allow it, {ALLOW}\nnext: {call_text('records')}")
  if consent.data.remember: state.allowed.add(what)
  return state


async def done(work: Awaitable[str], input: str = "") -> str:
  """Waits for an answer. An error of tgc becomes an error that the model reads, with the next call."""
  try: return await work
  except TgcError as e: raise ToolError(f"{e}\nnext: {call_text('records', input=file_of(input))}") from e
  except Refused as e: raise ToolError(f"{e}\nnext: {call_text('records')}") from e


def option(name: str, value: object) -> list[str]:
  """Returns an option of tgc, or nothing for a value that was not given."""
  if value in (None, "", False): return []
  if name == "device" and str(value).startswith("plugin"): raise Refused("a plugin is code, which this server does not load")
  return [f"--{name}" if value is True else f"--{name}={value}"]


def neighbour(state: State, file: str, level: str) -> str | None:
  """Returns the short name of the recording's file of another level, if it exists."""
  path = tagged_path(pathlib.Path(file), level)
  return state.folders.short(path) if path.exists() and path.name != pathlib.Path(file).name else None


def file_of(name: str) -> str: return name.partition("#")[0]


async def record(program: Annotated[str, Field(description="a Python file, or -m for a module that is the first argument")], ctx: Ctx, consent: ProgramConsent,
                 arguments: list[str] | None = None, output: Annotated[str | None, Field(description="FILE.jsonl.gz, a new file")] = None,
                 watch_nan: bool = False) -> str:
  """Record what a program compiles with tinygrad: its kernels and schedules, with every rewrite. Runs the program."""
  words = arguments or []
  state = granted(ctx, consent, f"program {program_text(program, arguments)}")

  async def work() -> str:
    folders = state.folders
    path = program if program == "-m" else str(folders.file(program))
    stem = pathlib.Path(words[0] if program == "-m" and words else program).stem
    out = folders.output(output) if output else folders.free_output(stem, ".jsonl.gz")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(PACKAGE.parent), os.environ.get("PYTHONPATH")]))}
    ran = await state.commands.execute([sys.executable, "-m", "tgc.export", "--rewrites", *option("watch-nan", watch_nan), "-o", str(out), "--", path, *words],
                                       environment)
    name = folders.short(out)
    tail = "\n".join([*ran.errors.strip().splitlines()[-12:], *ran.text.strip().splitlines()[-12:]])
    if not out.exists() and not tagged_path(out, "tensor").exists():
      raise TgcError([f"the program compiled nothing, exit code {ran.code}; its last lines:\n{tail}"])
    following = call_text("records", input=name if out.exists() else folders.short(tagged_path(out, "tensor")))
    return answer(f"recorded in {name}; exit code of the program: {ran.code}\n{tail}", 1, ("record", {}), following)
  return await done(work())


async def records(ctx: Ctx, input: Annotated[str, Field(description="a recording; none: list the files of the server's folders")] = "", page: Page = 1) -> str:
  """List the kernels or schedules of a recording: id, target, nodes, name, line of the program. Without an input: list recordings."""
  state = state_of(ctx)

  async def work() -> str:
    if not input:
      files = state.folders.recordings()
      return answer("\n".join(files), page, ("records", {}), call_text("records", input=files[0]) if files else 'record {"program": "PROGRAM.py"}')
    listed = await state.commands.run("records", state.folders.input(input), allowed=(0, 2))
    others = [f"also: {name}" for level in ("tensor", "jit") if (name := neighbour(state, str(state.folders.file(file_of(input))), level))]
    return answer("\n".join([listed.text.rstrip(), *others]), page, ("records", {"input": input}), call_text("run", input=input))
  return await done(work(), input)


async def run(input: Input, ctx: Ctx, consent: KernelConsent, device: Annotated[str | None, Field(description="REF, CPU, CUDA, ...")] = None, page: Page = 1) -> str:
  """Run kernels or schedules and compare the results with the reference interpreter. Reports those that fail."""
  state = granted(ctx, consent, "kernels")

  async def work() -> str:
    place = state.folders.input(input)
    ran = await state.commands.run("run", place, *option("device", device), "--json", allowed=(0, 1, 2))
    results = [KernelRun.from_json(facts) for facts in ran.objects()]
    if not results: raise TgcError(diagnostics_of(ran.errors))
    kinds = ("passed", "failed", "ran", "trouble")
    counts = {kind: sum(r.result == kind for r in results) for kind in kinds}
    notable = [r for r in results if r.result in ("failed", "trouble")]
    text = "\n".join([f"{len(results)} run: " + ", ".join(f"{n} {kind}" for kind, n in counts.items() if n), *map(str, notable)])
    wrong = next((name_of(r) for r in results if r.result == "failed"), None)
    tensor = neighbour(state, file_of(place), "tensor")
    # bisect also tries inputs of all sizes and compares each rewrite, so it may find what a run does not show
    following = call_text("run", input=tensor) if tensor and not wrong and "#" not in input else \
      call_text("bisect", input=of_record(input, wrong or name_of(results[0])), device=device)
    return answer(text, page, ("run", {"input": input, "device": device}), following)
  return await done(work(), input)


def name_of(result: KernelRun) -> str: return str(result.facts.get("kernel") or result.facts.get("model") or "")


def of_record(input: str, name: str) -> str: return input if "#" in input or not name else f"{input}#{name}"


async def bisect(input: Input, ctx: Ctx, consent: KernelConsent, device: str | None = None, page: Page = 1) -> str:
  """Find the rewrite, renderer or compiler pass that makes a kernel compute a wrong result: the rule's FILE:LINE in tinygrad."""
  state = granted(ctx, consent, "kernels")

  async def work() -> str:
    limit = max(state.commands.seconds - 5, 1)
    found = await state.commands.run("bisect", state.folders.input(input), *option("device", device), f"--seconds={limit:g}", "--json", allowed=(0, 1, 2))
    facts = found.objects()
    if not facts: raise TgcError(diagnostics_of(found.errors))
    report = next((Bisection.from_json(f) for f in facts if f.get("verdict", "same") != "same"), Bisection.from_json(facts[0]))
    here = of_record(input, report.kernel)
    if report.verdict == "rewrite" and report.stage: following = call_text("trace", input=here, stage=report.stage, rule=report.facts.get("listed_location", report.rule))
    elif report.verdict in ("renderer", "compiler"): following = call_text("dump", input=here, stage="source")
    else: following = call_text("prove", input=here)
    return answer(str(report), page, ("bisect", {"input": input, "device": device}), following)
  return await done(work(), input)


async def prove(input: Input, ctx: Ctx, seconds: Annotated[float, Field(description="limit for a kernel", gt=0)] = 30, page: Page = 1) -> str:
  """Prove that each rewrite of a kernel or schedule computes the same for all inputs, or refute it. Needs recorded rewrites."""
  state = state_of(ctx)

  async def work() -> str:
    found = await state.commands.run("prove", state.folders.input(input), f"--timeout={seconds:g}", "--json", allowed=(0, 1, 2))
    proofs = [Proof.from_json(facts) for facts in found.objects()]
    if not proofs: raise TgcError(diagnostics_of(found.errors))
    refuted = next((p for p in proofs if p.refuted), None)
    following = call_text("trace", input=of_record(input, refuted.kernel), stage=refuted.refuted[0].stage, rule=refuted.rule) if refuted else \
      call_text("page", input=input)
    return answer("\n".join(map(str, proofs)), page, ("prove", {"input": input, "seconds": seconds}), following)
  return await done(work(), input)


async def dump(input: Input, ctx: Ctx, stage: Annotated[str, Field(description="name of a stage, source, asm, linearize, ...; list: their names")] = "source",
               since: Annotated[str | None, Field(description="an earlier stage: show the difference from it to `stage`")] = None, page: Page = 1) -> str:
  """Print the graph after a stage, the source or the assembly of a kernel, or the difference of the graphs after two stages."""
  state = state_of(ctx)

  async def work() -> str:
    place = state.folders.input(input)
    if stage == "list": text = (await state.commands.run("stages", place)).text
    elif since:
      with tempfile.TemporaryDirectory(prefix="tgc.") as folder:
        files = [os.path.join(folder, f"{side}.json") for side in ("before", "after")]
        for file, name in zip(files, (since, stage), strict=True):
          graph = await state.commands.run("dump", place, f"--stage={name}")
          pathlib.Path(file).write_text(graph.text)
        text = (await state.commands.run("diff", *files, keep=False)).text.replace(folder + os.sep, "")
    else: text = (await state.commands.run("dump", place, f"--stage={stage}")).text
    following = call_text("dump", input=input, stage="source") if stage == "list" else call_text("trace", input=input, stage=stage) if stage not in NO_GRAPH else \
      call_text("dump", input=input, stage="list")
    return answer(text, page, ("dump", {"input": input, "stage": stage, "since": since}), following)
  return await done(work(), input)


NO_GRAPH = ("source", "asm", "llvm-ir", "disasm", "sass", "cubin", "binary", "program", "schedule")


async def trace(input: Input, ctx: Ctx, stage: str | None = None, rule: Annotated[str | None, Field(description="FILE:LINE, or a part of it")] = None,
                page: Page = 1) -> str:
  """List the rewrites of a kernel or schedule: the rule with its file and line, the nodes that it removed (-) and added (+)."""
  state = state_of(ctx)

  async def work() -> str:
    # The numbers of nodes that `explain` knows are those of the trace of all stages.
    text = (await state.commands.run("trace", place := state.folders.input(input), *option("rule", rule))).text
    if stage: text = stage_part(text, stage) or (await state.commands.run("trace", place, *option("stage", stage), *option("rule", rule))).text
    following = call_text("dump", input=input, stage=stage or "list")
    if node := replaced_node(text):
      with contextlib.suppress(TgcError):  # no graph has the node: a rewrite made it and another one removed it
        await state.commands.run("trace", place, f"--explain={node}")
        following = call_text("explain", input=input, node=node)
    return answer(text, page, ("trace", {"input": input, "stage": stage, "rule": rule}), following)
  return await done(work(), input)


def stage_part(text: str, stage: str) -> str:
  """Returns the part of a trace that is about a stage."""
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


async def explain(input: Input, node: Annotated[str, Field(description="#N, as trace numbers the nodes, or cN of the last graph", pattern=r"^#\d+$|^c\d+$")],
                  ctx: Ctx, page: Page = 1) -> str:
  """Say where a node comes from, and what becomes of it: every rewrite that made, changed or removed it."""
  state = state_of(ctx)

  async def work() -> str:
    text = (await state.commands.run("trace", state.folders.input(input), f"--explain={node}")).text
    return answer(text, page, ("explain", {"input": input, "node": node}), call_text("dump", input=input, stage="source"))
  return await done(work(), input)


async def reduce(input: Input, ctx: Ctx, consent: ReduceConsent, output: Annotated[str | None, Field(description="FILE.repro, a new file")] = None,
                 device: str | None = None, live: Annotated[bool, Field(description="compile with the tinygrad of this server")] = False) -> str:
  """Shrink a kernel that computes a wrong result to the smallest one that fails in the same way, as a file for `run` and `bisect`.
  Recordings of other releases than 0.12.0 need `live`."""
  state = granted(ctx, consent, "live" if live else "kernels")

  async def work() -> str:
    place = state.folders.input(input)
    out = state.folders.output(output) if output else state.folders.free_output(pathlib.Path(file_of(input)).name.split(".")[0], ".repro")
    compiler = f"--live={sys.executable}" if live else ""
    reduced = await state.commands.run("reduce", place, "-o", str(out), *option("device", device), *filter(None, [compiler]), allowed=(0,), keep=False)
    return answer(reduced.text, 1, ("reduce", {}), call_text("bisect", input=state.folders.short(out)))
  return await done(work(), input)


async def diff(a: Input, b: Input, ctx: Ctx, show: Annotated[int, Field(description="differences in detail", ge=0, le=20)] = 2, page: Page = 1) -> str:
  """Compare two recordings stage by stage, or two records by structure: what differs first, and because of which rule."""
  state = state_of(ctx)

  async def work() -> str:
    places = [state.folders.input(x) for x in (a, b)]
    text = (await state.commands.run("diff", *places, f"--show={show}")).text
    return answer(text, page, ("diff", {"a": a, "b": b, "show": show}), call_text("page", input=a, other=b))
  return await done(work(), a)


async def bench(input: Input, ctx: Ctx, consent: BenchConsent, explain: Annotated[int, Field(description="kernels that get reasons", ge=0, le=20)] = 1,
                page: Page = 1) -> str:
  """Time kernels on their device: GFLOPS, GB/s, share of the peak, and why the slowest are slow, with opts that would help."""
  state = granted(ctx, consent, "kernels")

  async def work() -> str:
    text = (await state.commands.run("bench", "--kernels", state.folders.input(input), f"--explain={explain}")).text
    return answer(text, page, ("bench", {"input": input, "explain": explain}), call_text("dump", input=input, stage="asm"))
  return await done(work(), input)


async def page(input: Input, ctx: Ctx, other: Annotated[str | None, Field(description="a second input to compare with")] = None,
               output: Annotated[str | None, Field(description="FILE.html, a new file")] = None) -> str:
  """Write a page for a person: every stage, rewrite, graph and text of a kernel or recording, or a comparison of two."""
  state = state_of(ctx)

  async def work() -> str:
    places = [state.folders.input(x) for x in (input, other) if x]
    out = state.folders.output(output) if output else state.folders.free_output(pathlib.Path(file_of(input)).name.split(".")[0], ".html")
    await state.commands.run("view", *places, "-o", str(out), allowed=(0,), keep=False)
    return answer(f"wrote {state.folders.short(out)}, {out.stat().st_size // 1024} KiB; open it in a browser", 1, ("page", {}), call_text("records", input=file_of(input)))
  return await done(work(), input)


TOOLS: tuple[Callable[..., Awaitable[str]], ...] = (record, records, run, bisect, prove, dump, trace, explain, reduce, diff, bench, page)
READS_ONLY = (records, prove, dump, trace, explain, diff)
