#!/usr/bin/env python3
"""Measures the peak memory of `tgc run` on a model with weights in an external file, which tgc must map, not copy.

  bench.d/memory.py TGC [--layers=N] [--target=T]

The model is a chain of N matrix products (default 8) with 8192 x 8192 floats (256 MB) each. The peak is the resident
memory, with mapped weights. If it exceeds weights and activations by more than 200 MB, the exit code is 1.
"""
import argparse, array, pathlib, random, resource, subprocess, sys, tempfile, time

SIZE, ROWS = 8192, 4


# ---- protobuf: a field has a number and a value (an integer, bytes or text)
def varint(value):
  out = bytearray()
  while value > 127:
    out.append(value & 127 | 128)
    value >>= 7
  return bytes(out) + bytes([value])


def field(number, value):
  if isinstance(value, int): return varint(number << 3) + varint(value)
  data = value.encode() if isinstance(value, str) else value
  return varint(number << 3 | 2) + varint(len(data)) + data


def tensor(name, offset):
  places = (("location", "weights.bin"), ("offset", offset), ("length", 4 * SIZE * SIZE))
  external = b"".join(field(13, field(1, key) + field(2, str(value))) for key, value in places)
  return field(1, SIZE) + field(1, SIZE) + field(2, 1) + field(8, name) + external + field(14, 1)


def value_info(name):
  shape = b"".join(field(1, field(1, size)) for size in (ROWS, SIZE))
  return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))


def write_model(folder, layers):
  """Writes model.onnx and its weights: small numbers, so that the products stay finite."""
  draw = random.Random(0)
  block = array.array("f", (draw.uniform(-0.01, 0.01) for _ in range(1 << 18))).tobytes()
  with open(folder / "weights.bin", "wb") as weights:
    for _ in range(layers * 4 * SIZE * SIZE // len(block)): weights.write(block)
  nodes = b"".join(field(1, field(1, f"x{i}") + field(1, f"w{i}") + field(2, f"x{i + 1}") + field(4, "MatMul")) for i in range(layers))
  tensors = b"".join(field(5, tensor(f"w{i}", 4 * SIZE * SIZE * i)) for i in range(layers))
  graph = nodes + field(2, "large") + tensors + field(11, value_info("x0")) + field(12, value_info(f"x{layers}"))
  path = folder / "model.onnx"
  path.write_bytes(field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 17)))
  return path


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("tgc")
  parser.add_argument("--layers", type=int, default=8, metavar="N")
  parser.add_argument("--target", default="CPU", metavar="T")
  options = parser.parse_args()
  mb = 1 << 20
  weights, activations = options.layers * 4 * SIZE * SIZE / mb, (options.layers + 1) * 4 * ROWS * SIZE / mb
  with tempfile.TemporaryDirectory() as folder:
    path = write_model(pathlib.Path(folder), options.layers)
    start = time.monotonic()
    subprocess.run([options.tgc, "run", path, f"--target={options.target}"], check=True, stdout=subprocess.DEVNULL)
    seconds = time.monotonic() - start
  peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
  print(f"tgc run of {weights:.0f} MB of weights on {options.target}: peak memory {peak:.0f} MB, {peak - weights - activations:.0f} MB more than weights and")
  print(f"  activations ({activations:.0f} MB), in {seconds:.1f} s")
  return peak > weights + activations + 200


if __name__ == "__main__": sys.exit(main())
