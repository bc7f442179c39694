// The log: what tgc does internally. `tgc -v` and $TGC_LOG choose what is logged, and `--log-file` where; spdlog writes
// the entries. Messages for users (errors, warnings, notes) are not log entries.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "lib/support/result.h"

namespace tgc {

enum class LogLevel : uint8_t { Off, Info, Debug };

// The topics of log entries. Each topic has its own level.
#define TGC_LOG_TOPICS(X)                                                                  \
  X(Compilation, "compilation", "stages of the pipeline, with times and numbers of nodes") \
  X(Compile, "compile", "compilers with their times, and their cache")                     \
  X(Contain, "contain", "worker processes: started, confined, ended")                      \
  X(Live, "live", "processes of tinygrad and of ports: started, restarted")                \
  X(Limits, "limits", "limits that were met")                                              \
  X(Prove, "prove", "rewrites that took long to decide")
enum class LogTopic : uint8_t {
#define X(id, ...) id,
  TGC_LOG_TOPICS(X)
#undef X
};
#define X(...) +1
inline constexpr size_t kLogTopics = TGC_LOG_TOPICS(X);
#undef X
std::string log_help();  // returns a text about levels and topics

inline std::array<LogLevel, kLogTopics> log_levels{};  // set before threads start

// Returns true if an entry of this level is logged. Costs one comparison.
inline bool logs(LogTopic topic, LogLevel level) { return log_levels[size_t(topic)] >= level; }

// Writes an entry, whatever logs() returns; thread-safe. In a worker process, sends the entry to the parent process.
void log_entry(LogTopic topic, LogLevel level, std::string_view text);

// Log the text that `text()` returns. `text()` is called only if logs() is true.
template <class F> void log_info(LogTopic topic, F&& text) {
  if (logs(topic, LogLevel::Info)) [[unlikely]] log_entry(topic, LogLevel::Info, text());
}
template <class F> void log_debug(LogTopic topic, F&& text) {
  if (logs(topic, LogLevel::Debug)) [[unlikely]] log_entry(topic, LogLevel::Debug, text());
}

// Sets levels from LEVEL[,TOPIC=LEVEL...], for example "info,contain=debug". Levels: off, info, debug. Returns an error
// that names the first unknown level or topic; the levels before it are set.
Status set_log_levels(std::string_view text);
Status set_log_levels_of_environment();  // sets levels from $TGC_LOG; returns the errors of set_log_levels
// Writes entries to the file `path`, which is created or emptied, instead of to standard error. Returns an error if the
// file cannot be written.
Status set_log_file(const std::string& path);
// Passes each entry, as a whole line, to `write` instead of writing it to standard error.
void set_log_output(void (*write)(std::string_view line));
// Sends entries of this process to `forward` from now on. For worker processes.
void forward_log(std::function<void(LogTopic topic, LogLevel level, std::string_view text)> forward);

}  // namespace tgc
