#include "lib/support/log.h"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "lib/support/settings.h"
#include "lib/support/visible.h"

namespace tgc {
namespace {

constexpr std::string_view kLevelNames[] = {"off", "info", "debug"};
constexpr std::string_view kTopicNames[] = {
#define X(id, name, help) name,
    TGC_LOG_TOPICS(X)
#undef X
};
constexpr std::string_view kTopicHelp[] = {
#define X(id, name, help) help,
    TGC_LOG_TOPICS(X)
#undef X
};

void (*write_line)(std::string_view) = [](std::string_view line) { std::fwrite(line.data(), 1, line.size(), stderr); };

class LineSink : public spdlog::sinks::base_sink<std::mutex> {
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    write_line({line.data(), line.size()});
  }
  void flush_() override {}
};

struct LogOutput {
  std::shared_ptr<spdlog::logger> topic_loggers[kNumLogTopics];

  void set_sink(const spdlog::sink_ptr& sink, const char* pattern) {
    sink->set_pattern(pattern);
    for (size_t i = 0; i < kNumLogTopics; i++) {
      topic_loggers[i] = std::make_shared<spdlog::logger>(std::string(kTopicNames[i]), sink);
      topic_loggers[i]->set_level(spdlog::level::trace);
      topic_loggers[i]->flush_on(spdlog::level::trace);
    }
  }
};

// Never destroyed, because threads may log until the process ends.
LogOutput& log_output() {
  static LogOutput& out = []() -> LogOutput& {
    auto& made = *new LogOutput;
    made.set_sink(std::make_shared<LineSink>(), "tgc: %H:%M:%S.%e %l %n: %v");
    return made;
  }();
  return out;
}

using LogForwarder = std::function<void(LogTopic, LogLevel, std::string_view)>;
LogForwarder& log_forwarder() {
  static auto& to = *new LogForwarder;
  return to;
}

Result<LogLevel> parse_log_level(std::string_view word) {
  const auto found = std::ranges::find(kLevelNames, word);
  if (found != std::end(kLevelNames)) return LogLevel(found - kLevelNames);
  return Diag{.message = "unknown log level '" + std::string(word) + "'", .expected = "off, info or debug"};
}

}  // namespace

std::string log_help_text() {
  std::string out =
      "-v logs what happens inside tgc, on standard error; -vv logs more; --log-file=FILE writes the log to a file.\n"
      "TGC_LOG=LEVEL[,TOPIC=LEVEL...] chooses by topic, for example TGC_LOG=info,contain=debug.\n"
      "Levels: off, info, debug. Topics:\n";
  for (size_t i = 0; i < kNumLogTopics; i++)
    out.append("  ").append(kTopicNames[i]).append(14 - kTopicNames[i].size(), ' ').append(kTopicHelp[i]).append("\n");
  return out;
}

void write_log_entry(LogTopic topic, LogLevel level, std::string_view text) {
  const std::string safe = visible_colored_text(text);  // entries quote names from files
  text = safe;
  if (log_forwarder()) return log_forwarder()(topic, level, text);
  log_output().topic_loggers[size_t(topic)]->log(level == LogLevel::Debug ? spdlog::level::debug : spdlog::level::info,
                                                 spdlog::string_view_t(text.data(), text.size()));
}

Status set_log_levels(std::string_view text) {
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    const std::string_view word = text.substr(at, comma - at);
    at = comma + 1;
    const size_t equals = word.find('=');
    auto level = parse_log_level(equals == word.npos ? word : word.substr(equals + 1));
    if (!level) return level.diag();
    if (equals == word.npos) {
      log_levels.fill(*level);
      continue;
    }
    const std::string_view name = word.substr(0, equals);
    const auto topic = std::ranges::find(kTopicNames, name);
    if (topic == std::end(kTopicNames))
      return Diag{.message = "unknown topic of the log '" + std::string(name) + "'",
                  .expected = "one that `tgc help log` lists"};
    log_levels[size_t(topic - kTopicNames)] = *level;
  }
  return Unit{};
}

Status set_log_levels_of_environment() {
  const char* text = std::getenv("TGC_LOG");
  if (!text || !*text) return Unit{};
  auto status = set_log_levels(text);
  if (!status) return Diag{.message = "TGC_LOG: " + status.diag().message, .expected = status.diag().expected};
  return Unit{};
}

Status set_log_file(const std::string& path) {
  try {
    log_output().set_sink(std::make_shared<spdlog::sinks::basic_file_sink_mt>(path, true),
                          "%Y-%m-%d %H:%M:%S.%e %P %l %n: %v");
    return Unit{};
  } catch (const spdlog::spdlog_ex& e) {
    return Diag{.message = std::string("cannot write the log: ") + e.what()};
  }
}

void set_log_output(void (*write)(std::string_view line)) { write_line = write; }

void forward_log(LogForwarder to) { log_forwarder() = std::move(to); }

}  // namespace tgc
