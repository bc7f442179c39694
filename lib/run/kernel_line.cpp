#include "lib/run/kernel_line.h"

#include <algorithm>

#include "lib/support/counted.h"
#include "lib/support/pytext.h"

namespace tgc {

std::string painted(std::string text, std::string_view color, bool wanted) {
  return wanted ? colored(text, color) : text;
}

std::string time_text(double t, int width) {
  if (t > 10) return formatted("%*.2fs ", width, t);
  if (t > 10e-3) return formatted("%*.2fms", width, t * 1e3);
  return formatted("%*.2fus", width, t * 1e6);
}

std::string KernelLine::text(bool color) const {
  std::string out = painted(formatted("*** %-7.7s %4zu", device.c_str(), number), "green", color && time);
  out += " " + (color ? name : ansistrip(name));
  out.append(46 - std::min<size_t>(ansilen(name), 46), ' ');
  out += formatted(" arg %2zu mem %6.2f GB", arguments, bytes / 1e9);
  if (!time) return out;
  double t = std::max(time->seconds, 1e-20), ops = cost.ops / t, lds = cost.lds / t, mem = std::min(cost.mem / t, lds);
  out += " tm " + painted(time_text(time->seconds), "yellow", color && time->seconds > 0.01);
  out += formatted("/%9.2fms (", time->seconds_in_all * 1e3);
  out += ops < 1e14 ? formatted("%7.0f GFLOPS ", ops * 1e-9)
                    : painted(formatted("%7.0f TFLOPS", ops * 1e-12), "green", color) + " ";
  out += mem < 1e13 && lds < 1e15 ? formatted("%4.0f|%-6.0f GB/s", mem * 1e-9, lds * 1e-9)
                                  : painted(formatted("%4.0f|%-6.0f TB/s", mem * 1e-12, lds * 1e-12), "green", color);
  return out + ")";
}

}  // namespace tgc
