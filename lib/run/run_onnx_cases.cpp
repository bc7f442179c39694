#include "lib/run/run.h"

#include "lib/contain/contain.h"
#include "lib/model/conformance.h"
#include "lib/support/counted.h"
#include "lib/support/json_writer.h"

namespace tgc {
namespace {

constexpr double kTimeoutSeconds = 120;

OnnxCaseResult run_in_worker(const std::string& folder, const Session& session, const RunOptions& options,
                             const Settings& settings) {
  auto body = [&](Worker&) -> Result<std::string> {
    auto place = placement_for_model(session, options.device.name, settings);
    if (!place) return place.diag();
    OnnxCaseOptions own{.settings = settings, .device_placement = &*place};
    const ToleranceOptions& asked = options.compare.tolerance;
    if (asked.rtol) own.tolerance.rtol = asked.rtol;
    if (asked.atol) own.tolerance.atol = asked.atol;
    OnnxCaseResult r = run_onnx_case(folder, own);
    return std::to_string(int(r.outcome)) + "\n" + r.suite_name + "\n" + r.name + "\n" + r.message;
  };
  auto answer = run_in_sandbox(body, {.timeout_seconds = kTimeoutSeconds});
  if (!answer) return {.outcome = OnnxCaseResult::Outcome::Error, .name = folder, .message = answer.diag().text()};
  std::string text = *answer;
  auto cut = [&] {
    size_t end = text.find('\n');
    std::string line = text.substr(0, end);
    text.erase(0, end + 1);
    return line;
  };
  std::string number = cut();
  if (number.size() != 1 || number[0] < '0' || number[0] > '2')
    return {.outcome = OnnxCaseResult::Outcome::Error, .name = folder, .message = "its process gave no answer"};
  OnnxCaseResult out{.outcome = OnnxCaseResult::Outcome(number[0] - '0')};
  out.suite_name = cut(), out.name = cut(), out.message = text;
  return out;
}

}  // namespace

Result<ConformanceReport> run_onnx_tests(const Session& session, const std::vector<std::string>& folders,
                                         const RunOptions& options) {
  auto own = session.compiler()->require_scheduler("--onnx-test checks tgc's own frontend, and --live has another");
  if (!own) return own.diag();
  auto settings = session.merge_settings();
  if (!settings) return settings.diag();
  auto cases = find_onnx_cases(folders);
  if (cases.empty())
    return Diag{.message = "no model.onnx in or below the folders", .expected = "folders of ONNX conformance cases"};
  ConformanceReport out;
  for (size_t i = 0; i < cases.size(); i++) {
    session.report_progress(std::to_string(i + 1) + " of " + std::to_string(cases.size()) + ": " + cases[i]);
    OnnxCaseResult r = run_in_worker(cases[i], session, options, *settings);
    bool wrong = r.outcome == OnnxCaseResult::Outcome::Wrong;
    for (auto* row : {&out.all_suites, &out.suite_counts[r.suite_name]})
      (r.passed() ? row->num_passed : wrong ? row->num_wrong : row->num_errors)++;
    if (!r.passed())
      out.failure_lines += (wrong ? "wrong  " : "error  ") + r.suite_name + "/" + r.name + ": " + r.message + "\n";
  }
  return out;
}

std::string ConformanceReport::text() const {
  std::string out = failure_lines + "suite                  cases  passed   wrong   error\n";
  auto line = [&](const std::string& name, const SuiteCounts& r) {
    out += formatted("%-20s %7d %7d %7d %7d\n", name.c_str(), r.num_total(), r.num_passed, r.num_wrong, r.num_errors);
  };
  for (auto& [name, row] : suite_counts) line(name, row);
  if (suite_counts.size() > 1) line("all", all_suites);
  return out;
}

std::string ConformanceReport::json() const {
  return json_object([&](JsonWriter& json) {
           json.member("cases", all_suites.num_total())
               .member("passed", all_suites.num_passed)
               .member("wrong", all_suites.num_wrong)
               .member("errors", all_suites.num_errors);
         }) +
         "\n";
}

}  // namespace tgc
