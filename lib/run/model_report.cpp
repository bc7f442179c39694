#include <algorithm>

#include "lib/run/run.h"
#include "lib/support/counted.h"
#include "lib/support/json_writer.h"
#include "lib/support/pytext.h"

namespace tgc {
namespace {

std::string milliseconds_text(double seconds) {
  return formatted(seconds < 1e-6 ? "0 ms" : seconds < 0.01 ? "%.3f ms" : "%.1f ms", seconds * 1e3);
}

std::string first_elements_text(const Array& a) {
  std::string out = a.describe();
  int64_t shown = std::min<int64_t>(a.size(), 4);
  for (int64_t i = 0; i < shown; i++) out += (i ? ", " : " = ") + element_text(a, i);
  return out + (a.size() > shown ? ", ..." : "");
}

// Returns "others" if there are no names or too many.
std::string drawn_arrays_text(const std::set<std::string>& names) {
  constexpr size_t kMostListed = 4;
  if (names.empty() || names.size() > kMostListed) return "others";
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

std::string inputs_text(const ModelReport& r) {
  std::string out = r.arrays_file.empty() ? "" : ", inputs of " + r.arrays_file;
  if (!r.seed) return out;
  out += out.empty() ? ", inputs" : "; " + drawn_arrays_text(r.drawn_arrays);
  return out + " drawn with --seed " + std::to_string(*r.seed) +
         (r.float_distribution.empty() ? "" : " (floats " + r.float_distribution + ")") +
         (r.input_set_note.empty() ? "" : "; " + r.input_set_note);
}

std::string slowest_kernels_text(std::vector<TimedKernel> kernels, int runs) {
  double total = 0;
  for (const TimedKernel& k : kernels) total += k.run_seconds;
  std::ranges::sort(kernels, std::greater(), &TimedKernel::run_seconds);
  std::string out = "  all kernels, the fastest of " + std::to_string(runs) +
                    " runs each: " + milliseconds_text(total) + "; the slowest:\n";
  for (size_t i = 0; i < std::min<size_t>(10, kernels.size()); i++)
    out += "    " + milliseconds_text(kernels[i].run_seconds) + "  " + ansistrip(kernels[i].name) + "\n";
  return out;
}

}  // namespace

std::string ModelReport::first_difference() const {
  for (const auto* arrays : {&comparisons, stage_difference ? &stage_difference->comparisons : &comparisons})
    for (const Comparison& c : *arrays)
      if (!c.has_passed()) return c.text();
  return {};
}

RunReport::Result ModelReport::result() const {
  if (!error.empty()) return is_kernel_fault ? RunReport::Result::Failed : RunReport::Result::Trouble;
  if (!order_report.order_faults.empty() || !hazard_text.empty() ||
      (stage_difference && !stage_difference->stage.empty()))
    return RunReport::Result::Failed;
  if (!first_different_kernel.empty() || !std::ranges::all_of(comparisons, &Comparison::has_passed))
    return RunReport::Result::Failed;
  if (has_no_stores) return RunReport::Result::Passed;
  const bool compares = num_confirmed_kernels || std::ranges::any_of(comparisons, &Comparison::has_compared_elements);
  return compares ? RunReport::Result::Passed : RunReport::Result::NotCompared;
}

int ModelReport::exit_code() const { return exit_code_of(result()); }

std::string ModelReport::text() const {
  const RunReport::Result r = result();
  std::string out = (is_schedule ? "schedule " : "") + model + ": ";
  out += r == RunReport::Result::Failed        ? "FAILED"
         : r == RunReport::Result::NotCompared ? "run, not compared,"
                                               : "passed";
  out += (device.empty() ? "" : " on " + device) + ", ";
  if (!schedule_result.num_kernels && result_names.empty())
    return out + "no kernels, because the graph stores no value\n";
  // the kernels of a called function have a record of their own
  const bool calls = !schedule_result.num_kernels && stage_difference && stage_difference->num_stages_run;
  out += calls ? "no kernels, only stages" : count_text(schedule_result.num_kernels, "kernel");
  out += kernel_ids.empty() ? "" : " (" + kernel_ids + ")";
  out += inputs_text(*this);
  out += "\n  " + (load_seconds > 0 ? "load " + milliseconds_text(load_seconds) + ", " : "") + "build the graph " +
         milliseconds_text(build_seconds) + ", schedule, compile and run " + milliseconds_text(total_seconds) +
         ", of that the kernels " + milliseconds_text(schedule_result.run_seconds) + "\n";
  if (!graph_device.empty() && !device.starts_with(graph_device + ":"))
    out += "  recorded on " + graph_device + ", run on " + device + " instead\n";
  if (schedule_result.unplanned_bytes)
    out += "  memory between kernels: " + bytes_text(schedule_result.unplanned_bytes) + ", as planned " +
           bytes_text(schedule_result.planned_bytes) + "\n";
  for (auto& [name, source] : variables) out += "  " + name + "=" + source + "\n";
  for (const std::string& values : other_tried_values) out += "  also with " + values + "\n";
  for (size_t i = 0; i < result_names.size(); i++)
    out += "  " + result_names[i] + ": " + first_elements_text(schedule_result.values[i]) + "\n";
  if (!schedule_result.timed_kernels.empty()) out += slowest_kernels_text(schedule_result.timed_kernels, timed_runs);
  for (const Comparison& c : comparisons) out += "  " + c.text() + "\n";
  if (stage_difference) out += stage_difference->text();
  for (const ScheduleFault& f : order_report.order_faults)
    out +=
        "  order: " + f.detail() + (f.is_plan_fault ? ": a fault of " : ": an edge is missing in ") + f.function + "\n";
  if (!hazard_text.empty()) out += "  hazard: " + hazard_text + "\n";
  for (const std::string& note : notes) out += "  note: " + note + "\n";
  if (num_clean_sanitized_kernels)
    out +=
        "  no access outside of a buffer under AddressSanitizer: " + count_text(num_clean_sanitized_kernels, "kernel") +
        "\n";
  if (num_confirmed_kernels && first_different_kernel.empty())
    out += "  every kernel compares well with REF: " + std::to_string(num_confirmed_kernels) + "\n";
  if (!first_different_kernel.empty()) out += "  " + first_different_kernel + "\n";
  if (r == RunReport::Result::NotCompared && !is_schedule)
    out += "  not compared: --reference=REF compares each kernel with REF, --expect=FILE.npz the outputs\n";
  for (const std::string& file : written_files) out += "  wrote " + file + "\n";
  if (!repeat_command.empty()) out += "  again: " + repeat_command + "\n";
  if (!not_saved_reason.empty()) out += "  it could not be kept: " + not_saved_reason + "\n";
  return out;
}

std::string ModelReport::json() const {
  return json_object([&](JsonWriter& json) {
    auto milliseconds = [&](std::string_view name, double seconds) { json.key(name).number(seconds * 1e3, "%f"); };
    json.member("model", model).member("device", device).member("result", name_of(result()));
    if (!graph_device.empty()) json.member("recorded_on", graph_device);
    if (!error.empty()) json.member("error", error);
    if (!reference.empty()) json.member("reference", reference);
    if (!arrays_file.empty()) json.member("inputs", arrays_file);
    if (seed) json.member("seed", *seed);
    if (!arrays_file.empty() && !drawn_arrays.empty()) json.member("drawn", drawn_arrays);
    if (!float_distribution.empty()) json.member("floats", float_distribution);
    if (!input_set_note.empty()) json.member("sizes", input_set_note);
    write_comparisons(json, comparisons);
    if (stage_difference) stage_difference->write(json.key("stages"));
    if (!variables.empty()) json.member("variables", variables);
    if (!other_tried_values.empty()) json.member("also_tried", other_tried_values);
    if (!repeat_command.empty()) json.member("again", repeat_command).member("written", written_files);
    if (!order_report.order_faults.empty()) json.member("order", order_report.order_faults[0].detail());
    if (!hazard_text.empty()) json.member("hazard", hazard_text);
    if (!notes.empty()) json.member("notes", notes);
    if (num_confirmed_kernels) json.member("kernels_compared", num_confirmed_kernels);
    if (num_clean_sanitized_kernels) json.member("kernels_sanitized", num_clean_sanitized_kernels);
    if (!first_different_kernel.empty()) json.member("different", first_different_kernel);
    if (!not_saved_reason.empty()) json.member("not_kept", not_saved_reason);
    json.member("kernels", schedule_result.num_kernels);
    milliseconds("load_ms", load_seconds), milliseconds("build_ms", build_seconds),
        milliseconds("total_ms", total_seconds);
    milliseconds("run_ms", schedule_result.run_seconds);
    json.member("bytes_before", schedule_result.unplanned_bytes).member("bytes_after", schedule_result.planned_bytes);
    json.member("passed", result() == RunReport::Result::Passed);
    json.key("outputs").array([&] {
      for (size_t i = 0; i < schedule_result.values.size(); i++)
        json.object([&] {
          json.member("name", result_names[i]).member("array", schedule_result.values[i].describe());
          for (const Comparison& c : comparisons)
            if (c.name == result_names[i])
              json.member("different", c.num_different).key("max_abs").number(c.max_abs_error, "%.9g");
        });
    });
  }) + "\n";
}

}  // namespace tgc
