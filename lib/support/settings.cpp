#include "lib/support/settings.h"
#include "lib/support/counted.h"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <thread>
#include <vector>

namespace tgc {
namespace {

constexpr SettingInfo kSettings[] = {
#define X(name, default_value, help) {#name, &Settings::name, default_value, help},
    TGC_SETTINGS(X)
#undef X
};

// Settings without a SettingRange take any integer.
struct SettingRange {
  int64_t Settings::*setting;
  int64_t min_value, max_value;
};
constexpr SettingRange kRanges[] = {
    {&Settings::CPU_COUNT, 0, 4096},
    {&Settings::MV_BLOCKSIZE, 1, 1 << 20},
    {&Settings::MV_THREADS_PER_ROW, 1, 1 << 20},
    {&Settings::MV_ROWS_PER_THREAD, 1, 1 << 20},
    {&Settings::REDUCEOP_SPLIT_THRESHOLD, 1, INT64_MAX},
    {&Settings::REDUCEOP_SPLIT_SIZE, 0, 62},  // the size is 2**value
    {&Settings::MAX_KERNEL_BUFFERS, 0, 1 << 20},
    {&Settings::REWRITE_STACK_LIMIT, 0, INT64_MAX},
};

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); j++) row[j] = j;
  for (size_t i = 1; i <= a.size(); i++) {
    size_t diagonal = row[0]++;
    for (size_t j = 1; j <= b.size(); j++) {
      size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + ((a[i - 1] | 32) != (b[j - 1] | 32))});
      diagonal = above;
    }
  }
  return row.back();
}

}  // namespace

std::span<const SettingInfo> all_settings() { return kSettings; }

std::string nearest_names_text(std::string_view word, std::span<const std::string_view> names, size_t count) {
  std::vector<std::pair<size_t, std::string_view>> ranked;
  for (auto name : names) {
    if (std::ranges::find(ranked, name, &std::pair<size_t, std::string_view>::second) != ranked.end()) continue;
    bool inside = word.size() >= 3 && name.find(word) != name.npos;
    size_t distance = inside ? 1 : edit_distance(word, name);
    if (distance <= std::max<size_t>(2, word.size() / 3)) ranked.emplace_back(distance, name);
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](auto& a, auto& b) { return a.first < b.first; });
  std::string out;
  for (size_t i = 0; i < std::min(count, ranked.size()); i++) out += (i ? ", " : "") + std::string(ranked[i].second);
  return out;
}

Status Settings::set_value(std::string_view name, std::string_view value) {
  auto it = std::find_if(std::begin(kSettings), std::end(kSettings), [&](auto& s) { return s.name == name; });
  if (it == std::end(kSettings)) {
    std::vector<std::string_view> names;
    for (auto& s : kSettings) names.push_back(s.name);
    std::string near = nearest_names_text(name, names);
    return Diag{.message = "unknown setting '" + std::string(name) + "'",
                .expected = near.empty() ? "one of `tgc help settings`" : near};
  }
  const auto parsed = parse_number<int64_t>(value);
  if (!parsed)
    return Diag{.message = "setting " + std::string(name) + " has the value '" + std::string(value) + "'",
                .expected = "an integer"};
  for (const SettingRange& r : kRanges)
    if (r.setting == it->member && (*parsed < r.min_value || *parsed > r.max_value))
      return Diag{.message = "setting " + std::string(name) + " has the value " + std::string(value),
                  .expected = std::to_string(r.min_value) + " to " + std::to_string(r.max_value)};
  this->*it->member = *parsed;
  return Unit{};
}

Status Settings::set_value(std::string_view key_value) {
  size_t equals = key_value.find('=');
  if (equals == key_value.npos)
    return Diag{.message = "'" + std::string(key_value) + "' is not a valid setting", .expected = "KEY=VALUE"};
  return set_value(key_value.substr(0, equals), key_value.substr(equals + 1));
}

Result<Settings> Settings::read_environment() {
  Settings settings;
  for (auto& s : kSettings)
    if (const char* value = std::getenv(std::string(s.name).c_str()); value && *value)
      if (auto status = settings.set_value(s.name, value); !status) return status.diag();
  return settings;
}

int64_t Settings::cpu_count() const {
  if (CPU_COUNT > 0) return CPU_COUNT;
  cpu_set_t cpus;
  if (sched_getaffinity(0, sizeof cpus, &cpus) == 0) return std::max(1, CPU_COUNT_S(sizeof cpus, &cpus));
  return std::max(1u, std::thread::hardware_concurrency());
}

}  // namespace tgc
