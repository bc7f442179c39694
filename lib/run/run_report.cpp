#include "lib/run/run_report.h"

#include <algorithm>

#include "lib/support/counted.h"
#include "lib/support/json_writer.h"
#include "lib/support/pytext.h"

namespace tgc {

namespace {

size_t differing(const std::vector<Comparison>& arrays) {
  return size_t(std::count_if(arrays.begin(), arrays.end(), [](const Comparison& c) { return !c.passed(); }));
}

std::string indented(const std::string& text) {
  std::string out = "  ";
  for (char c : text) {
    out += c;
    if (c == '\n') out += "  ";
  }
  return out + "\n";
}

void write_element(JsonWriter& json, std::string_view name, const std::optional<ElementDifference>& d) {
  if (d)
    json.key(name).object(
        [&] { json.member("index", d->index).member("actual", d->actual).member("expected", d->expected); });
}

void write_comparison(JsonWriter& json, const Comparison& c) {
  json.object([&] {
    json.member("name", c.name).member("dtype", dtype_text(c.dtype)).member("shape", c.shape);
    json.member("elements", c.size).member("different", c.different);
    json.member("max_abs", c.max_abs).member("max_rel", c.max_rel).member("max_ulp", c.max_ulp);
    json.member("nan", c.nan_actual).member("nan_expected", c.nan_expected);
    json.member("inf", c.inf_actual).member("inf_expected", c.inf_expected);
    if (c.non_finite) json.member("non_finite", c.non_finite);
    if (c.left_out) json.member("left_out", c.left_out);
    write_element(json, "first", c.first);
    write_element(json, "worst", c.worst);
  });
}

}  // namespace

void write_comparisons(JsonWriter& json, const std::vector<Comparison>& arrays) {
  json.key("arrays").array([&] {
    for (const Comparison& c : arrays) write_comparison(json, c);
  });
}

std::string TimedRuns::text(size_t number, bool color) const {
  double total = 0;
  for (double s : seconds) total += s;
  KernelLine line{.name = name, .device = device, .number = number, .arguments = arguments, .bytes = double(bytes),
                  .cost = cost, .time = KernelTime{median(), total}};
  auto at = [&](double q) { return time_text(quantile(q), 0); };
  std::string out = line.text(color) + "\n  " + counted(seconds.size(), "run") + ": median " + at(0.5) + ", fastest " +
                    at(0) + ", 10% to 90% from " + at(0.1) + " to " + at(0.9) + ", slowest " + at(1) + "\n";
  if (!evaluations) return out;
  return out + formatted("  %.3g million UOp evaluations a second\n",
                         double(evaluations) / std::max(median(), 1e-20) * 1e-6);
}

void TimedRuns::write(JsonWriter& json) const {
  double t = std::max(median(), 1e-20);
  json.object([&] {
    json.member("runs", seconds.size()).member("median_s", median()).member("min_s", quantile(0));
    json.member("p10_s", quantile(0.1)).member("p90_s", quantile(0.9)).member("max_s", quantile(1));
    json.member("gflops", cost.ops / t * 1e-9);
    if (evaluations) json.member("evaluations", evaluations);
    json.member("gb_per_s", std::min(cost.mem, cost.lds) / t * 1e-9);
  });
}

std::string StageDifference::text() const {
  std::string out;
  if (stage.empty())
    out += "  each of " + counted(stages_run, "stage") + " computes the same" +
           (arrays.empty() ? "\n" : ", but for elements that are left out\n");
  for (const std::string& text : refused) out += "  not run: " + text + "\n";
  if (stage.empty()) return out;
  out += "  the first stage that computes something else: " + stage + "\n";
  for (const Comparison& c : arrays) out += indented(c.text());
  return out;
}

void StageDifference::write(JsonWriter& json) const {
  json.object([&] {
    json.member("run", stages_run).member("first_different", stage);
    write_comparisons(json, arrays);
    if (!refused.empty()) json.member("refused", refused);
  });
}

RunReport::Result RunReport::result() const {
  if (!error.empty()) return kernel_fault ? Result::Failed : Result::Trouble;
  if (differing(arrays) || (stages && !stages->stage.empty())) return Result::Failed;
  bool compared =
      stages || std::ranges::any_of(arrays, [](const Comparison& c) { return c.left_out < c.size || c.size == 0; });
  return compared ? Result::Passed : Result::NotCompared;
}

int RunReport::exit_code() const { return exit_code_of(result()); }

std::string_view name_of(RunReport::Result result) {
  constexpr std::string_view kNames[] = {"passed", "failed", "ran", "trouble"};
  return kNames[size_t(result)];
}

int exit_code_of(RunReport::Result result) {
  constexpr int kCodes[] = {0, 1, 0, 2};
  return kCodes[size_t(result)];
}

std::string RunReport::text(size_t number, bool color) const {
  Result r = result();
  std::string out = (input.empty() ? "" : input + ": ") + kernel + ": ", them = arrays.size() == 1 ? "it" : "them";
  out += r == Result::NotCompared ? "run, not compared,"
         : r == Result::Passed    ? painted("passed", "green", color)
                                  : painted("FAILED", "red", color);
  out += " on " + device;
  if (!ran.empty()) out += ", " + ran;
  if (!arrays.empty() && passed()) out += ", " + counted(arrays.size(), "array") + " as " + reference + " has " + them;
  else if (r == Result::Failed && !arrays.empty())
    out += ", " + std::to_string(differing(arrays)) + " of " + counted(arrays.size(), "array") + " not as " +
           reference + " has " + them;
  if (seed)
    out += " (inputs from seed " + std::to_string(*seed) + (floats.empty() ? "" : ", floats " + floats) +
           (sizes.empty() ? "" : "; " + sizes) + ")";
  out += "\n";
  if (!values.empty()) out += "  with " + text_of(values) + "\n";
  for (const ChosenVariables& more : also_tried) out += "  also with " + text_of(more) + "\n";
  for (const Comparison& c : arrays) out += indented(c.text());
  if (!made_for.empty()) out += "  made for " + made_for + "\n";
  for (size_t i = 0; i < out_of_time.size(); i++)
    out += (i ? ", " : "  left out for lack of time: ") + out_of_time[i] + (i + 1 == out_of_time.size() ? "\n" : "");
  if (!notes.empty()) out += "  note: " + notes + ": devices may differ\n";
  if (stages) out += stages->text();
  if (bench) out += bench->text(number, color);
  for (size_t i = 0; i < written.size(); i++)
    out += (i ? ", " : "  wrote ") + written[i] + (i + 1 == written.size() ? "\n" : "");
  if (!not_kept.empty()) out += "  its arrays could not be kept: " + not_kept + "\n";
  if (!repeat_command.empty()) out += "  again: " + repeat_command + "\n";
  return out;
}

std::string RunReport::json() const {
  return json_object([&](JsonWriter& json) {
    if (!input.empty()) json.member("input", input);
    if (!made_for.empty()) json.member("made_for", made_for);
    json.member("kernel", kernel).member("device", device).member("result", name_of(result()));
    if (!error.empty()) json.member("error", error);
    if (!ran.empty()) json.member("ran", ran);
    if (!reference.empty()) json.member("reference", reference);
    if (seed) json.member("seed", *seed);
    if (!sizes.empty()) json.member("sizes", sizes);
    if (!floats.empty()) json.member("floats", floats);
    if (!values.empty())
      json.key("variables").object([&] {
        for (auto& [name, v] : values)
          json.key(name).object([&] { json.member("value", v.value).member("from", v.from); });
      });
    write_comparisons(json, arrays);
    if (!out_of_time.empty()) json.member("out_of_time", out_of_time);
    if (!notes.empty()) json.member("notes", notes);
    if (stages) stages->write(json.key("stages"));
    if (bench) bench->write(json.key("bench"));
    json.member("written", written);
    if (!not_kept.empty()) json.member("not_kept", not_kept);
    if (!repeat_command.empty()) json.member("again", repeat_command);
  }) + "\n";
}

void RunCounts::add(RunReport::Result result) {
  size_t* counts[] = {&passed, &failed, &not_compared, &in_trouble};  // indexed by RunReport::Result
  ++*counts[size_t(result)];
}

std::string RunCounts::text(std::string_view what) const {
  bool compared = passed + failed > 0 || not_compared == 0;
  std::string out = std::to_string(compared ? passed : not_compared) + " of " + counted(all(), what) +
                    (compared ? " passed" : " run, none compared");
  if (failed) out += ", " + std::to_string(failed) + " failed";
  if (compared && not_compared) out += ", " + std::to_string(not_compared) + " run, not compared";
  if (in_trouble) out += ", " + std::to_string(in_trouble) + " in trouble";
  return out + "\n";
}

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
