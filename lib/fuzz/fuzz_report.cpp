#include <algorithm>
#include <map>

#include "lib/fuzz/fuzz.h"
#include "lib/support/counted.h"
#include "lib/support/json_writer.h"

namespace tgc {

int FuzzReport::exit_code() const {
  if (!error.empty()) return 2;
  return std::ranges::any_of(findings, [](const FuzzFinding& f) { return f.known.empty(); }) ? 1 : 0;
}

namespace {

// Returns the rules that never applied, one line per file: "  passes/tensor/multi.cpp: flip-multi, pad-multi".
std::string never_hit_text(const std::vector<std::string>& rules) {
  std::map<std::string, std::string> by_file;
  for (const std::string& rule : rules) {  // `rule` is "NAME FILE"
    size_t space = rule.find(' ');
    std::string& names = by_file[rule.substr(space + 1)];
    names += (names.empty() ? "" : ", ") + rule.substr(0, space);
  }
  std::string out;
  for (auto& [file, names] : by_file) out += "  " + file + ": " + names + "\n";
  return out;
}

}  // namespace

std::string FuzzFinding::line() const {
  std::string out = known.empty() ? "FOUND: " : "known: ";
  out += verdict + (rule.empty() ? "" : " " + rule) + (branch.empty() ? "" : " [" + branch + "]");
  if (rule.empty() && !known.empty()) out += ", '" + known + "'";
  out += (stage.empty() ? "" : ", " + stage) + ": ";
  out += std::to_string(times) + (times == 1 ? " time, graph " : " times, first graph ") + name;
  if (nodes) out += ", reduced to " + std::to_string(nodes) + " nodes";
  return out + (file.empty() ? "" : ": " + file);
}

std::string FuzzReport::text() const {
  std::string out = formatted(
      "%zu graphs from seed %llu in %.1f s, %.0f a second: of their kernels %zu compared, %zu compiled alone, %zu "
      "refused, %zu left out\n%zu runs in REF, %zu on devices",
      made, static_cast<unsigned long long>(seed), seconds, double(made) / std::max(seconds, 1e-9), graphs, compiled,
      refused, left_out, runs, device_runs);
  if (rules)
    out += formatted("; %zu of %zu rewrite rules applied (%.1f %%)", rules_hit, rules,
                     100.0 * double(rules_hit) / double(rules));
  out += "\n";
  for (auto& [error, times] : refusals) out += "refused " + counted(times, "time") + ": " + error + "\n";
  if (2 * rules_hit < rules) out += "those that never applied are named by --json\n";
  else if (!never_hit.empty()) out += "those that never applied:\n" + never_hit_text(never_hit);
  if (with_tinygrad || schedules_with_tinygrad)
    out += counted(with_tinygrad, "kernel") + " and " + counted(schedules_with_tinygrad, "schedule") +
           " as tinygrad makes them, text by text\n";
  for (const FuzzFinding& f : findings)
    if (!f.known.empty()) out += f.line() + "\n";
  for (const FuzzFinding& f : findings)
    if (f.known.empty())
      out += f.line() + "\n  " + f.message.substr(0, f.message.find('\n')) + "\n  again: " + f.repro_command + "\n";
  if (exit_code() == 1 && !has_known_rules && rules)
    out += "some may be tinygrad's own: --known=testdata/known_unsound.md names what it is known to do wrong\n";
  return out;
}

std::string FuzzReport::json() const {
  return json_object([&](JsonWriter& json) {
    if (!error.empty()) return (void)json.member("error", error);
    json.member("seed", seed).member("made", made).member("graphs", graphs).member("compiled", compiled);
    json.member("refused", refused).member("left_out", left_out).member("rounding", rounding);
    json.member("runs", runs).member("device_runs", device_runs).key("seconds").number(seconds, "%.3f");
    json.member("with_tinygrad", with_tinygrad).member("schedules_with_tinygrad", schedules_with_tinygrad);
    if (rules) json.member("rules", rules).member("rules_hit", rules_hit).member("never_hit", never_hit);
    if (!refusals.empty()) json.member("refusals", refusals);
    json.key("findings").array([&] {
      for (const FuzzFinding& f : findings)
        json.object([&] {
          json.member("verdict", f.verdict).member("stage", f.stage).member("rule", f.rule).member("branch", f.branch);
          json.member("known", !f.known.empty()).member("entry", f.known).member("times", f.times);
          json.member("graph", f.graph).member("name", f.name).member("again", f.repro_command);
          json.member("nodes", f.nodes).member("file", f.file).member("said", f.message);
        });
    });
  }) + "\n";
}

}  // namespace tgc
