#include "lib/beam/measured.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace tgc {
namespace {

using nlohmann::json;

CandidateOutcome outcome_of(const std::string& name) {
  for (size_t i = 0; i < kNumOutcomes; i++)
    if (name_of(CandidateOutcome(i)) == name) return CandidateOutcome(i);
  throw Failure("unknown outcome of a candidate: '" + name + "'");
}

}  // namespace

std::string measured_text(const BeamLog& log) {
  json out = json::array();
  for (const RoundLog& round : log.rounds)
    for (const CandidateLog& c : round.candidates)
      if (c.outcome != CandidateOutcome::Unknown)
        out.push_back({{"opts", c.opts}, {"fate", name_of(c.outcome)}, {"seconds", c.seconds}, {"why", c.why},
                       {"ops", c.ops}, {"code", c.code}});
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

Measured read_measured(std::string_view text) {
  Measured out;
  try {
    for (const json& c : json::parse(text)) {
      CandidateLog log{.opts = c.at("opts").get<OptTexts>(), .outcome = outcome_of(c.at("fate").get<std::string>())};
      log.seconds = c.at("seconds").get<double>(), log.why = c.at("why").get<std::string>();
      log.ops = c.at("ops").get<double>(), log.code = c.at("code").get<std::string>();
      out[joined(log.opts)] = std::move(log);
    }
  } catch (const json::exception& e) {
    throw Failure(std::string("cannot read the measurements of an interrupted search: ") + e.what());
  }
  return out;
}

}  // namespace tgc
