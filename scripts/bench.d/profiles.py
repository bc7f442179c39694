#!/usr/bin/env python3
"""Times `tgc profile` on long thread traces: those of testdata/profile, repeated.

  bench.d/profiles.py TGC [--megabytes=40]    of each trace; run by scripts/bench profile

Measures the processor time of the whole program, with one thread.
"""
import argparse, gzip, json, pathlib, resource, subprocess, tempfile


def repeated(pickle, times):
  """Repeats the longest thread trace of a pickle. Returns the pickle and the bytes of the repeated trace."""
  best, at = (0, 0), 0
  while (at := pickle.find(b"B", at)) >= 0:
    size, end = int.from_bytes(pickle[at + 1:at + 5], "little"), at + 5
    # MEMOIZE follows bytes, and a trace begins with LAYOUT_HEADER
    if end + size < len(pickle) and pickle[end + size] == 0x94 and pickle[end] & 0x7f == 0x11: best = max(best, (size, at))
    at += 1
  size, at = best
  blob = pickle[at + 5:at + 5 + size] * times
  return pickle[:at + 1] + len(blob).to_bytes(4, "little") + blob + pickle[at + 5 + size:], len(blob)


def seconds_of(command):
  before = resource.getrusage(resource.RUSAGE_CHILDREN)
  out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
  after = resource.getrusage(resource.RUSAGE_CHILDREN)
  return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, out


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument("tgc")
  parser.add_argument("--megabytes", type=float, default=40)
  options = parser.parse_args()
  all_bytes = all_packets = all_seconds = 0
  for path in sorted(pathlib.Path("testdata/profile").glob("gfx*.pkl.gz")):
    pickle = gzip.decompress(path.read_bytes())
    _, size = repeated(pickle, 1)
    pickle, size = repeated(pickle, max(1, int(options.megabytes * 1e6 / size)))
    with tempfile.NamedTemporaryFile(suffix=".pkl") as file:
      file.write(pickle), file.flush()
      report = json.loads(subprocess.run([options.tgc, "profile", file.name, "--json"], check=True, capture_output=True, text=True).stdout)
      seconds = min(seconds_of([options.tgc, "profile", file.name, "-j1"])[0] for _ in range(3))
    packets = sum(trace["packets"] for trace in report["sqtt"])
    all_bytes, all_packets, all_seconds = all_bytes + size, all_packets + packets, all_seconds + seconds
    print(f"  {path.name:34} {size / 1e6:6.1f} MB {packets / 1e6:6.1f} M packets {seconds:6.2f} s {packets / seconds / 1e6:6.1f} M packets a second")
  print(f"  {'all':34} {all_bytes / 1e6:6.1f} MB {all_packets / 1e6:6.1f} M packets {all_seconds:6.2f} s {all_packets / all_seconds / 1e6:6.1f} M packets a second")


if __name__ == "__main__": main()
