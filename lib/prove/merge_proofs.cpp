#include "lib/prove/merge_proofs.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "lib/records/input_file.h"

namespace tgc {
namespace {

using Json = nlohmann::ordered_json;

std::vector<Json> objects_in(const std::string& path) {
  auto file = LineReader::open(path);
  std::string text;
  file.value_or_throw()->rest(text).value_or_throw();
  std::vector<Json> out;
  std::istringstream lines(text);
  try {
    for (std::string line; std::getline(lines, line);) {
      out.push_back(Json::parse(line));
      if (!out.back().contains("list")) (void)out.back().at("verdict");
    }
  } catch (const Json::exception& e) {
    throw Failure(Diag{.message = std::string("no report: ") + e.what(), .file = path,
                       .expected = "what `tgc prove --json` prints"});
  }
  return out;
}

// Returns the first of each list, then the second of each, and so on.
std::vector<Json> interleaved(const std::vector<std::vector<Json>>& lists) {
  std::vector<Json> out;
  size_t longest = 0;
  for (const auto& list : lists) longest = std::max(longest, list.size());
  for (size_t i = 0; i < longest; i++)
    for (const auto& list : lists)
      if (i < list.size()) out.push_back(list[i]);
  return out;
}

// Adds up the counts of reports of rules, and joins their lists.
Json merged_rules(const std::vector<Json>& reports) {
  Json out = Json::object();
  std::vector<std::vector<Json>> lists;
  for (const Json& report : reports) {
    lists.emplace_back(report.at("list").begin(), report.at("list").end());
    for (auto& [name, value] : report.items())
      if (value.is_number_unsigned()) out[name] = out.value(name, uint64_t(0)) + value.get<uint64_t>();
  }
  out["list"] = interleaved(lists);
  return out;
}

bool is_refuted(const Json& object) { return object.value("verdict", "") == "refuted"; }

}  // namespace

Result<MergedProofs> merge_proofs(const std::vector<std::string>& files) {
  return catch_failures([&] {
    std::vector<std::vector<Json>> all;
    std::vector<Json> of_rules;
    for (const std::string& path : files) {
      all.push_back(objects_in(path));
      for (const Json& object : all.back())
        if (object.contains("list")) of_rules.push_back(object);
    }
    std::vector<Json> objects = interleaved(all);
    if (!of_rules.empty() && of_rules.size() != objects.size())
      throw Failure("some reports are of rules, and some of kernels");
    MergedProofs out;
    if (!of_rules.empty()) objects = {merged_rules(of_rules)};
    for (const Json& object : objects) {
      out.json += object.dump() + "\n";
      out.is_refuted |= is_refuted(object) ||
                        (object.contains("list") && std::ranges::any_of(object["list"], is_refuted));
    }
    return out;
  });
}

}  // namespace tgc
