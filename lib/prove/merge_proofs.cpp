#include "lib/prove/merge_proofs.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <ranges>

#include "lib/records/merge_reports.h"

namespace tgc {
namespace {

using Json = nlohmann::ordered_json;

std::vector<Json> interleave_lists(const std::vector<std::vector<Json>>& lists) {
  std::vector<Json> out;
  size_t longest = 0;
  for (const auto& list : lists) longest = std::max(longest, list.size());
  for (size_t i = 0; i < longest; i++)
    for (const auto& list : lists)
      if (i < list.size()) out.push_back(list[i]);
  return out;
}

using ShardCounts = std::map<uint64_t, std::map<uint64_t, size_t>>;

// Throws Failure if a shard K/N has no report, or fewer reports than another shard with the same N.
void check_no_shard_is_missing(const ShardCounts& counts) {
  for (auto& [of, reports] : counts) {
    const size_t most = std::ranges::max(reports | std::views::values);
    for (uint64_t number = 1; number <= of; number++)
      if (auto it = reports.find(number); it == reports.end() || it->second < most)
        throw Failure("there is no report of shard " + std::to_string(number) + "/" + std::to_string(of));
  }
}

bool is_refuted(const Json& object) { return object.value("verdict", "") == "refuted"; }

}  // namespace

std::string shard_end_line(const Shard& shard) {
  return Json{{"shard", shard.shard_number}, {"of", shard.num_shards}}.dump() + "\n";
}

Result<MergedProofs> merge_proofs(const std::vector<std::string>& files) {
  std::vector<std::vector<Json>> kernels(files.size());
  std::vector<std::vector<Json>> lists;
  std::string rules = "{}";
  std::vector<bool> has_end(files.size());
  ShardCounts shards;
  size_t reports = 0;
  const Status read = for_each_report(files, "tgc prove --json", [&](size_t file, const std::string& text) {
    const Json report = Json::parse(text);
    if ((has_end[file] = report.contains("shard")))
      return void(shards[report.at("of")][report.at("shard")]++);
    reports++;
    if (!report.contains("list")) {
      (void)report.at("verdict");
      return kernels[file].push_back(report);
    }
    lists.emplace_back(report.at("list").begin(), report.at("list").end());
    rules = add_report_counts(rules, text);
  });
  if (!read) return read.diag();
  for (size_t i = 0; i < files.size(); i++)
    if (!has_end[i])
      return Diag{.message = "the report has no end: its run was stopped, or had no --shard", .file = files[i],
                  .expected = "what `tgc prove --shard=K/N --json` prints"};
  if (auto all = catch_failures([&] { return check_no_shard_is_missing(shards), Unit{}; }); !all) return all.diag();
  if (!lists.empty() && lists.size() != reports)
    return Diag{.message = "some reports are of rules, and some of kernels"};
  std::vector<Json> objects = interleave_lists(kernels);
  if (!lists.empty()) objects.assign(1, Json::parse(rules)), objects[0]["list"] = interleave_lists(lists);
  MergedProofs out;
  for (const Json& object : objects) {
    out.json += object.dump() + "\n";
    out.is_refuted |= is_refuted(object) ||
                      (object.contains("list") && std::ranges::any_of(object["list"], is_refuted));
  }
  return out;
}

}  // namespace tgc
