#include "lib/fuzz/state.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "lib/records/input_file.h"
#include "lib/support/json_writer.h"

namespace tgc {
namespace {

using Json = nlohmann::json;

constexpr std::pair<const char*, size_t FuzzReport::*> kCounts[] = {
    {"made", &FuzzReport::num_graphs_made},         {"graphs", &FuzzReport::num_compared},
    {"compiled", &FuzzReport::num_compiled_kernels}, {"refused", &FuzzReport::num_refused_kernels},
    {"left_out", &FuzzReport::num_left_out}, {"rounding", &FuzzReport::num_rounding_runs},
    {"runs", &FuzzReport::num_ref_runs},         {"device_runs", &FuzzReport::num_device_runs},
    {"with_tinygrad", &FuzzReport::num_equal_kernels},
    {"schedules_with_tinygrad", &FuzzReport::num_equal_schedules}};
constexpr std::pair<const char*, std::string FuzzFinding::*> kTexts[] = {
    {"verdict", &FuzzFinding::verdict}, {"stage", &FuzzFinding::stage}, {"rule", &FuzzFinding::rule},
    {"branch", &FuzzFinding::branch},   {"said", &FuzzFinding::message},   {"name", &FuzzFinding::name},
    {"again", &FuzzFinding::repro_command}, {"file", &FuzzFinding::file}, {"known", &FuzzFinding::known_entry}};

FuzzFinding finding_from_json(const Json& from) {
  FuzzFinding out;
  for (auto& [name, text] : kTexts) out.*text = from.at(name).get<std::string>();
  out.graph_number = from.at("graph"), out.num_graphs = from.at("times"), out.num_nodes = from.at("nodes");
  return out;
}

ParentGraph parent_from_json(const Json& from) {
  return {parse_recipe(from.at("name").get<std::string>()).value_or_throw(),
          {from.at("ast"), from.at("settings").get<GoldenSettings>(), from.at("target")}};
}

// Throws Failure for another campaign's state, and the JSON parser's exception for a missing or wrong member.
CampaignState state_from_json(const Json& from, const std::string& path, const CampaignKey& of) {
  const Json& campaign = from.at("campaign");
  if (CampaignKey its{campaign.at("seed"), campaign.at("goldens")}; its != of)
    throw Failure(Diag{.message = its.seed == of.seed ? "it is of a campaign that grows from other golden files"
                                                      : "it is of a campaign of seed " + std::to_string(its.seed),
                       .file = path});
  CampaignState out{.next_graph_number = from.at("next"),
                    .unfinished_graph_numbers = from.at("unfinished"),
                    .rule_counts = from.at("counts"),
                    .applied_rules = from.at("noted")};
  for (const Json& one : from.at("rare")) out.rare_graphs.push_back(parent_from_json(one));
  for (auto& [key, one] : from.at("findings").items()) out.findings.emplace(key, finding_from_json(one));
  for (auto& [name, count] : kCounts) out.report.*count = from.at("so_far").at(name);
  out.report.seconds = from.at("so_far").at("seconds");
  return out;
}

}  // namespace

std::string state_to_json(const CampaignState& state, const CampaignKey& of) {
  return json_object([&](JsonWriter& json) {
    json.key("campaign").object([&] { json.member("seed", of.seed).member("goldens", of.golden_digest); });
    json.member("next", state.next_graph_number).member("unfinished", state.unfinished_graph_numbers);
    json.key("so_far").object([&] {
      for (auto& [name, count] : kCounts) json.member(name, state.report.*count);
      json.member("seconds", state.report.seconds);
    });
    json.start_line().member("counts", state.rule_counts);
    json.member("noted", state.applied_rules);
    json.start_line().key("findings").object([&] {
      for (auto& [key, f] : state.findings)
        json.key(key).object([&] {
          for (auto& [name, text] : kTexts) json.member(name, f.*text);
          json.member("graph", f.graph_number).member("times", f.num_graphs).member("nodes", f.num_nodes);
        });
    });
    json.start_line().key("rare").array([&] {
      for (const ParentGraph& a : state.rare_graphs)
        json.start_line().object([&] {
          json.member("name", a.recipe.text()).member("target", a.text.target).member("ast", a.text.ast);
          json.member("settings", a.text.settings);
        });
    });
  }) + "\n";
}

Result<CampaignState> read_fuzz_state(const std::string& path, const CampaignKey& of) {
  std::error_code none;
  if (!std::filesystem::exists(path, none)) return CampaignState();
  if (!std::filesystem::is_regular_file(path, none)) return Diag{.message = "it is no regular file", .file = path};
  return catch_failures([&] {
    const std::string text = std::move(read_file(path).value_or_throw());
    try {
      return state_from_json(Json::parse(text), path, of);
    } catch (const Json::exception& e) {
      throw Failure(Diag{.message = std::string("no state of a campaign: ") + e.what(), .file = path,
                         .expected = "a file that `tgc fuzz --state` wrote, or none"});
    }
  });
}

}  // namespace tgc
