"""Prints measured figures beside their limits."""


def p95(values): return sorted(values)[int(len(values) * 0.95)] if values else 0


class LimitChecks:
  def __init__(self): self.within = self.total = 0

  def check(self, what, value, limit, unit):
    self.total += 1
    self.within += value <= limit
    print(f"  {what:62} {value:9.1f} {unit:2}  at most {limit:5} {'' if value <= limit else '  OVER'}")
