"""Steps of a CI job: record a program at two commits, compare the recordings, and report.

  python -P -m tgc.ci sha      print the commit to compare with, and write it to GITHUB_OUTPUT
  python -P -m tgc.ci base     record the program at that commit, unless FOLDER has the recording already (a cache)
  python -P -m tgc.ci head     record the program in the checkout
  python -P -m tgc.ci compare  write the difference as a table to GITHUB_STEP_SUMMARY, and FOLDER/page.html with the
                               first kernel that differs or, if none does, with both recordings
  python -P -m tgc.ci conform  compare a port of the compiler with goldens, and write the result to GITHUB_STEP_SUMMARY

-P keeps the files of a pull request from being imported in place of tgc's. action.yml and conform/action.yml call these
steps. Each option has an environment variable: --base is TGC_BASE.
The exit code is 1 if --fail-on says that the result is a failure, and 2 if a step could not be done.
"""
from __future__ import annotations

import argparse
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

from tgc.export.golden import tagged_path
from tgc.page import view
from tgc.process import TgcError, call
from tgc.recording import load
from tgc.reports import Difference, diff

FAIL_ON = ("difference", "sources", "never")
ROWS = 30


def git(*words: str) -> str:
  done = subprocess.run(["git", *words], capture_output=True, text=True, check=False)
  if done.returncode: raise TgcError([f"git {' '.join(words)}: {done.stderr.strip()}"], done.args, done.returncode)
  return done.stdout.strip()


def append_to_github_file(variable: str, text: str) -> None:
  """Appends to the file that an environment variable of GitHub names; prints the text if it is not set."""
  if path := os.environ.get(variable):
    with open(path, "a") as file: file.write(text + "\n")
  else: print(text)


def base_commit(options: argparse.Namespace) -> str:
  return git("merge-base", options.base, "HEAD")


def recording_of(options: argparse.Namespace, side: str) -> pathlib.Path:
  return pathlib.Path(options.folder, side, f"{side}.jsonl.gz").absolute()


def program_of(command: str) -> list[str]:
  words = shlex.split(command)
  if words and pathlib.Path(words[0]).name.startswith("python"): words = words[1:]
  if not words: raise TgcError(["there is no command; set TGC_COMMAND or --command, for example 'pytest test/test_ops.py'"])
  return ["-m", *words] if words[0] == "pytest" else words


def record_command(command: str, output: pathlib.Path, folder: str) -> None:
  """Records a command that runs in a folder, also if it fails. Raises TgcError if nothing was compiled."""
  output.parent.mkdir(parents=True, exist_ok=True)
  path = os.pathsep.join([".", *filter(None, [os.environ.get("PYTHONPATH")])])
  words = [sys.executable, "-m", "tgc.export", "--rewrites", "--id=run", "-o", str(output), "--", *program_of(command)]
  done = subprocess.run(words, cwd=folder, env={**os.environ, "PYTHONPATH": path}, check=False)
  if not output.exists() and not tagged_path(output, "tensor").exists():
    raise TgcError([f"'{command}' compiled nothing, exit code {done.returncode}"], words, done.returncode)
  if done.returncode: print(f"tgc.ci: the command ended with exit code {done.returncode}; what it compiled is recorded", file=sys.stderr)


def step_sha(options: argparse.Namespace) -> int:
  sha = base_commit(options)
  append_to_github_file("GITHUB_OUTPUT", f"sha={sha}")
  print(sha)
  return 0


def check_folder(folder: str) -> None:
  """Raises TgcError if the commit has files in the folder of the recordings: a pull request could replace the recording
  that it is compared with."""
  inside = subprocess.run(["git", "ls-files", "--", folder], capture_output=True, text=True, check=False)
  if inside.returncode == 0 and inside.stdout.strip():
    raise TgcError([f"the commit has files in '{folder}'; --folder must name a folder without files of the repository"])


def step_base(options: argparse.Namespace) -> int:
  output = recording_of(options, "base")
  check_folder(options.folder)
  if output.exists():
    print(f"tgc.ci: {output} is there already")
    return 0
  with tempfile.TemporaryDirectory(prefix="tgc.") as folder:
    checkout = os.path.join(folder, "base")
    git("worktree", "add", "--detach", checkout, base_commit(options))
    try: record_command(options.command, output, checkout)
    finally:
      shutil.rmtree(checkout, ignore_errors=True)
      git("worktree", "prune")
  return 0


def step_head(options: argparse.Namespace) -> int:
  record_command(options.command, recording_of(options, "head"), ".")
  return 0


def one_line(x: object) -> str:
  """Returns a text without line breaks, of which Markdown and Unicode know several, and other control characters."""
  return re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+", " ", str(x or ""))


def fenced_block(text: str) -> list[str]:
  fence = "`" * max(3, 1 + max((len(row) for row in re.findall("`+", text)), default=0))
  return [fence, text, fence]


def cell(x: object) -> str:
  """Escapes a text for a table's cell, so that Markdown makes no link, image or HTML of it."""
  return re.sub(r"([\\`*_{}\[\]()#+!|<>~&:@.])", r"\\\1", one_line(x))


