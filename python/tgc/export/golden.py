"""Reads and writes golden records as JSON lines, plain or gzip, and writes npz files of arrays.

A GoldenWriter makes each line of a gzip file its own gzip member and writes it at once, so the file is complete up to its
last record.
"""
from __future__ import annotations

import contextlib
import fcntl
import gzip
import hashlib
import itertools
import json
import os
import pathlib
import re
import stat
import struct
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Collection, Iterator
from typing import IO, Any, NoReturn

from tgc.export.kinds import JSON, Path, Settings

# The release whose stages are kept as tinygrad prints them, unless options ask for nodes.
NATIVE_RELEASE = "0.12.0"
LEVELS = ("kernel", "tensor", "jit")
LONGEST_LINE = 1 << 29  # bytes; tgc's limit input-bytes
SETTINGS = ["NOOPT", "IMAGE", "DEVECTORIZE", "TRANSCENDENTAL", "TC", "TC_SELECT", "TC_OPT", "ALLOW_TF32", "ALLOW_HALF8", "AMX", "NOLOCALS", "DISABLE_FAST_IDIV", "CORRECT_DIVMOD_FOLDING", "UNSAFE_DISABLE_MASK", "CPU_COUNT", "THREADS", "TUPLE_ORDER", "EXPAND_SSA", "MV", "MV_BLOCKSIZE", "MV_THREADS_PER_ROW", "MV_ROWS_PER_THREAD", "SPLIT_REDUCEOP", "REDUCEOP_SPLIT_THRESHOLD", "REDUCEOP_SPLIT_SIZE", "PCONTIG", "MAX_KERNEL_BUFFERS", "RING", "RING_ALLREDUCE_THRESHOLD", "ALL2ALL"]


def print_message(text: str) -> None: print(f"tinygrad_export: {text}", file=sys.stderr)


def exit_with_error(text: str) -> NoReturn:
  print_message(text)
  sys.exit(2)


def golden_lines(path: Path) -> Iterator[str]:
  """Yields the complete lines of a golden file: its header, then its records. Raises ValueError for a line that is too
  long: a few bytes of gzip may unpack to more than the memory has."""
  opened = gzip.open if str(path).endswith(".gz") else open
  with opened(path, "rb") as file, contextlib.suppress(EOFError, gzip.BadGzipFile, zlib.error):
    while line := file.readline(LONGEST_LINE + 1):
      if len(line) > LONGEST_LINE: raise ValueError(f"{path} has a line of more than {LONGEST_LINE} bytes")
      if line.endswith(b"\n") and line.strip(): yield line.decode()


def tagged_path(path: pathlib.Path, tag: Any) -> pathlib.Path:
  """Returns the path with a tag in its name: `out.jsonl.gz` and "tensor" give `out.tensor.jsonl.gz`."""
  match = re.fullmatch(r"(.*?)((?:\.jsonl)?(?:\.gz)?)", path.name)
  assert match is not None
  stem, ending = match.groups()
  return path.with_name(f"{stem}.{tag}{ending}")


def nan_file(recording: pathlib.Path) -> pathlib.Path:
  path = tagged_path(recording, "nan")
  return path.with_name(path.name.removesuffix(".gz").removesuffix(".jsonl") + ".json")


def settings_of(header: JSON, record: JSON) -> Settings:
  """Returns the settings of a record: the header's, overridden by the record's. None unsets one."""
  settings = {**header["settings"], **record.get("settings", {})}
  return {k: str(v) for k, v in settings.items() if v is not None}


def checked_settings(settings: JSON, allowed: Collection[str] = SETTINGS) -> Settings:
  """Returns the settings of a golden file as strings. Exits with an error unless each is allowed and an integer: CC,
  for example, names a program."""
  for name, value in settings.items():
    if name not in allowed or not re.fullmatch(r"-?\d+", str(value)):
      exit_with_error(f"a golden file may not set the environment variable '{name}' to '{value}'")
  return {name: str(value) for name, value in settings.items()}


