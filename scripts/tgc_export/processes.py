"""The program that is recorded, the processes that it starts, and the end of both."""
import atexit, json, os, pathlib, runpy, shutil, signal, sys, tempfile, types, zipfile

from tgc_export.golden import say

CHILD = "TGC_EXPORT"  # the environment variable that tells a Python process of the program's what to record, as JSON


def tell_children(options):
  """Has every Python process that the program starts record as well: they import a sitecustomize of ours before their
  own. Returns the folder that it lies in."""
  folder = tempfile.mkdtemp(prefix="tgc_export.")
  pathlib.Path(folder, "sitecustomize.py").write_text(f"""import json, os, sys
home = {str(pathlib.Path(__file__).resolve().parents[1])!r}
sys.path.insert(0, home)
import tgc_export.recorder
tgc_export.recorder.begin(json.loads(os.environ[{CHILD!r}]), is_child=True)
sys.path.remove(home)
sys.path.remove({folder!r})
mine = sys.modules.pop("sitecustomize")
try: import sitecustomize  # the process's own
except ImportError: sys.modules["sitecustomize"] = mine
""")
  os.environ[CHILD] = json.dumps({**options, "output": os.path.abspath(options["output"])})
  os.environ["PYTHONPATH"] = os.pathsep.join([folder] + [p for p in [os.environ.get("PYTHONPATH")] if p])
  return folder


def program_name(command):
  """What the records of a program are called: a script's or a module's name; of a test runner's, what it runs."""
  if command[0] in ("-", "-c"): return "stdin" if command[0] == "-" else "code"
  is_module, words = command[0] == "-m", command[1:] if command[0] == "-m" else command
  if is_module and words[0] in ("unittest", "pytest"): words = [w for w in words[1:] if not w.startswith("-")] or words
  name = words[0].split("::")[0]
  is_dotted = is_module and "/" not in name and not name.endswith(".py")
  return name.rsplit(".", 1)[-1] if is_dotted else pathlib.Path(name).stem


def run_program(command):
  """Runs a script, `-m module`, `-c code` or `-` in this process, as python would; all that it raises passes."""
  main = types.ModuleType("__main__")
  main.__builtins__ = __builtins__
  sys.modules["__main__"] = main
  def run(source, file): exec(compile(source, file, "exec"), main.__dict__)
  kind = command[0]
  if kind == "-m":
    sys.argv, sys.path[0] = command[1:], os.getcwd()
    runpy._run_module_as_main(command[1])
  elif kind == "-c":
    sys.argv, sys.path[0] = ["-c", *command[2:]], ""
    run(command[1], "<string>")
  elif kind == "-":
    sys.argv, sys.path[0] = command, ""
    run(sys.stdin.buffer.read(), "<stdin>")
  elif os.path.isdir(kind) or zipfile.is_zipfile(kind):
    sys.argv = command
    runpy.run_path(kind, run_name="__main__")
  else:
    sys.argv, sys.path[0], main.__file__ = command, os.path.dirname(os.path.realpath(kind)), kind
    run(pathlib.Path(kind).read_bytes(), kind)


def finish(recorder):
  """At the end: one golden file a level, and what is in them. Whether there is any."""
  counts = recorder.writer.put_together()
  for path, count in counts.items(): say(f"{path}: {count} records")
  if recorder.failures: say(f"{recorder.failures} could not be recorded")
  if not counts: say("nothing was compiled")
  return bool(counts)


def finish_at_the_end(recorder, folder):
  """Has finish() run once, after all that the program does, also where it is terminated or leaves by os._exit;
  `folder` is tell_children's."""
  leave, main, done = os._exit, os.getpid(), False
  def once():
    nonlocal done
    if done or os.getpid() != main: return True
    done = True
    shutil.rmtree(folder, ignore_errors=True)
    return finish(recorder)
  def terminated(_signal, _frame):
    once()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGTERM)
  def left(code):
    once()
    leave(code)
  def last():  # registered first: it runs after those of the program
    if once(): return
    sys.stdout.flush()
    sys.stderr.flush()
    leave(2)
  signal.signal(signal.SIGTERM, terminated)
  os._exit = left
  atexit.register(last)
