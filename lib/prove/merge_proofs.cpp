#include "lib/prove/merge_proofs.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lib/records/merge_reports.h"

namespace tgc {
namespace {

using Json = nlohmann::ordered_json;

// Returns the first element of each list, then the second element of each, and so on.
std::vector<Json> interleaved(const std::vector<std::vector<Json>>& lists) {
  std::vector<Json> out;
  size_t longest = 0;
  for (const auto& list : lists) longest = std::max(longest, list.size());
  for (size_t i = 0; i < longest; i++)
    for (const auto& list : lists)
      if (i < list.size()) out.push_back(list[i]);
  return out;
}

bool is_refuted(const Json& object) { return object.value("verdict", "") == "refuted"; }

}  // namespace

Result<MergedProofs> merge_proofs(const std::vector<std::string>& files) {
  std::vector<std::vector<Json>> kernels(files.size());  // the kernels in each file
  std::vector<std::vector<Json>> lists;                  // the rules in each report
  std::string rules = "{}";  // the sums of the counts in all reports of rules
  size_t reports = 0;
  const Status read = for_each_report(files, "tgc prove --json", [&](size_t file, const std::string& text) {
    const Json report = Json::parse(text);
    reports++;
    if (!report.contains("list")) {
      (void)report.at("verdict");
      return kernels[file].push_back(report);
    }
    lists.emplace_back(report.at("list").begin(), report.at("list").end());
    rules = sum_of_counts(rules, text);
  });
  if (!read) return read.diag();
  if (!lists.empty() && lists.size() != reports)
    return Diag{.message = "some reports are of rules, and some of kernels"};
  std::vector<Json> objects = interleaved(kernels);
  if (!lists.empty()) objects.assign(1, Json::parse(rules)), objects[0]["list"] = interleaved(lists);
  MergedProofs out;
  for (const Json& object : objects) {
    out.json += object.dump() + "\n";
    out.is_refuted |= is_refuted(object) ||
                      (object.contains("list") && std::ranges::any_of(object["list"], is_refuted));
  }
  return out;
}

}  // namespace tgc