def apply_settings(settings: JSON, override: bool = True) -> None:
  """Sets the environment variables of a golden file's settings. With `override` false, keeps those that are set."""
  for name, value in checked_settings(settings).items():
    if override or name not in os.environ: os.environ[name] = value


class GoldenWriter:
  """Writes the golden files of one process, one per level.

  The main process writes `out.jsonl.gz`, `out.tensor.jsonl.gz`, ... A child process writes parts (out.part-1.jsonl.gz,
  out.tensor.part-1.jsonl.gz) and holds a lock on the kernel part while it lives. In the end, the main process appends
  the parts of finished children to its own files.
  """

  def __init__(self, path: Path, is_child: bool = False) -> None:
    self.path, self.is_child, self.part = pathlib.Path(path), is_child, 0
    if self.path.is_symlink(): self.path = self.path.resolve()
    self.producer = f"tinygrad {NATIVE_RELEASE}"
    self.commit: str | None = None
    self.files: dict[str, tuple[int, pathlib.Path]] = {}
    self.modes: dict[pathlib.Path, int] = {}
    self.origins: dict[bytes, JSON] = {}  # hash of a kernel's recorded AST: what add_origin() noted

  def path_of(self, level: str, part: int) -> pathlib.Path:
    path = self.path if level == "kernel" else tagged_path(self.path, level)
    return tagged_path(path, f"part-{part}") if part else path

  def claim_part(self, settings: JSON) -> None:
    for part in itertools.count(1):
      with contextlib.suppress(FileExistsError):
        fd = os.open(self.path_of("kernel", part), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        fcntl.flock(fd, fcntl.LOCK_EX)
        self.part = part
        return self.open_file("kernel", settings, fd)

  def open_file(self, level: str, settings: JSON, fd: int | None = None) -> None:
    path = self.path_of(level, self.part)
    self.files[level] = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666) if fd is None else fd, path
    if path in self.modes: os.fchmod(self.files[level][0], self.modes[path])
    header = {"format": "tgc-golden", "version": 1, "level": level, "producer": self.producer}
    if self.commit: header["commit"] = self.commit
    self.write_line(level, json.dumps({**header, "settings": settings}))

  def write(self, level: str, settings: JSON, record: JSON) -> None:
    if self.is_child and not self.part: self.claim_part(settings)
    if level not in self.files: self.open_file(level, settings)
    self.write_line(level, json.dumps(record))

  def write_line(self, level: str, text: str) -> None:
    fd, path = self.files[level]
    data = (text + "\n").encode()
    if path.name.endswith(".gz"): data = gzip.compress(data, 3)  # faster than the default level
    while data: data = data[os.write(fd, data):]

  def close(self) -> None:
    for fd, _ in self.files.values(): os.close(fd)
    self.files = {}

  def reset_after_fork(self) -> None:
    """Closes the parent's files in a forked child, which claims its own part when it writes."""
    self.close()
    self.is_child, self.part = True, 0

  def add_origin(self, ast: str, callers: list[str], metadata: Any) -> None:
    """Notes what asked for a kernel: a child process that compiles the kernel does not know it."""
    self.origins.setdefault(hashlib.sha256(ast.encode()).digest(), {"asked_by": callers, "metadata": metadata})

  def with_origin(self, line: str) -> str:
    record = json.loads(line)
    origin = self.origins.get(hashlib.sha256(record["ast"].encode()).digest())
    return json.dumps({**record, **origin}) if origin and "asked_by" not in record else line

  def parts(self, level: str) -> dict[int, pathlib.Path]:
    pattern = re.compile(re.escape(self.path_of(level, 1).name).replace(r"part\-1", r"part-(\d+)"))
    found = ((pattern.fullmatch(path.name), path) for path in self.path.parent.iterdir())
    return dict(sorted((int(match[1]), path) for match, path in found if match))

  def remove_old(self) -> None:
    """Removes the regular files that an earlier run left under these names; leaves devices and FIFOs alone."""
    if (nans := nan_file(self.path)).is_file(): nans.unlink()
    for level in LEVELS:
      for path in [self.path_of(level, 0), *self.parts(level).values()]:
        if not path.is_file(): continue
        self.modes[path] = stat.S_IMODE(path.stat().st_mode)
        path.unlink()

  def merge_parts(self) -> dict[str, int]:
    """Appends the parts of finished children and reports those still running. Returns {file: number of records}."""
    for part, lock in self.parts("kernel").items():
      with open(lock, "rb") as file:
        try: fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
          print_message(f"a process that the program started still runs: {lock}")
          continue
        for level in LEVELS:
          path = self.path_of(level, part)
          if not path.exists(): continue
          self.append(level, golden_lines(path))
          path.unlink()
    return {str(path): sum(1 for _ in golden_lines(path)) - 1 for _, path in self.files.values()}

  def append(self, level: str, lines: Iterator[str]) -> None:
    part_header = json.loads(next(lines, "null"))
    for line in lines if part_header else ():
      if level not in self.files: self.open_file(level, part_header["settings"])
      header = json.loads(next(golden_lines(self.files[level][1])))
      if part_header["settings"] != header["settings"]:
        record = json.loads(line)
        wanted = settings_of(part_header, record)
        own = {k: wanted.get(k) for k in {**header["settings"], **wanted} if wanted.get(k) != header["settings"].get(k)}
        line = json.dumps({**record, "settings": own})
      if level == "kernel" and self.origins: line = self.with_origin(line)
      self.write_line(level, line.rstrip("\n"))


