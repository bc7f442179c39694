#include "apps/tgc/run_report.h"

#include <algorithm>
#include <cmath>

#include "lib/support/pytext.h"
#include "lib/text/json_scan.h"

namespace tgc {
namespace {

template <class... Values>
std::string formatted(const char* format, Values... values) {
  char buffer[256];
  std::snprintf(buffer, sizeof buffer, format, values...);
  return buffer;
}

std::string colored(const std::string& text, const char* code, bool color) { return color ? "\x1b[" + std::string(code) + "m" + text + "\x1b[0m" : text; }

// tinygrad's time_to_str.
std::string time_text(double t, int width) {
  if (t > 10) return formatted("%*.2fs ", width, t);
  if (t > 10e-3) return formatted("%*.2fms", width, t * 1e3);
  return formatted("%*.2fus", width, t * 1e6);
}

size_t differing(const std::vector<Comparison>& arrays) {
  return size_t(std::count_if(arrays.begin(), arrays.end(), [](const Comparison& c) { return !c.passed(); }));
}

std::string plural(size_t n, const char* what) { return std::to_string(n) + " " + what + (n == 1 ? "" : "s"); }

std::string indented(const std::string& text) {
  std::string out = "  ";
  for (char c : text) {
    out += c;
    if (c == '\n') out += "  ";
  }
  return out + "\n";
}

void append_number(std::string& out, double v) {
  if (std::isnan(v)) out += "\"nan\"";
  else if (std::isinf(v)) out += v > 0 ? "\"inf\"" : "\"-inf\"";
  else out += formatted("%.17g", v);
}

class JsonObject {
 public:
  explicit JsonObject(std::string& out) : out_(out) { out_ += "{"; }
  ~JsonObject() { out_ += "}"; }
  std::string& key(std::string_view name) {
    if (!first_) out_ += ",";
    first_ = false;
    append_json_string(out_, name);
    return out_ += ":";
  }
  void string(std::string_view name, std::string_view value) { append_json_string(key(name), value); }
  void number(std::string_view name, double value) { append_number(key(name), value); }
  void integer(std::string_view name, int64_t value) { key(name) += std::to_string(value); }

