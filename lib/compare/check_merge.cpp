#include "lib/compare/check_merge.h"

#include <nlohmann/json.hpp>

#include "lib/records/merge_reports.h"

namespace tgc {

using Json = nlohmann::ordered_json;

Result<MergedCheck> merge_checks(const std::vector<std::string>& files) {
  std::string sum = R"({"records":0,"identical":0,"errors":0,"stages":{},"first_divergence":{}})";
  std::vector<size_t> reports(files.size());
  const Status read = for_each_report(files, "tgc check --json", [&](size_t file, const std::string& report) {
    reports[file]++;
    for (const char* name : {"records", "identical", "stages"}) (void)Json::parse(report).at(name);
    sum = add_report_counts(sum, report);
  });
  if (!read) return read.diag();
  for (size_t i = 0; i < files.size(); i++)  // a shard that was stopped leaves an empty file
    if (reports[i] != 1)
      return Diag{.message = "no report", .file = files[i], .expected = "what `tgc check --json` prints"};
  const Json all = Json::parse(sum);
  uint64_t skipped = 0;
  if (all.contains("skipped"))
    for (auto& [name, value] : all["skipped"].items()) skipped += value.get<uint64_t>();
  const auto records = all["records"].get<uint64_t>();
  return MergedCheck{.json = sum + "\n",
                     .are_all_identical = records > skipped && all["identical"].get<uint64_t>() + skipped == records};
}

}  // namespace tgc
