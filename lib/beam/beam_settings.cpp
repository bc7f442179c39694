#include "lib/beam/beam_settings.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "lib/support/counted.h"

namespace tgc {
namespace {

struct BeamSettingInfo {
  std::string_view name;
  double BeamSettings::*value;
  double default_value;
  std::string_view help;
};
constexpr BeamSettingInfo kSettings[] = {
#define X(name, default_value, help) {#name, &BeamSettings::name, default_value, help},
    TGC_BEAM_SETTINGS(X)
#undef X
};

Status set_beam_setting(BeamSettings& settings, const BeamSettingInfo& info, std::string_view text) {
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= 0 && value < 1e15))
    return Diag{.message = "setting " + std::string(info.name) + " has the value '" + std::string(text) + "'",
                .expected = "a number from 0"};
  settings.*info.value = value;
  return Unit{};
}

const BeamSettingInfo* find_beam_setting(std::string_view name) {
  auto it = std::ranges::find(kSettings, name, &BeamSettingInfo::name);
  return it == std::end(kSettings) ? nullptr : &*it;
}

}  // namespace

std::string beam_variables_text() {
  std::string out =
      "tinygrad's variables of the kernel search (`tgc beam`); --set NAME=VALUE overrides the environment. With\n"
      "BEAM=N `tgc run`, `dump` and `bench` use the stored results, from TGC_BEAM_DB or the cache folder's beam.db:\n";
  for (const BeamSettingInfo& s : kSettings) {
    std::string row = formatted("  %s=%g", std::string(s.name).c_str(), s.default_value);
    row.resize(std::max<size_t>(row.size() + 2, 28), ' ');
    out += row + std::string(s.help) + "\n";
  }
  return out + "The pipeline settings NOLOCALS and TC also affect the search, as in tinygrad.\n";
}

Result<BeamSettings> BeamSettings::extract_settings(std::vector<std::string>& sets) {
  BeamSettings out;
  for (const BeamSettingInfo& info : kSettings)
    if (const char* value = std::getenv(std::string(info.name).c_str()); value && *value)
      if (auto status = set_beam_setting(out, info, value); !status) return status.diag();
  std::vector<std::string> rest;
  for (const std::string& text : sets) {
    size_t equals = std::min(text.find('='), text.size());
    const BeamSettingInfo* info = find_beam_setting(text.substr(0, equals));
    if (!info || info->name == "TC_OPT") rest.push_back(text);
    if (!info || equals == text.size()) continue;
    if (auto status = set_beam_setting(out, *info, std::string_view(text).substr(equals + 1)); !status)
      return status.diag();
  }
  sets = std::move(rest);
  return out;
}

ActionLimits BeamSettings::limits(const Settings& settings) const {
  return {.upcast_max = int64_t(BEAM_UPCAST_MAX),
          .local_max = int64_t(BEAM_LOCAL_MAX),
          .should_include_padto = BEAM_PADTO != 0,
          .should_include_nolocals = settings.NOLOCALS != 0,
          .tc = settings.TC,
          .tc_opt = int64_t(TC_OPT)};
}

}  // namespace tgc
