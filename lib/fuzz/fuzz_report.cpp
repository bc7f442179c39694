#include <algorithm>
#include <map>

#include "lib/fuzz/fuzz.h"
#include "lib/support/counted.h"
#include "lib/support/json_writer.h"

namespace tgc {

int FuzzReport::exit_code() const {
  if (!error.empty()) return 2;
  return std::ranges::any_of(findings, [](const FuzzFinding& f) { return f.known_entry.empty(); }) ? 1 : 0;
}

namespace {

// Returns one line per file: "  passes/tensor/multi.cpp: flip-multi, pad-multi".
std::string never_hit_text(const std::vector<std::string>& rules) {
  std::map<std::string, std::string> by_file;
  for (const std::string& rule : rules) {
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
  std::string out = known_entry.empty() ? "FOUND: " : "known: ";
  out += verdict + (rule.empty() ? "" : " " + rule) + (branch.empty() ? "" : " [" + branch + "]");
  if (rule.empty() && !known_entry.empty()) out += ", '" + known_entry + "'";
  out += (stage.empty() ? "" : ", " + stage) + ": ";
  out += std::to_string(num_graphs) + (num_graphs == 1 ? " time, graph " : " times, first graph ") + name;
  if (num_nodes) out += ", reduced to " + std::to_string(num_nodes) + " nodes";
  return out + (file.empty() ? "" : ": " + file);
}

std::string FuzzReport::text() const {
  std::string out = formatted(
      "%zu graphs from seed %llu in %.1f s, %.0f a second: of their kernels %zu compared, %zu compiled alone, %zu "
      "refused, %zu left out\n%zu runs in REF, %zu on devices",
      num_graphs_made, static_cast<unsigned long long>(seed), seconds,
      double(num_graphs_made) / std::max(seconds, 1e-9), num_compared, num_compiled_kernels, num_refused_kernels,
      num_left_out, num_ref_runs, num_device_runs);
  if (num_rules)
    out += formatted("; %zu of %zu rewrite rules applied (%.1f %%)", num_rules_hit, num_rules,
                     100.0 * double(num_rules_hit) / double(num_rules));
  out += "\n";
  for (auto& [error, times] : refusal_counts) out += "refused " + count_text(times, "time") + ": " + error + "\n";
  if (2 * num_rules_hit < num_rules) out += "those that never applied are named by --json\n";
  else if (!never_applied_rules.empty()) out += "those that never applied:\n" + never_hit_text(never_applied_rules);
  if (num_equal_kernels || num_equal_schedules)
    out += count_text(num_equal_kernels, "kernel") + " and " + count_text(num_equal_schedules, "schedule") +
           " as tinygrad makes them, text by text\n";
  for (const FuzzFinding& f : findings)
    if (!f.known_entry.empty()) out += f.line() + "\n";
  for (const FuzzFinding& f : findings)
    if (f.known_entry.empty())
      out += f.line() + "\n  " + f.message.substr(0, f.message.find('\n')) + "\n  again: " + f.repro_command + "\n";
  if (exit_code() == 1 && !has_known_rules && num_rules)
    out += "some may be tinygrad's own: --known=testdata/known_unsound.md names what it is known to do wrong\n";
  return out;
}

std::string FuzzReport::json() const {
  return json_object([&](JsonWriter& json) {
    if (!error.empty()) return (void)json.member("error", error);
    json.member("seed", seed)
        .member("made", num_graphs_made)
        .member("graphs", num_compared)
        .member("compiled", num_compiled_kernels);
    json.member("refused", num_refused_kernels).member("left_out", num_left_out).member("rounding", num_rounding_runs);
    json.member("runs", num_ref_runs).member("device_runs", num_device_runs).key("seconds").number(seconds, "%.3f");
    json.member("with_tinygrad", num_equal_kernels).member("schedules_with_tinygrad", num_equal_schedules);
    if (num_rules)
      json.member("rules", num_rules).member("rules_hit", num_rules_hit).member("never_hit", never_applied_rules);
    if (!refusal_counts.empty()) json.member("refusals", refusal_counts);
    json.key("findings").array([&] {
      for (const FuzzFinding& f : findings)
        json.object([&] {
          json.member("verdict", f.verdict).member("stage", f.stage).member("rule", f.rule).member("branch", f.branch);
          json.member("known", !f.known_entry.empty()).member("entry", f.known_entry).member("times", f.num_graphs);
          json.member("graph", f.graph_number).member("name", f.name).member("again", f.repro_command);
          json.member("nodes", f.num_nodes).member("file", f.file).member("said", f.message);
        });
    });
  }) + "\n";
}

}  // namespace tgc
