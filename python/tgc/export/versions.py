"""Finds out which tinygrad would be imported, without importing it."""
from __future__ import annotations

import ast
import contextlib
import hashlib
import importlib.metadata
import importlib.util
import pathlib

from tgc.export.names import OPS


def op_names(package: pathlib.Path) -> list[str]:
  tree = ast.parse((package / "uop/__init__.py").read_text())
  ops = next(e for e in tree.body if isinstance(e, ast.ClassDef) and e.name == "Ops")
  return [e.targets[0].id for e in ops.body if isinstance(e, ast.Assign) and isinstance(e.targets[0], ast.Name)]


def checkout_version(version: str, names: list[str]) -> str:
  """Returns the version of a checkout: `version`, that of its pyproject.toml, if its ops are that release's, or if OPS
  lacks it.

  tinygrad changes the version only on the day of a release. A commit between two releases is named after the release
  whose ops it nearly has: 0.13.0.post (a commit after it) or 0.14.0.dev (a commit before it).
  """
  exact = hashlib.sha256(" ".join(names).encode()).hexdigest()[:8]
  if version not in OPS or exact == OPS[version]: return version
  like = ("0.12.0" if exact == OPS["0.12.0"] else "0.13.0" if "DEFINE_REG" in names else "0.14.0")
  return like + (".post" if like <= version else ".dev")


def commit_of(checkout: pathlib.Path) -> str | None:
  """Returns the commit that a git checkout is at, without running git; None if it is not found."""
  git = checkout / ".git"
  try:
    if git.is_file(): git = (checkout / git.read_text().removeprefix("gitdir:").strip()).resolve()
    head = (git / "HEAD").read_text().strip()
    if not head.startswith("ref: "): return head
    shared = git / (git / "commondir").read_text().strip() if (git / "commondir").exists() else git
    name = head.removeprefix("ref: ")
    for folder in (git, shared):
      if (folder / name).is_file(): return (folder / name).read_text().strip()
    packed = (line.split() for line in (shared / "packed-refs").read_text().splitlines())
    return next((words[0] for words in packed if words[1:] == [name]), None)
  except OSError: return None


def installed_commit() -> str | None:
  spec = importlib.util.find_spec("tinygrad")
  if spec is None or spec.origin is None: return None
  return commit_of(pathlib.Path(spec.origin).parent.parent)


def installed_version() -> str | None:
  """Returns the version of the tinygrad that would be imported: of a checkout, of pip's package, or of the release with
  the same ops; "of unknown version" if none is known. Returns None if there is no tinygrad."""
  spec = importlib.util.find_spec("tinygrad")
  if spec is None or spec.origin is None: return None
  package = pathlib.Path(spec.origin).parent
  if (project := package.parent / "pyproject.toml").exists():
    import tomllib
    with contextlib.suppress(KeyError, tomllib.TOMLDecodeError):
      version: str = tomllib.loads(project.read_text())["project"]["version"]
      try: return checkout_version(version, op_names(package))
      except (OSError, StopIteration, SyntaxError): return version
  with contextlib.suppress(importlib.metadata.PackageNotFoundError):
    installed = importlib.metadata.distribution("tinygrad")
    if pathlib.Path(str(installed.locate_file("tinygrad"))).resolve() == package.resolve(): return installed.version
  # a copy of a package, beside which another one may be installed
  with contextlib.suppress(OSError, StopIteration, SyntaxError):
    exact = hashlib.sha256(" ".join(op_names(package)).encode()).hexdigest()[:8]
    return next(version for version, ops in OPS.items() if ops == exact)
  return "of unknown version"
