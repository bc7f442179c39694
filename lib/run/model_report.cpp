#include <algorithm>

#include "lib/run/run.h"
#include "lib/support/counted.h"
#include "lib/support/json_writer.h"
#include "lib/support/pytext.h"

namespace tgc {
namespace {

std::string ms(double seconds) {
  return formatted(seconds < 1e-6 ? "0 ms" : seconds < 0.01 ? "%.3f ms" : "%.1f ms", seconds * 1e3);
}

// Returns the type, shape and first elements of an array: "float32 (2, 5) = 0.1, 0.2, 0.3, 0.4, ...".
std::string beginning_of(const Array& a) {
  std::string out = a.describe();
  int64_t shown = std::min<int64_t>(a.size(), 4);
  for (int64_t i = 0; i < shown; i++) out += (i ? ", " : " = ") + element_text(a, i);
  return out + (a.size() > shown ? ", ..." : "");
}

std::string slowest_of(std::vector<TimedKernel> kernels, int runs) {
  double total = 0;
  for (const TimedKernel& k : kernels) total += k.seconds;
  std::ranges::sort(kernels, std::greater(), &TimedKernel::seconds);
  std::string out =
      "  all kernels, the fastest of " + std::to_string(runs) + " runs each: " + ms(total) + "; the slowest:\n";
  for (size_t i = 0; i < std::min<size_t>(10, kernels.size()); i++)
    out += "    " + ms(kernels[i].seconds) + "  " + ansistrip(kernels[i].name) + "\n";
  return out;
}

}  // namespace

std::string ModelReport::first_difference() const {
  for (const auto* arrays : {&outputs, stages ? &stages->arrays : &outputs})
    for (const Comparison& c : *arrays)
      if (!c.passed()) return c.text();
  return {};
}

RunReport::Result ModelReport::result() const {
  if (!error.empty()) return kernel_fault ? RunReport::Result::Failed : RunReport::Result::Trouble;
  if (!order.faults.empty() || !hazard.empty() || (stages && !stages->stage.empty())) return RunReport::Result::Failed;
  if (!different.empty() || !std::ranges::all_of(outputs, &Comparison::passed)) return RunReport::Result::Failed;
  if (stores_nothing) return RunReport::Result::Passed;
  return outputs.empty() && confirmed_kernels == 0 ? RunReport::Result::NotCompared : RunReport::Result::Passed;
}

int ModelReport::exit_code() const { return exit_code_of(result()); }

std::string ModelReport::text() const {
  const RunReport::Result r = result();
  std::string out = (is_schedule ? "schedule " : "") + model + ": ";
  out += r == RunReport::Result::Failed        ? "FAILED"
         : r == RunReport::Result::NotCompared ? "run, not compared,"
                                               : "passed";
  out += (device.empty() ? "" : " on " + device) + ", ";
  if (!ran.kernels && names.empty()) return out + "no kernels, because the graph stores no value\n";
  const bool calls = !ran.kernels && stages && stages->stages_run;  // the graph becomes a call with a record of its own
  out += calls ? "no kernels, only stages" : counted(ran.kernels, "kernel");
  out += kernel_ids.empty() ? "" : " (" + kernel_ids + ")";
  if (seed)
    out += ", inputs drawn with --seed " + std::to_string(*seed) + (floats.empty() ? "" : " (floats " + floats + ")") +
           (sizes.empty() ? "" : "; " + sizes);
  out += "\n  " + (load_seconds > 0 ? "load " + ms(load_seconds) + ", " : "") + "build the graph " + ms(build_seconds) +
         ", schedule, compile and run " + ms(total_seconds) + ", of that the kernels " + ms(ran.seconds) + "\n";
  if (!recorded_on.empty() && !device.starts_with(recorded_on + ":"))
    out += "  recorded on " + recorded_on + ", run on " + device + " instead\n";
  if (ran.bytes_before)
    out += "  memory between kernels: " + bytes_text(ran.bytes_before) + ", as planned " + bytes_text(ran.bytes_after) +
           "\n";
  for (auto& [name, source] : variables) out += "  " + name + "=" + source + "\n";
  for (const std::string& values : also_tried) out += "  also with " + values + "\n";
  for (size_t i = 0; i < names.size(); i++) out += "  " + names[i] + ": " + beginning_of(ran.values[i]) + "\n";
  if (!ran.timed.empty()) out += slowest_of(ran.timed, timed_runs);
  for (const Comparison& c : outputs) out += "  " + c.text() + "\n";
  if (stages) out += stages->text();
  for (const OrderFault& f : order.faults)
    out += "  order: " + f.detail() + (f.is_of_plan ? ": a fault of " : ": an edge is missing in ") + f.function + "\n";
  if (!hazard.empty()) out += "  hazard: " + hazard + "\n";
  for (const std::string& note : notes) out += "  note: " + note + "\n";
  if (sanitized_kernels)
    out += "  no access outside of a buffer under AddressSanitizer: " + counted(sanitized_kernels, "kernel") + "\n";
  if (confirmed_kernels && different.empty())
    out += "  every kernel compares well with REF: " + std::to_string(confirmed_kernels) + "\n";
  if (!different.empty()) out += "  " + different + "\n";
  if (r == RunReport::Result::NotCompared && !is_schedule)
    out += "  not compared: --reference=REF compares each kernel with REF, --expect=FILE.npz the outputs\n";
  for (const std::string& file : written) out += "  wrote " + file + "\n";
  if (!repeat_command.empty()) out += "  again: " + repeat_command + "\n";
  if (!not_kept.empty()) out += "  it could not be kept: " + not_kept + "\n";
  return out;
}

std::string ModelReport::json() const {
  return json_object([&](JsonWriter& json) {
    auto milliseconds = [&](std::string_view name, double seconds) { json.key(name).number(seconds * 1e3, "%f"); };
    json.member("model", model).member("device", device).member("result", name_of(result()));
    if (!recorded_on.empty()) json.member("recorded_on", recorded_on);
    if (!error.empty()) json.member("error", error);
    if (!reference.empty()) json.member("reference", reference);
    if (seed) json.member("seed", *seed);
    if (!floats.empty()) json.member("floats", floats);
    if (!sizes.empty()) json.member("sizes", sizes);
    write_comparisons(json, outputs);
    if (stages) stages->write(json.key("stages"));
    if (!variables.empty()) json.member("variables", variables);
    if (!also_tried.empty()) json.member("also_tried", also_tried);
    if (!repeat_command.empty()) json.member("again", repeat_command).member("written", written);
    if (!order.faults.empty()) json.member("order", order.faults[0].detail());
    if (!hazard.empty()) json.member("hazard", hazard);
    if (!notes.empty()) json.member("notes", notes);
    if (confirmed_kernels) json.member("kernels_compared", confirmed_kernels);
    if (sanitized_kernels) json.member("kernels_sanitized", sanitized_kernels);
    if (!different.empty()) json.member("different", different);
    if (!not_kept.empty()) json.member("not_kept", not_kept);
    json.member("kernels", ran.kernels);
    milliseconds("load_ms", load_seconds), milliseconds("build_ms", build_seconds),
        milliseconds("total_ms", total_seconds);
    milliseconds("run_ms", ran.seconds);
    json.member("bytes_before", ran.bytes_before).member("bytes_after", ran.bytes_after);
    json.member("passed", result() == RunReport::Result::Passed);
    json.key("outputs").array([&] {
      for (size_t i = 0; i < ran.values.size(); i++)
        json.object([&] {
          json.member("name", names[i]).member("array", ran.values[i].describe());
          for (const Comparison& c : outputs)
            if (c.name == names[i]) json.member("different", c.different).key("max_abs").number(c.max_abs, "%.9g");
        });
    });
  }) + "\n";
}

}  // namespace tgc
