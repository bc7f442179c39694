// The log: what tgc does internally, for `tgc -v`, $TGC_LOG and `--log-file`. Messages for users (errors, warnings,
// notes) are not log entries.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "lib/support/result.h"

namespace tgc {

enum class LogLevel : uint8_t { Off, Info, Debug };

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
inline constexpr size_t kNumLogTopics = TGC_LOG_TOPICS(X);
#undef X
std::string log_help_text();

inline std::array<LogLevel, kNumLogTopics> log_levels{};  // set before threads start

inline bool is_logging(LogTopic topic, LogLevel level) { return log_levels[size_t(topic)] >= level; }

// Writes an entry, whatever is_logging() returns; thread-safe. If forward_log() was called with a function, passes the
// entry to this function instead.
void write_log_entry(LogTopic topic, LogLevel level, std::string_view text);

// Log the text that `text()` returns. `text()` is called only if is_logging() is true.
template <class F> void log_info(LogTopic topic, F&& text) {
  if (is_logging(topic, LogLevel::Info)) [[unlikely]] write_log_entry(topic, LogLevel::Info, text());
}
template <class F> void log_debug(LogTopic topic, F&& text) {
  if (is_logging(topic, LogLevel::Debug)) [[unlikely]] write_log_entry(topic, LogLevel::Debug, text());
}

// Sets levels from LEVEL[,TOPIC=LEVEL...], such as "info,contain=debug". Returns an error for the first unknown level
// or topic; the levels before it are set.
Status set_log_levels(std::string_view text);
Status set_log_levels_of_environment();  // fails as set_log_levels()
// Writes entries to the file `path`, which is created or emptied, instead of to standard error. Fails if the file
// cannot be written.
Status set_log_file(const std::string& path);
void set_log_output(void (*write)(std::string_view line));
// Lets write_log_entry() call `forward` instead of writing; for worker processes.
void forward_log(std::function<void(LogTopic topic, LogLevel level, std::string_view text)> forward);

}  // namespace tgc
