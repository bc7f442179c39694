#include "lib/run/run_report.h"

#include <algorithm>

#include "lib/support/counted.h"
#include "lib/support/json_writer.h"
#include "lib/support/pytext.h"

namespace tgc {

namespace {

size_t count_differing_arrays(const std::vector<Comparison>& arrays) {
  return size_t(std::count_if(arrays.begin(), arrays.end(), [](const Comparison& c) { return !c.has_passed(); }));
}

std::string indent_lines(const std::string& text) {
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
        [&] { json.member("index", d->flat_index).member("actual", d->actual).member("expected", d->expected); });
}

void write_comparison(JsonWriter& json, const Comparison& c) {
  json.object([&] {
    json.member("name", c.name).member("dtype", dtype_text(c.dtype)).member("shape", c.shape);
    json.member("elements", c.num_elements).member("different", c.num_different);
    json.member("max_abs", c.max_abs_error).member("max_rel", c.max_rel_error).member("max_ulp", c.max_ulp_error);
    json.member("nan", c.num_nan_actual).member("nan_expected", c.num_nan_expected);
    json.member("inf", c.num_inf_actual).member("inf_expected", c.num_inf_expected);
    if (c.num_non_finite) json.member("non_finite", c.num_non_finite);
    if (c.num_left_out) json.member("left_out", c.num_left_out);
    write_element(json, "first", c.first_difference);
    write_element(json, "worst", c.worst_difference);
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
  for (double s : run_seconds) total += s;
  KernelReportLine line{.name = name,
                  .device = device,
                  .kernel_number = number,
                  .num_arguments = num_arguments,
                  .used_bytes = double(buffer_bytes),
                  .kernel_cost = kernel_cost,
                  .kernel_time = KernelTime{median_time(), total}};
  auto at = [&](double q) { return time_text(quantile(q), 0); };
  std::string out = line.text(color) + "\n  " + count_text(run_seconds.size(), "run") + ": median " + at(0.5) +
                    ", fastest " + at(0) + ", 10% to 90% from " + at(0.1) + " to " + at(0.9) + ", slowest " + at(1) +
                    "\n";
  if (!num_evaluations) return out;
  return out + formatted("  %.3g million UOp evaluations a second\n",
                         double(num_evaluations) / std::max(median_time(), 1e-20) * 1e-6);
}

void TimedRuns::write(JsonWriter& json) const {
  double t = std::max(median_time(), 1e-20);
  json.object([&] {
    json.member("runs", run_seconds.size()).member("median_s", median_time()).member("min_s", quantile(0));
    json.member("p10_s", quantile(0.1)).member("p90_s", quantile(0.9)).member("max_s", quantile(1));
    json.member("gflops", kernel_cost.num_operations / t * 1e-9);
    if (num_evaluations) json.member("evaluations", num_evaluations);
    json.member("gb_per_s", std::min(kernel_cost.bytes_touched, kernel_cost.bytes_moved) / t * 1e-9);
  });
}

std::string StageDifference::text() const {
  std::string out;
  if (stage.empty())
    out += "  each of " + count_text(num_stages_run, "stage") + " computes the same" +
           (comparisons.empty() ? "\n" : ", but for elements that are left out\n");
  for (const std::string& text : refused_stages) out += "  not run: " + text + "\n";
  if (stage.empty()) return out;
  out += "  the first stage that computes something else: " + stage + "\n";
  for (const Comparison& c : comparisons) out += indent_lines(c.text());
  return out;
}

void StageDifference::write(JsonWriter& json) const {
  json.object([&] {
    json.member("run", num_stages_run).member("first_different", stage);
    write_comparisons(json, comparisons);
    if (!refused_stages.empty()) json.member("refused", refused_stages);
  });
}

RunReport::Result RunReport::result() const {
  if (!error.empty()) return is_kernel_fault ? Result::Failed : Result::Trouble;
  if (count_differing_arrays(comparisons) || (stage_difference && !stage_difference->stage.empty()))
    return Result::Failed;
  const bool compared = stage_difference || std::ranges::any_of(comparisons, &Comparison::has_compared_elements);
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
  std::string out = (input.empty() ? "" : input + ": ") + kernel + ": ", them = comparisons.size() == 1 ? "it" : "them";
  out += r == Result::NotCompared ? "run, not compared,"
         : r == Result::Passed    ? paint_text("passed", "green", color)
                                  : paint_text("FAILED", "red", color);
  out += " on " + device;
  if (!run_description.empty()) out += ", " + run_description;
  if (!comparisons.empty() && is_passed())
    out += ", " + count_text(comparisons.size(), "array") + " as " + reference + " has " + them;
  else if (r == Result::Failed && !comparisons.empty())
    out += ", " + std::to_string(count_differing_arrays(comparisons)) + " of " +
           count_text(comparisons.size(), "array") + " not as " + reference + " has " + them;
  if (seed)
    out += " (inputs from seed " + std::to_string(*seed) +
           (float_distribution.empty() ? "" : ", floats " + float_distribution) +
           (input_set_note.empty() ? "" : "; " + input_set_note) + ")";
  out += "\n";
  if (!variable_values.empty()) out += "  with " + chosen_values_text(variable_values) + "\n";
  for (const ChosenVariables& more : other_tried_values) out += "  also with " + chosen_values_text(more) + "\n";
  for (const Comparison& c : comparisons) out += indent_lines(c.text());
  if (!user_operation.empty()) out += "  made for " + user_operation + "\n";
  for (size_t i = 0; i < left_out_runs.size(); i++)
    out +=
        (i ? ", " : "  left out for lack of time: ") + left_out_runs[i] + (i + 1 == left_out_runs.size() ? "\n" : "");
  if (!notes.empty()) out += "  note: " + notes + ": devices may differ\n";
  if (stage_difference) out += stage_difference->text();
  if (timed_runs) out += timed_runs->text(number, color);
  for (size_t i = 0; i < written_files.size(); i++)
    out += (i ? ", " : "  wrote ") + written_files[i] + (i + 1 == written_files.size() ? "\n" : "");
  if (!not_saved_reason.empty()) out += "  its arrays could not be kept: " + not_saved_reason + "\n";
  if (!repeat_command.empty()) out += "  again: " + repeat_command + "\n";
  return out;
}

std::string RunReport::json() const {
  return json_object([&](JsonWriter& json) {
    if (!input.empty()) json.member("input", input);
    if (!user_operation.empty()) json.member("made_for", user_operation);
    json.member("kernel", kernel).member("device", device).member("result", name_of(result()));
    if (!error.empty()) json.member("error", error);
    if (!run_description.empty()) json.member("ran", run_description);
    if (!reference.empty()) json.member("reference", reference);
    if (seed) json.member("seed", *seed);
    if (!input_set_note.empty()) json.member("sizes", input_set_note);
    if (!float_distribution.empty()) json.member("floats", float_distribution);
    if (!variable_values.empty())
      json.key("variables").object([&] {
        for (auto& [name, v] : variable_values)
          json.key(name).object([&] { json.member("value", v.value).member("from", v.value_source); });
      });
    write_comparisons(json, comparisons);
    if (!left_out_runs.empty()) json.member("out_of_time", left_out_runs);
    if (!notes.empty()) json.member("notes", notes);
    if (stage_difference) stage_difference->write(json.key("stages"));
    if (timed_runs) timed_runs->write(json.key("bench"));
    json.member("written", written_files);
    if (!not_saved_reason.empty()) json.member("not_kept", not_saved_reason);
    if (!repeat_command.empty()) json.member("again", repeat_command);
  }) + "\n";
}

void RunCounts::add_result(RunReport::Result result) {
  // in the order of RunReport::Result
  size_t* counts[] = {&num_passed, &num_failed, &num_not_compared, &num_in_trouble};
  ++*counts[size_t(result)];
}

std::string RunCounts::text(std::string_view what) const {
  bool compared = num_passed + num_failed > 0 || num_not_compared == 0;
  std::string out = std::to_string(compared ? num_passed : num_not_compared) + " of " + count_text(num_total(), what) +
                    (compared ? " passed" : " run, none compared");
  if (num_failed) out += ", " + std::to_string(num_failed) + " failed";
  if (compared && num_not_compared) out += ", " + std::to_string(num_not_compared) + " run, not compared";
  if (num_in_trouble) out += ", " + std::to_string(num_in_trouble) + " in trouble";
  return out + "\n";
}

std::string paint_text(std::string text, std::string_view color, bool wanted) {
  return wanted ? colored(text, color) : text;
}

std::string time_text(double t, int width) {
  if (t > 10) return formatted("%*.2fs ", width, t);
  if (t > 10e-3) return formatted("%*.2fms", width, t * 1e3);
  return formatted("%*.2fus", width, t * 1e6);
}

std::string KernelReportLine::text(bool color) const {
  std::string out =
      paint_text(formatted("*** %-7.7s %4zu", device.c_str(), kernel_number), "green", color && kernel_time);
  out += " " + (color ? name : ansistrip(name));
  out.append(46 - std::min<size_t>(ansilen(name), 46), ' ');
  out += formatted(" arg %2zu mem %6.2f GB", num_arguments, used_bytes / 1e9);
  if (!kernel_time) return out;
  double t = std::max(kernel_time->seconds, 1e-20), ops = kernel_cost.num_operations / t,
         lds = kernel_cost.bytes_moved / t, mem = std::min(kernel_cost.bytes_touched / t, lds);
  out += " tm " + paint_text(time_text(kernel_time->seconds), "yellow", color && kernel_time->seconds > 0.01);
  out += formatted("/%9.2fms (", kernel_time->total_seconds * 1e3);
  out += ops < 1e14 ? formatted("%7.0f GFLOPS ", ops * 1e-9)
                    : paint_text(formatted("%7.0f TFLOPS", ops * 1e-12), "green", color) + " ";
  out += mem < 1e13 && lds < 1e15
             ? formatted("%4.0f|%-6.0f GB/s", mem * 1e-9, lds * 1e-9)
             : paint_text(formatted("%4.0f|%-6.0f TB/s", mem * 1e-12, lds * 1e-12), "green", color);
  return out + ")";
}

}  // namespace tgc
