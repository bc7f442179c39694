#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>

#include "lib/fuzz/fuzz.h"
#include "lib/support/json_writer.h"

namespace tgc {

Result<std::vector<std::string>> known_rules(const std::string& path) {
  std::ifstream file(path);
  if (!file) return Diag{.message = "cannot open", .file = path};
  std::vector<std::string> out;
  for (std::string line; std::getline(file, line);) {
    size_t begin = line.find('`'), end = line.find('`', begin + 1);
    if (line.starts_with("### `") && end != line.npos) out.push_back(line.substr(begin + 1, end - begin - 1));
  }
  return out;
}

int FuzzReport::exit_code() const {
  if (!error.empty()) return 2;
  return std::ranges::any_of(findings, [](const FuzzFinding& f) { return !f.known; }) ? 1 : 0;
}

namespace {

// The rules that never applied, a line a file: "  passes/tensor/multi.cpp: flip-multi, pad-multi".
std::string never_hit_text(const std::vector<std::string>& rules) {
  std::map<std::string, std::string> by_file;
  for (const std::string& rule : rules) {  // "NAME FILE"
    size_t space = rule.find(' ');
    std::string& names = by_file[rule.substr(space + 1)];
    names += (names.empty() ? "" : ", ") + rule.substr(0, space);
  }
  std::string out;
  for (auto& [file, names] : by_file) out += "  " + file + ": " + names + "\n";
  return out;
}

}  // namespace

std::string FuzzReport::text() const {
  char line[256];
  std::snprintf(
      line, sizeof line,
      "%zu graphs from seed %llu in %.1f s, %.0f a second; %zu compiled alone, %zu refused, %zu left out; %zu runs in "
      "REF, %zu on devices\n%zu of %zu rewrite rules applied (%.1f %%)\n",
      graphs, static_cast<unsigned long long>(seed), seconds, double(graphs) / std::max(seconds, 1e-9), compiled,
      refused, left_out, runs, device_runs, rules_hit, rules,
      100.0 * double(rules_hit) / double(std::max<size_t>(1, rules)));
  std::string out = line;
  if (2 * rules_hit < rules) out += "those that never applied are named by --json\n";
  else if (!never_hit.empty()) out += "those that never applied:\n" + never_hit_text(never_hit);
  if (with_tinygrad) out += std::to_string(with_tinygrad) + " graphs as tinygrad compiles them, text by text\n";
  for (const FuzzFinding& f : findings) {
    out += std::string(f.known ? "known: " : "FOUND: ") + f.verdict + (f.rule.empty() ? "" : " " + f.rule) +
           (f.branch.empty() ? "" : " [" + f.branch + "]") + (f.stage.empty() ? "" : ", " + f.stage) + ": " +
           std::to_string(f.times) + " times, first graph " + std::to_string(f.graph);
    if (f.nodes) out += ", reduced to " + std::to_string(f.nodes) + " nodes";
    out += (f.file.empty() ? "" : ": " + f.file) + "\n  " + f.said.substr(0, f.said.find('\n')) + "\n";
  }
  return out;
}

std::string FuzzReport::json() const {
  std::string out;
  JsonWriter json(out);
  json.object([&] {
    if (!error.empty()) return (void)json.member("error", error);
    json.member("seed", seed).member("graphs", graphs).member("compiled", compiled).member("refused", refused);
    json.member("left_out", left_out).member("rounding", rounding);
    json.member("runs", runs).member("device_runs", device_runs).key("seconds").number(seconds, "%.3f");
    json.member("with_tinygrad", with_tinygrad);
    json.member("rules", rules).member("rules_hit", rules_hit).member("never_hit", never_hit);
    json.key("findings").array([&] {
      for (const FuzzFinding& f : findings)
        json.object([&] {
          json.member("verdict", f.verdict).member("stage", f.stage).member("rule", f.rule).member("branch", f.branch);
          json.member("known", f.known).member("times", f.times).member("graph", f.graph).member("nodes", f.nodes);
          json.member("file", f.file).member("said", f.said);
        });
    });
  });
  return out + "\n";
}

}  // namespace tgc