@contextlib.contextmanager
def atomic_file(path: Path) -> Iterator[IO[bytes]]:
  """Opens a temporary file that replaces `path` when the block ends; if the block fails, the old file stays.

  Follows links, keeps the permission bits, and writes directly to anything that is not a regular file.
  """
  path = pathlib.Path(os.path.realpath(path))
  if path.exists() and not path.is_file():
    with open(path, "wb") as file: yield file
    return
  fd, temporary = tempfile.mkstemp(prefix=".tgc-", suffix=".tmp", dir=path.parent)
  try:
    with os.fdopen(fd, "wb") as file:
      if path.exists(): mode = stat.S_IMODE(path.stat().st_mode)
      else:
        os.umask(mask := os.umask(0o077))
        mode = 0o666 & ~mask
      os.fchmod(fd, mode)
      yield file
    os.replace(temporary, path)
  except BaseException:
    with contextlib.suppress(FileNotFoundError): os.unlink(temporary)
    raise


def npy_dtype(dtype: Any) -> str:
  """Returns the npy name of a tinygrad dtype. bfloat16 and fp8, which numpy lacks, become raw bytes."""
  from tinygrad.dtype import dtypes
  if dtype == dtypes.bfloat16 or dtype in dtypes.fp8s: return f"|V{dtype.itemsize}"
  kind = "b" if dtype == dtypes.bool else "f" if dtypes.is_float(dtype) else "u" if dtypes.is_unsigned(dtype) else "i"
  return f"{'|' if dtype.itemsize == 1 else '<'}{kind}{dtype.itemsize}"


def save_arrays(path: Path, arrays: dict[str, tuple[Any, bytes]]) -> None:
  """Writes flat arrays, {name: (tinygrad dtype, bytes)}, as an npz file, atomically and without numpy."""
  with atomic_file(path) as file, zipfile.ZipFile(file, "w") as archive:
    for name, (dtype, data) in arrays.items():
      size = len(data) // dtype.itemsize
      header = f"{{'descr': '{npy_dtype(dtype)}', 'fortran_order': False, 'shape': ({size},), }}"
      header += " " * (-(len(header) + 11) % 64) + "\n"
      magic = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header))
      archive.writestr(name + ".npy", magic + header.encode() + bytes(data))
