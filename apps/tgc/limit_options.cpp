// Options that every command has: what an input may cost, and whether its own code may run (lib/support/limits.h).
#include "lib/support/limits.h"

#include <CLI/CLI.hpp>

#include "apps/tgc/options.h"

namespace tgc {

void add_limit_options(CLI::App& app) {
  app.add_option_function<std::vector<std::string>>(
         "--limit",
         [](const std::vector<std::string>& limits) {
           for (const std::string& text : limits)
             if (auto status = set_limits(text); !status) throw CLI::ValidationError("--limit", status.diag().text());
         },
         "how much an input may cost, for example nodes=1M; TGC_LIMITS is the fallback, `tgc help limits` lists them")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false)
      ->trigger_on_parse()
      ->take_all();
  app.add_flag_callback(
         "--allow-custom", [] { allow_custom(true); },
         "compile and run the code that CUSTOM and CUSTOMI nodes of the input hold")
      ->trigger_on_parse();
}

}  // namespace tgc
