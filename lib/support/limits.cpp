#include "lib/support/limits.h"

#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "lib/support/counted.h"
#include "lib/support/log.h"
#include "lib/support/sanitized.h"
#include "lib/support/settings.h"

namespace tgc {
namespace {

constexpr LimitInfo kLimits[] = {
#define X(id, name, value, help) {name, value, help},
    TGC_LIMITS(X)
#undef X
};
constexpr size_t kNumLimits = std::size(kLimits);

std::array<int64_t, kNumLimits> values = [] {
  std::array<int64_t, kNumLimits> out{};
  for (size_t i = 0; i < kNumLimits; i++) out[i] = kLimits[i].default_value;
  return out;
}();
bool custom_allowed = false;

std::optional<int64_t> parse_amount(std::string_view text) {
  constexpr std::string_view kUnits = "KMGT";
  size_t unit = text.empty() ? kUnits.npos : kUnits.find(text.back());
  if (unit != kUnits.npos) text.remove_suffix(1);
  const int64_t factor = unit == kUnits.npos ? 1 : int64_t(1) << (10 * (unit + 1));
  const auto n = parse_number<int64_t>(text);
  return n && *n >= 0 && *n <= INT64_MAX / factor ? std::optional(*n * factor) : std::nullopt;
}

Status set_limit(std::string_view text) {
  size_t equals = text.find('=');
  std::string_view name = text.substr(0, equals);
  for (size_t i = 0; i < kNumLimits; i++) {
    if (kLimits[i].name != name) continue;
    auto amount = equals == text.npos ? std::nullopt : parse_amount(text.substr(equals + 1));
    if (!amount)
      return Diag{.message = "'" + std::string(text) + "' is not a valid limit",
                  .expected = std::string(name) + "=NUMBER[KMGT]"};
    values[i] = *amount;
    return Unit{};
  }
  std::vector<std::string_view> names;
  for (const LimitInfo& l : kLimits) names.push_back(l.name);
  std::string near = nearest_names_text(name, names);
  return Diag{.message = "unknown limit '" + std::string(name) + "'",
              .expected = near.empty() ? "one of `tgc help limits`" : near};
}

// Handles SIGALRM, so it may call only async-signal-safe functions.
void exit_out_of_time(int) {
  constexpr std::string_view kText = "tgc: the command took longer than --limit seconds=N allows\n";
  if (::write(STDERR_FILENO, kText.data(), kText.size()) < 0) ::_exit(2);
  ::_exit(2);
}

}  // namespace

std::span<const LimitInfo> all_limits() { return kLimits; }

int64_t limit_value(Limit which) { return values[size_t(which)] > 0 ? values[size_t(which)] : INT64_MAX; }

Status set_limits(std::string_view text) {
  while (!text.empty()) {
    size_t comma = std::min(text.find(','), text.size());
    if (auto status = set_limit(text.substr(0, comma)); !status) return status;
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return Unit{};
}

Status set_limits_of_environment() {
  const char* text = std::getenv("TGC_LIMITS");
  auto status = set_limits(text ? text : "");
  if (!status) status.diag().message = "TGC_LIMITS: " + status.diag().message;
  return status;
}

void enforce_process_limits() {
  int64_t memory = values[size_t(Limit::Memory)];
  rlimit now{};
  if (memory > 0 && !kIsSanitized && ::getrlimit(RLIMIT_DATA, &now) == 0 && rlim_t(memory) < now.rlim_max) {
    now.rlim_cur = rlim_t(memory);
    ::setrlimit(RLIMIT_DATA, &now);
  }
  if (int64_t seconds = values[size_t(Limit::Seconds)]; seconds > 0) {
    std::signal(SIGALRM, exit_out_of_time);
    itimerval timer{{0, 0}, {time_t(seconds), 0}};
    ::setitimer(ITIMER_REAL, &timer, nullptr);
  }
}

Diag limit_error(Limit which) {
  const LimitInfo& info = kLimits[size_t(which)];
  std::string name(info.name), what(info.help_text.substr(0, info.help_text.find(';')));
  log_info(LogTopic::Limits, [&] { return name + "=" + std::to_string(limit_value(which)) + " was met"; });
  return {.message = "more than " + std::to_string(limit_value(which)) + " " + what,
          .expected = "at most that, or --limit " + name + "=N for more (`tgc help limits`)"};
}

void set_custom_ops_allowed(bool allowed) { custom_allowed = allowed; }
bool are_custom_ops_allowed() { return custom_allowed; }

}  // namespace tgc
