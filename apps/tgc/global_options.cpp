#include "apps/tgc/options.h"
#include "apps/tgc/terminal.h"
#include "lib/import/known_ops.h"
#include "lib/records/input_file.h"
#include "lib/support/limits.h"
#include "lib/support/log.h"

namespace tgc {
namespace {

// Throws CLI11's error for the option if `status` is an error.
void throw_if_failed(const std::string& option, const Status& status) {
  if (!status) throw CLI::ValidationError(option, status.diag().text());
}

}  // namespace

void add_global_options(CLI::App& app) {
  auto set_color = [](const std::string& when) {
    color_choice() = when == "always"  ? ColorChoice::Always
                     : when == "never" ? ColorChoice::Never
                                       : ColorChoice::Auto;
  };
  app.add_option_function<std::string>("--color", set_color, "use colours: auto (on a terminal), always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->type_name("WHEN");
  auto limit = [](const std::vector<std::string>& limits) {
    for (const std::string& text : limits) throw_if_failed("--limit", set_limits(text));
  };
  app.add_option_function<std::vector<std::string>>(
         "--limit", limit, "bound what an input may cost, for example nodes=1M; see `tgc help limits`")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false)
      ->trigger_on_parse()
      ->take_all();
  auto be_verbose = [](int64_t) {
    static int times = 0;
    throw_if_failed("-v", set_log_levels(++times > 1 ? "debug" : "info"));
  };
  app.add_flag_function("-v,--verbose", be_verbose, "log what happens inside; -vv logs more; see `tgc help log`")
      ->trigger_on_parse();
  auto log_file = [](const std::string& path) {
    if (log_levels == decltype(log_levels){}) throw_if_failed("--log-file", set_log_levels("info"));
    throw_if_failed("--log-file", set_log_file(path));
  };
  app.add_option_function<std::string>("--log-file", log_file, "write the log to this file")
      ->type_name("FILE")
      ->trigger_on_parse();
  auto upgrades = [](const std::string& path) {
    auto text = read_file(path);
    throw_if_failed("--upgrades", text ? load_op_upgrades(*text, input_name(path)) : Status(text.diag()));
  };
  app.add_option_function<std::string>("--upgrades", upgrades,
                                       "import ops that tgc does not know as this file says; see `tgc help upgrades`")
      ->type_name("FILE")
      ->trigger_on_parse();
  app.add_flag_callback("--allow-custom", [] { set_custom_ops_allowed(true); },
                        "compile and run the code in the input's CUSTOM and CUSTOMI nodes")
      ->trigger_on_parse();
}

}  // namespace tgc
