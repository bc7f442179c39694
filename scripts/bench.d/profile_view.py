#!/usr/bin/env python3
"""Measures the page of a profile and compares each figure with a limit.

  bench.d/profile_view.py TGC [PROFILE]   run by scripts/bench view; PROFILE: another profile to measure

Without PROFILE, makes one with 5 million packets: repeats those of real traces between the first and the last wave,
with random changes of their times. Opening is wall time and processor time; a frame is processor time of the page's
tasks.
"""
import copyreg, gzip, os, pickle, random, re, subprocess, sys, tempfile, time, types
from chromium import Chromium
from limits import LimitChecks, p95

PACKETS = 5_000_000
SOURCE = "testdata/profile/gfx1100_gemm_run_0.pkl.gz"
# MOVE pans through the timeline when a part of it is in view; ZOOM zooms in to single cycles and out again
MOVE = """(async () => {
  const c = theApp.canvas, {from, to} = c.limits, span = (to - from) / %d, middle = (from + to) / 2;
  c.show(middle - span / 2, middle + span / 2);
  for (let i = 0; i < 60; i++) { c.pan(40); await new Promise(requestAnimationFrame); } })()"""
ZOOM = """(async () => {
  const c = theApp.canvas; c.fit();
  for (let i = 0; i < 120; i++) { c.zoom(i < 60 ? 0.8 : 1.25); await new Promise(requestAnimationFrame); } })()"""


def packets_of(blob, sizes):
  """Yields the name, the first nibble and the number of nibbles of each packet of layout 3."""
  at, end = 0, 2 * len(blob) - 16
  nibbles = [n for byte in blob for n in (byte & 15, byte >> 4)]
  while at <= end:
    low = nibbles[at] | nibbles[at + 1] << 4
    name, size = sizes[low]
    yield name, at, size
    at += size


def packet_table():
  """Returns the name and the nibbles of packets of layout 3, by their low 8 bits, from the decoder's own table."""
  rows, shared = [], True
  for line in open("lib/profile/sqtt_packets.def"):
    if "TGC_SQTT_RDNA4(X)" in line: break
    m = re.match(r"\s*X\((\w+),\s*(\d+),\s*0b([01]+),\s*(\d+)", line)
    if m: rows.append((m[1], int(m[2]), int(m[3], 2), int(m[4])))
  rows.sort(key=lambda r: r[1])
  out = {}
  for low in range(256):
    matches = [r for r in rows if low & ((1 << r[1]) - 1) == r[2]]
    out[low] = (matches[-1][0], matches[-1][3]) if matches else ("NOP", 1)
  return out


def repeat_packets(blob, sizes, times, draw):
  first = last = None
  moved = []  # nibbles of packets whose delta begins at bit 4, which each repetition changes
  for name, at, size in packets_of(blob, sizes):
    if name == "WAVESTART" and first is None: first = at
    if name == "WAVEEND": last = at + size
    if name in ("VALUINST", "INST", "IMMEDIATE", "ALUEXEC", "VMEMEXEC"): moved.append(at + 1)
  nibbles = [n for byte in blob for n in (byte & 15, byte >> 4)]
  out = nibbles[:first]
  for _ in range(times):
    for at in moved: nibbles[at] ^= draw.getrandbits(2)
    out += nibbles[first:last] + [8, 8]  # the two nibbles are a packet TS_DELTA_SHORT
  out += [0] * (32 + len(out) % 2)
  return bytes(a | b << 4 for a, b in zip(out[::2], out[1::2]))


class StubUnpickler(pickle.Unpickler):
  """Reads a pickle without tinygrad: each of tinygrad's classes becomes an empty one of the same name."""

  def find_class(self, module, name):
    if module in ("decimal", "builtins", "collections"): return super().find_class(module, name)
    parts = module.split(".")
    for n in range(len(parts)): home = sys.modules.setdefault(".".join(parts[:n + 1]), types.ModuleType(".".join(parts[:n + 1])))
    if not hasattr(home, name):
      def make(cls, *args):
        out = object.__new__(cls)
        if args: out.made_of = args
        return out
      def reduce(self, protocol):
        state = {k: v for k, v in self.__dict__.items() if k != "made_of"}
        if hasattr(self, "made_of"): return type(self), self.made_of, state or None
        return copyreg.__newobj__, (type(self),), state
      setattr(home, name, type(name, (), {"__module__": module, "__new__": make, "__reduce_ex__": reduce}))
    return getattr(home, name)


def make_profile(path):
  events, sizes = StubUnpickler(gzip.open(SOURCE)).load(), packet_table()
  traces = [e for e in events if type(e).__name__ == "ProfileSQTTEvent"]
  active, draw = 0, random.Random(1)
  for trace in traces:
    names = [name for name, *_ in packets_of(trace.blob, sizes)]
    active += len(names) - names.index("WAVESTART") - names[::-1].index("WAVEEND")
  for trace in traces: trace.blob = repeat_packets(trace.blob, sizes, -(-PACKETS // active), draw)
  with open(path, "wb") as f: pickle.dump(events, f, protocol=4)


def main():
  tgc, *given = sys.argv[1:]
  limits = LimitChecks()
  with tempfile.TemporaryDirectory() as temporary:
    profile, page = os.path.join(temporary, "large.pkl"), os.path.join(temporary, "page.html")
    if given: profile = given[0]
    else: make_profile(profile)
    begun = time.perf_counter()
    subprocess.run([tgc, "view", profile, "-o", page], check=True)
    wrote = time.perf_counter() - begun
    with Chromium(1440, 900) as browser:
      opening = browser.tasks(lambda: browser.open("file://" + page))
      opened = browser.value("theApp.openedAt")
      packets = browser.value("theApp.index.runs.reduce((n, r) => n + r.traces.reduce((m, t) => m + t.packets, 0), 0)")
      print(f"a profile of {os.path.getsize(profile) / 1e6:.1f} MB, {packets} packets:")
      limits.check("the page is written in", wrote * 1e3, 20000, "ms")
      limits.check("its size, in parts of the profile's", os.path.getsize(page) / os.path.getsize(profile) * 100, 400, "%")
      limits.check("opened, cold, to the first complete drawing", opened, 500, "ms")
      limits.check("opening, processor time of the page's tasks", sum(opening), 300, "ms")
      browser.key("e")  # opens all groups
      for part in (10, 1000, 30000):
        moves = [t for t in browser.tasks(lambda: browser.value(MOVE % part)) if t > 0.2]
        limits.check(f"panning through 1/{part} of the time, a frame (p95)", p95(moves), 33, "ms")
      moves = [t for t in browser.tasks(lambda: browser.value(ZOOM)) if t > 0.2]
      limits.check("zooming from all to some cycles and back, a frame (p95)", p95(moves), 33, "ms")
      limits.check("the longest of these tasks", max(moves + opening[:1]), 200, "ms")
  print(f"{limits.within} of {limits.total} within their limits")


main()