 private:
  std::string& out_;
  bool first_ = true;
};

template <class List, class Each>
void append_list(std::string& out, const List& list, Each each) {
  out += "[";
  bool first = true;
  for (auto& item : list) {
    if (!first) out += ",";
    first = false;
    each(item);
  }
  out += "]";
}

void append_comparison(std::string& out, const Comparison& c) {
  JsonObject o(out);
  o.string("name", c.name);
  o.string("dtype", dtype_text(c.dtype));
  append_list(o.key("shape"), c.shape, [&](int64_t n) { out += std::to_string(n); });
  o.integer("elements", c.size);
  o.integer("different", c.different);
  o.number("max_abs", c.max_abs);
  o.number("max_rel", c.max_rel);
  o.integer("max_ulp", int64_t(c.max_ulp));
  o.integer("nan", c.nan_actual);
  o.integer("nan_expected", c.nan_expected);
  o.integer("inf", c.inf_actual);
  o.integer("inf_expected", c.inf_expected);
  auto element = [&](const char* name, const std::optional<ElementDifference>& d) {
    if (!d) return;
    JsonObject e(o.key(name));
    e.integer("index", d->index);
    e.string("actual", d->actual);
    e.string("expected", d->expected);
  };
  element("first", c.first);
  element("worst", c.worst);
}

}  // namespace

double BenchReport::quantile(double q) const {
  if (seconds.empty()) return 0;
  std::vector<double> sorted = seconds;
  std::sort(sorted.begin(), sorted.end());
  return sorted[size_t(std::lround(q * double(sorted.size() - 1)))];
}

std::string BenchReport::text(size_t number, bool color) const {
  double t = median(), total = 0;
  for (double s : seconds) total += s;
  double per_second = 1 / std::max(t, 1e-20), mem = std::min(cost.mem, cost.lds);
  double flops = cost.ops * per_second, mem_rate = mem * per_second, lds_rate = cost.lds * per_second;
  std::string flops_text = flops < 1e14 ? formatted("%7.0f GFLOPS", flops * 1e-9) : colored(formatted("%7.0f TFLOPS", flops * 1e-12), "32", color);
  std::string bytes_text = mem_rate < 1e13 && lds_rate < 1e15 ? formatted("%4.0f|%-6.0f GB/s", mem_rate * 1e-9, lds_rate * 1e-9)
                                                              : colored(formatted("%4.0f|%-6.0f TB/s", mem_rate * 1e-12, lds_rate * 1e-12), "32", color);
  std::string shown = color ? name : ansistrip(name);
  shown.append(46 - std::min<size_t>(ansilen(name), 46), ' ');
  std::string time = time_text(t, 9);
  std::string line = colored(formatted("*** %-7s %4zu", device.substr(0, 7).c_str(), number), "32", color) + " " + shown + formatted(" arg %2zu mem %6.2f GB", arguments, double(bytes) * 1e-9) +
                     " tm " + (t > 0.01 ? colored(time, "33", color) : time) + formatted("/%9.2fms (", total * 1e3) + flops_text + " " + bytes_text + ")";
  return line + "\n  " + plural(seconds.size(), "run") + ": median " + time_text(t, 0) + ", fastest " + time_text(quantile(0), 0) + ", 10% to 90% from " +
         time_text(quantile(0.1), 0) + " to " + time_text(quantile(0.9), 0) + ", slowest " + time_text(quantile(1), 0) + "\n" +
         (evaluations ? formatted("  %.3g million UOp evaluations a second\n", double(evaluations) * per_second * 1e-6) : "");
}

bool RunReport::passed() const { return error.empty() && differing(arrays) == 0 && (!stages || stages->stage.empty()); }

std::string RunReport::text(size_t number, bool color) const {
  std::string verdict = arrays.empty() && !stages ? "ran" : passed() ? colored("passed", "32", color) : colored("FAILED", "31", color);
  std::string out = kernel + ": " + verdict + " on " + device;
  if (!arrays.empty() && passed()) out += ", " + plural(arrays.size(), "array") + " as " + reference + " has " + (arrays.size() == 1 ? "it" : "them");
  else if (!arrays.empty()) out += ", " + std::to_string(differing(arrays)) + " of " + plural(arrays.size(), "array") + " not as " + reference + " has " + (arrays.size() == 1 ? "it" : "them");
  out += seed ? " (inputs from seed " + std::to_string(*seed) + (floats.empty() ? "" : ", floats " + floats) + ")\n" : "\n";
  for (const Comparison& c : arrays) out += indented(c.text());
  if (!notes.empty()) out += "  note: " + notes + ": devices may differ\n";
  if (stages && stages->stage.empty()) out += "  each of " + plural(stages->stages_run, "stage") + " computes the same\n";
  if (stages && !stages->stage.empty()) {
    out += "  the first stage that computes something else: " + stages->stage + "\n";
    for (const Comparison& c : stages->arrays) out += indented(c.text());
  }
  if (bench) out += bench->text(number, color);
  for (size_t i = 0; i < written.size(); i++) out += (i ? ", " : "  wrote ") + written[i] + (i + 1 == written.size() ? "\n" : "");
  if (!again.empty()) out += "  again: " + again + "\n";
  return out;
}

std::string RunReport::json() const {
  std::string out;
  {
    JsonObject o(out);
    o.string("kernel", kernel);
    o.string("device", device);
    o.string("result", !error.empty() ? "trouble" : arrays.empty() && !stages ? "ran" : passed() ? "passed" : "failed");
    if (!error.empty()) o.string("error", error);
    if (!reference.empty()) o.string("reference", reference);
    if (seed) o.integer("seed", int64_t(*seed));
    if (!floats.empty()) o.string("floats", floats);
    append_list(o.key("arrays"), arrays, [&](const Comparison& c) { append_comparison(out, c); });
    if (!notes.empty()) o.string("notes", notes);
    if (stages) {
      JsonObject s(o.key("stages"));
      s.integer("run", int64_t(stages->stages_run));
      s.string("first_different", stages->stage);
      append_list(s.key("arrays"), stages->arrays, [&](const Comparison& c) { append_comparison(out, c); });
    }
    if (bench) {
      JsonObject b(o.key("bench"));
      b.integer("runs", int64_t(bench->seconds.size()));
      b.number("median_s", bench->median());
      b.number("min_s", bench->quantile(0));
      b.number("p10_s", bench->quantile(0.1));
      b.number("p90_s", bench->quantile(0.9));
      b.number("max_s", bench->quantile(1));
      b.number("gflops", bench->cost.ops / std::max(bench->median(), 1e-20) * 1e-9);
      if (bench->evaluations) b.integer("evaluations", int64_t(bench->evaluations));
      b.number("gb_per_s", std::min(bench->cost.mem, bench->cost.lds) / std::max(bench->median(), 1e-20) * 1e-9);
    }
    append_list(o.key("written"), written, [&](const std::string& w) { append_json_string(out, w); });
    if (!again.empty()) o.string("again", again);
  }
  return out + "\n";
}

}  // namespace tgc
