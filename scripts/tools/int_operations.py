#!/usr/bin/env python3
"""Prints random operations on integers with Python's results, one a line: OP A B RESULT, for lib/support/int_test.cpp.

  int_operations.py SEED COUNT

RESULT is "error" where Python raises an exception. A double is printed as the hexadecimal digits of its bits.
"""
import math, random, struct, sys


def cdiv(a, b): return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) if b else 0
def double(x): return struct.pack(">d", x).hex()


BINARY = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
          "floordiv": lambda a, b: a // b, "floormod": lambda a, b: a % b, "cdiv": cdiv,
          "cmod": lambda a, b: a - cdiv(a, b) * b, "truediv": lambda a, b: double(a / b),
          "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b,
          "less": lambda a, b: int(a < b), "equal": lambda a, b: int(a == b), "gcd": math.gcd}
SHIFT = {"shl": lambda a, n: a << n, "shr": lambda a, n: a >> n}
UNARY = {"neg": lambda a, _: -a, "abs": lambda a, _: abs(a), "bits": lambda a, _: a.bit_length(),
         "low64": lambda a, _: a % 2**64, "double": lambda a, _: double(float(a)), "hex": lambda a, _: a,
         "trunc": lambda d, _: int(d), "pow": lambda a, n: a ** n}
OPERATIONS = [*BINARY.items(), *SHIFT.items(), *UNARY.items()]
# One value in 64 has 1200 bits: the bounds of dtypes.index have 800.
BITS = [8, 16, 31, 32, 33, 62, 63, 64, 65, 66, 95, 96, 97, 100, 127, 128, 129, 160, 200] * 3 + [3, 4, 30, 48, 64, 63, 1200]


def operations(seed, count):
  r = random.Random(seed)
  def integer(most=2000):
    bits = min(BITS[r.getrandbits(6)], most)
    kind = r.getrandbits(3)
    value = (1 << bits) - (kind & 1) if kind < 3 else r.getrandbits(bits)  # three in eight are a power of two, or one less
    return -value if r.getrandbits(1) else value
  for i in range(count):
    name, operation = OPERATIONS[i % len(OPERATIONS)]
    a, b = integer(), 0
    if name == "gcd": a, b = (integer(300 if r.getrandbits(8) == 0 else 128) for _ in range(2))
    elif name == "truediv" and r.getrandbits(3) == 0: b = (1 << 1020 + r.getrandbits(7)) + r.getrandbits(60)
    elif name in BINARY: b = a + r.getrandbits(2) if r.getrandbits(3) == 0 else integer() if r.getrandbits(6) else 0
    elif name in SHIFT: b = r.getrandbits(8)
    elif name == "pow": a, b = integer(64), r.getrandbits(4)
    elif name == "trunc": a = math.ldexp(r.random() - 0.5, r.getrandbits(8))
    try: result = operation(a, b)
    except (OverflowError, ZeroDivisionError): result = "error"
    yield f"{name} {double(a) if name == 'trunc' else hex(a) if name == 'hex' else a} {b} {result}\n"


if __name__ == "__main__": sys.stdout.writelines(operations(int(sys.argv[1]), int(sys.argv[2])))
