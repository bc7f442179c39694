"""The files: golden records as JSON lines, plain or gzip, and npz files of arrays.

Each line of a gzip file is a member of its own and is written at once, so that a file is whole up to its last record at
any moment."""
import contextlib, fcntl, gzip, itertools, json, os, pathlib, re, stat, struct, sys, tempfile, zipfile, zlib

WANTED = "0.12.0"  # the release of tinygrad whose text of each stage is kept; of others the nodes


LEVELS = ("kernel", "tensor", "jit")  # each a file of its own


def say(text): print(f"tinygrad_export: {text}", file=sys.stderr)


def trouble(text):
  say(text)
  sys.exit(2)


def golden_lines(path):
  """The whole lines of a golden file: its header, then its records. What a sudden end cut off is left out."""
  opened = gzip.open if str(path).endswith(".gz") else open
  with opened(path, "rb") as file, contextlib.suppress(EOFError, gzip.BadGzipFile, zlib.error):
    for line in file:
      if line.endswith(b"\n") and line.strip(): yield line.decode()


def add_to_name(path, tag):
  """`out.jsonl.gz` and "tensor": `out.tensor.jsonl.gz`."""
  stem, ending = re.fullmatch(r"(.*?)((?:\.jsonl)?(?:\.gz)?)", path.name).groups()
  return path.with_name(f"{stem}.{tag}{ending}")


def settings_of(header, record):
  """The settings that a record was made under: the header's, and on top of them its own; null is one that is not
  set."""
  settings = {**header["settings"], **record.get("settings", {})}
  return {k: str(v) for k, v in settings.items() if v is not None}


class Writer:
  """The golden files of one process, one a level, each opened when its first record comes. A process that the program
  started writes parts (out.part-1.jsonl.gz, out.tensor.part-1.jsonl.gz) and locks the first of them as long as it
  lives; the process that runs the program puts them together at its end."""

  def __init__(self, path, is_child=False):
    self.path, self.is_child, self.part = pathlib.Path(path), is_child, 0
    if self.path.is_symlink(): self.path = self.path.resolve()
    self.producer = f"tinygrad {WANTED}"
    self.files = {}  # (descriptor, path) by level
    self.rights = {}  # of files that an earlier run has left, by path

  def file_for(self, level, part):
    path = self.path if level == "kernel" else add_to_name(self.path, level)
    return add_to_name(path, f"part-{part}") if part else path

  def claim_part(self, settings):
    """Takes the first number that no process has."""
    for part in itertools.count(1):
      with contextlib.suppress(FileExistsError):
        fd = os.open(self.file_for("kernel", part), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        fcntl.flock(fd, fcntl.LOCK_EX)
        self.part = part
        return self.start("kernel", settings, fd)

  def start(self, level, settings, fd=None):
    path = self.file_for(level, self.part)
    self.files[level] = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666) if fd is None else fd, path
    if path in self.rights: os.fchmod(self.files[level][0], self.rights[path])
    header = {"format": "tgc-golden", "version": 1, "level": level, "producer": self.producer}
    self.write_line(level, json.dumps({**header, "settings": settings}))

  def write(self, level, settings, record):
    """`settings` are those of the header, should this be the first record of its level."""
    if self.is_child and not self.part: self.claim_part(settings)
    if level not in self.files: self.start(level, settings)
    self.write_line(level, json.dumps(record))

  def write_line(self, level, text):
    fd, path = self.files[level]
    data = (text + "\n").encode()
    if path.name.endswith(".gz"): data = gzip.compress(data, 6)
    while data: data = data[os.write(fd, data):]

  def forked(self):
    """In the child of a fork: the files are the parent's, and this process has a part of its own to find."""
    for fd, _ in self.files.values(): os.close(fd)
    self.is_child, self.part, self.files = True, 0, {}

  # -- in the process that runs the program

  def parts(self, level):
    """The parts that there are, by number."""
    pattern = re.compile(re.escape(self.file_for(level, 1).name).replace(r"part\-1", r"part-(\d+)"))
    found = ((pattern.fullmatch(path.name), path) for path in self.path.parent.iterdir())
    return dict(sorted((int(match[1]), path) for match, path in found if match))

  def remove_old(self):
    """What an earlier run has left under these names; a device or a FIFO is none of it."""
    for level in LEVELS:
      for path in [self.file_for(level, 0), *self.parts(level).values()]:
        if not path.is_file(): continue
        self.rights[path] = stat.S_IMODE(path.stat().st_mode)
        path.unlink()

  def put_together(self):
    """Appends the parts of processes that have ended, and says which are still written. The number of records by
    file."""
    for part, lock in self.parts("kernel").items():
      with open(lock, "rb") as held:
        try: fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
          say(f"a process that the program started still runs: {lock}")
          continue
        for level in LEVELS:
          path = self.file_for(level, part)
          if not path.exists(): continue
          self.append(level, golden_lines(path))
          path.unlink()
    return {str(path): sum(1 for _ in golden_lines(path)) - 1 for _, path in self.files.values()}

  def append(self, level, lines):
    theirs = json.loads(next(lines, "null"))
    for line in lines if theirs else ():
      if level not in self.files: self.start(level, theirs["settings"])
      ours = json.loads(next(golden_lines(self.files[level][1])))
      if theirs["settings"] != ours["settings"]:
        record = json.loads(line)
        wanted = settings_of(theirs, record)
        own = {k: wanted.get(k) for k in {**ours["settings"], **wanted} if wanted.get(k) != ours["settings"].get(k)}
        line = json.dumps({**record, "settings": own})
      self.write_line(level, line.rstrip("\n"))


