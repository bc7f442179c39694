// The commands of tgc: each function adds one to the parser, and its callback sets `exit_code`: 0 same or passed, 1
// different or failed, 2 trouble.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace tgc {

void add_beam(CLI::App& app, int& exit_code);
void add_bench(CLI::App& app, int& exit_code);
void add_bisect(CLI::App& app, int& exit_code);
void add_cache(CLI::App& app, int& exit_code);
void add_check(CLI::App& app, int& exit_code);
void add_compile(CLI::App& app, int& exit_code);
void add_conform(CLI::App& app, int& exit_code);
void add_devices(CLI::App& app, int& exit_code);
void add_diff(CLI::App& app, int& exit_code);
void add_dump(CLI::App& app, int& exit_code);
void add_reduce(CLI::App& app, int& exit_code);
void add_fuzz(CLI::App& app, int& exit_code);
void add_run(CLI::App& app, int& exit_code);
void add_completion(CLI::App& app, int& exit_code);
void add_help(CLI::App& app, int& exit_code);
void add_lint(CLI::App& app, int& exit_code);
void add_patterns(CLI::App& app, int& exit_code);
void add_records(CLI::App& app, int& exit_code);
void add_stages(CLI::App& app, int& exit_code);
void add_stats(CLI::App& app, int& exit_code);
void add_trace(CLI::App& app, int& exit_code);
void add_verify(CLI::App& app, int& exit_code);
void add_view(CLI::App& app, int& exit_code);

std::vector<const CLI::App*> commands_of(const CLI::App& app);  // those that help and completion show
const CLI::App* find_command(const CLI::App& app, std::string_view name);  // of them; null: none has that name
std::vector<std::string_view> help_topics();
std::string help_on(std::string_view topic);  // what `tgc help TOPIC` prints
std::string man_page(const CLI::App& app);    // tgc(1), for man

}  // namespace tgc
