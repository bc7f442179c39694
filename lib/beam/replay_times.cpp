#include "lib/beam/replay_times.h"

#include <nlohmann/json.hpp>

#include "lib/records/input_file.h"

namespace tgc {
namespace {

using nlohmann::json;

Identity parse_identity(const std::string& text) {
  if (text == "binary") return Identity::Binary;
  if (text == "source") return Identity::Source;
  if (text == "none") return Identity::None;
  throw Failure(Diag{.message = "the identity '" + text + "'", .expected = "binary, source or none"});
}

std::string key_of_opts(const json& opts) { return joined(opts.get<OptTexts>()); }

}  // namespace

Result<ReplayTimes> ReplayTimes::open(const std::string& path) {
  auto lines = LineReader::open(path);
  if (!lines) return lines.diag();
  return catch_failures([&]() -> ReplayTimes {
    ReplayTimes out;
    std::string line;
    try {
      while ((*lines)->next(line).value_or_throw()) {
        if (line.empty()) continue;
        json record = json::parse(line);
        if ((*lines)->line() == 1) {
          out.identity_ = parse_identity(record.at("identity").get<std::string>());
          out.target_ = record.at("target").get<std::string>();
          out.width_ = record.at("width").get<size_t>();
          continue;
        }
        Times& times = out.kernels_[record.at("kernel").get<std::string>()];
        for (const json& t : record.at("times")) times[key_of_opts(t.at("opts"))] = t.at("seconds").get<double>();
      }
    } catch (const json::exception& e) {
      throw Failure(Diag{.message = std::string("no file of times: ") + e.what(),
                         .file = path,
                         .line = (*lines)->line(),
                         .expected = "what scripts/tools/beam_record writes"});
    }
    return out;
  });
}

std::optional<double> ReplayTimes::time(const OptTexts& opts, Candidate&, double, CandidateLog& log) {
  auto it = now_->find(joined(opts));
  if (it != now_->end()) return it->second;
  log.outcome = CandidateOutcome::Unknown;
  return std::nullopt;
}

}  // namespace tgc