def code_span(x: object) -> str:
  text = one_line(x).replace("|", "\\|")
  fence = "`" * (1 + max((len(row) for row in re.findall("`+", text)), default=0))
  return f"{fence}{text}{fence}" if len(fence) == 1 else f"{fence} {text} {fence}"


def difference_table(found: Difference, what: str) -> list[str]:
  counts = found.kernels
  line = ", ".join(f"{counts[key]} {text}" for key, text in
                   (("same", "the same"), ("different", "different"), ("only_a", "only in the base"), ("only_b", "new")) if counts.get(key))
  out = [f"### {what}", "", line or "nothing was compared"]
  if rules := found.by_rule:
    out += ["", "| rule | records |", "|---|---|", *(f"| {code_span(rule)} | {n} |" for rule, n in sorted(rules.items(), key=lambda x: -x[1]))]
  if found.differing:
    out += ["", "| record | name | first stage that differs | rule | source |", "|---|---|---|---|---|"]
    for r in found.differing[:ROWS]:
      source = "" if "target" not in r.facts else "same" if r.same_source else "differs"
      out.append(f"| {code_span(r.id)} | {cell(r.name)} | {cell(r.stage)} | {cell(r.rule)} | {source} |")
    if len(found.differing) > ROWS: out += ["", f"and {len(found.differing) - ROWS} more"]
    out += ["", "<details><summary>the first differences</summary>", "", *fenced_block(found.text[:20000].rstrip()), "</details>"]
  return [*out, ""]


def step_compare(options: argparse.Namespace) -> int:
  base, head = recording_of(options, "base"), recording_of(options, "head")
  summary, differs, fails = ["## tgc: the kernels of this change", "", f"`{options.command}`", ""], False, False
  for level, what in (("kernel", "Kernels"), ("tensor", "Schedules")):
    a, b = (path if level == "kernel" else tagged_path(path, level) for path in (base, head))
    if not a.exists() and not b.exists(): continue
    if a.exists() != b.exists():
      summary += [f"### {what}", "", f"only the {'base' if a.exists() else 'head'} has any", ""]
      differs = fails = True
      continue
    found = diff(a, b, show=5)
    summary += difference_table(found, what)
    differs |= not found.same
    fails |= level == "kernel" and any(r.same_source is False for r in found.differing)
  page = pathlib.Path(options.folder, "page.html")
  if base.exists() and head.exists():
    first = next((pair for pair in changed_pairs(base, head) if pair), None)
    view(*(first or (base, head)), strip_paths=True).save(page)
  append_to_github_file("GITHUB_STEP_SUMMARY", "\n".join(summary if differs else [*summary, "No kernel and no schedule differs.", ""]))
  append_to_github_file("GITHUB_OUTPUT", f"differs={str(differs).lower()}\npage={page}")
  return int({"difference": differs, "sources": fails, "never": False}[options.fail_on])


def changed_pairs(base: pathlib.Path, head: pathlib.Path) -> list[tuple[str, str]]:
  known = [{r.id for r in load(path).kernels} for path in (base, head)]
  found = [(r.id, r.id_b or r.id) for r in diff(base, head).differing]
  return [(f"{base}#{a}", f"{head}#{b}") for a, b in found if a in known[0] and b in known[1]]


def step_conform(options: argparse.Namespace) -> int:
  words = [*shlex.split(options.goldens), f"--with={options.command}", f"--as={options.compare_as}"]
  if options.baseline: words.append(f"--baseline={options.baseline}")
  done = call("conform", *words)
  verdict = "conforms" if done.returncode == 0 else "does not conform"
  append_to_github_file("GITHUB_STEP_SUMMARY", "\n".join([f"## tgc conform: `{options.command}` {verdict}", "",
                                             *fenced_block(done.stdout.rstrip()[:50000]), ""]))
  append_to_github_file("GITHUB_OUTPUT", f"conforms={str(done.returncode == 0).lower()}")
  return done.returncode if options.fail_on != "never" else 0


STEPS = {"sha": step_sha, "base": step_base, "head": step_head, "compare": step_compare, "conform": step_conform}


def main(arguments: list[str] | None = None) -> int:
  parser = argparse.ArgumentParser(prog="python -m tgc.ci", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("step", choices=STEPS)
  def option(name: str, default: str, text: str, **more: object) -> None:
    value = os.environ.get("TGC_" + name.upper().replace("-", "_")) or default
    parser.add_argument(f"--{name}", default=value, help=f"{text}; default: {default or 'none'}", **more)  # type: ignore[arg-type]
  option("base", "origin/HEAD", "the branch or commit to compare with")
  option("command", "", "what to record: 'pytest test/test_ops.py', 'python prog.py'; for conform: the port")
  option("folder", ".tgc", "where the recordings and the page go")
  option("fail-on", "difference", "when the step fails: " + ", ".join(FAIL_ON), choices=FAIL_ON)
  option("goldens", "", "for conform: the golden files")
  option("compare-as", "structure", "for conform: text, structure or values")
  option("baseline", "", "for conform: fail only for what conformed in this file")
  options = parser.parse_args(arguments)
  try: return STEPS[options.step](options)
  except TgcError as e:
    print(f"tgc.ci: {e}", file=sys.stderr)
    return 2


if __name__ == "__main__": sys.exit(main())
