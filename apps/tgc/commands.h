// The commands of tgc: each function adds one to the parser, and its callback sets `exit_code`: 0 same or passed, 1 different or failed,
// 2 trouble.
#pragma once
#include <span>
#include <string_view>

namespace CLI {
class App;
}

namespace tgc {

void add_bench(CLI::App& app, int& exit_code);
void add_cache(CLI::App& app, int& exit_code);
void add_check(CLI::App& app, int& exit_code);
void add_compile(CLI::App& app, int& exit_code);
void add_devices(CLI::App& app, int& exit_code);
void add_diff(CLI::App& app, int& exit_code);
void add_dump(CLI::App& app, int& exit_code);
void add_run(CLI::App& app, int& exit_code);
void add_completion(CLI::App& app, int& exit_code);
void add_help(CLI::App& app, int& exit_code);
void add_patterns(CLI::App& app, int& exit_code);
void add_stages(CLI::App& app, int& exit_code);
void add_stats(CLI::App& app, int& exit_code);
void add_trace(CLI::App& app, int& exit_code);
void add_verify(CLI::App& app, int& exit_code);

std::span<const std::string_view> help_topics();

}  // namespace tgc