@contextlib.contextmanager
def whole_file(path):
  """A file to write to that takes its place when the block ends; when it fails what was there before stays. Links are
  followed, rights stay, and what is no regular file is written to as it is."""
  path = pathlib.Path(os.path.realpath(path))
  if path.exists() and not path.is_file():
    with open(path, "wb") as file: yield file
    return
  fd, temporary = tempfile.mkstemp(prefix=".tgc-", suffix=".tmp", dir=path.parent)
  try:
    with os.fdopen(fd, "wb") as file:
      if path.exists(): rights = stat.S_IMODE(path.stat().st_mode)
      else:
        os.umask(mask := os.umask(0o077))
        rights = 0o666 & ~mask
      os.fchmod(fd, rights)
      yield file
    os.replace(temporary, path)
  except BaseException:
    with contextlib.suppress(FileNotFoundError): os.unlink(temporary)
    raise


def descr_of(dtype):
  """What an npy header calls a dtype of tinygrad. bfloat16 and the fp8 formats, which numpy lacks, are raw bytes."""
  from tinygrad.dtype import dtypes
  if dtype == dtypes.bfloat16 or dtype in dtypes.fp8s: return f"|V{dtype.itemsize}"
  kind = "b" if dtype == dtypes.bool else "f" if dtypes.is_float(dtype) else "u" if dtypes.is_unsigned(dtype) else "i"
  return f"{'|' if dtype.itemsize == 1 else '<'}{kind}{dtype.itemsize}"


def save_arrays(path, arrays):
  """An npz file of flat arrays, {name: (dtype of tinygrad, bytes)}; numpy need not be there. The file appears when it
  is whole."""
  with whole_file(path) as file, zipfile.ZipFile(file, "w") as archive:
    for name, (dtype, data) in arrays.items():
      size = len(data) // dtype.itemsize
      header = f"{{'descr': '{descr_of(dtype)}', 'fortran_order': False, 'shape': ({size},), }}"
      header += " " * (-(len(header) + 11) % 64) + "\n"
      magic = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header))
      archive.writestr(name + ".npy", magic + header.encode() + bytes(data))
