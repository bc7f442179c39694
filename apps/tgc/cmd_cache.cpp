// tgc cache: look at the compile cache, clear it.
#include <CLI/CLI.hpp>

#include "apps/tgc/commands.h"
#include "apps/tgc/terminal.h"
#include "lib/compile/cache.h"
#include "lib/support/json_writer.h"

namespace tgc {
namespace {

std::string megabytes(uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MB", double(bytes) / (1 << 20));
  return text;
}

std::string as_json(const CompileCache& cache) {
  CompileCache::Usage use = cache.usage();
  std::string out;
  JsonWriter json(out);
  json.object([&] {
    json.member("folder", cache.folder().string()).member("enabled", cache.enabled());
    json.member("entries", use.entries).member("bytes", use.bytes).member("limit", cache.limit());
  });
  return out + "\n";
}

std::string as_text(const CompileCache& cache) {
  if (!cache.enabled()) return "the compile cache is off\n";
  CompileCache::Usage use = cache.usage();
  return cache.folder().string() + ": " + std::to_string(use.entries) + " entries, " + megabytes(use.bytes) +
         " of at most " + megabytes(cache.limit()) + "\n";
}

}  // namespace

void add_cache(CLI::App& app, int& exit_code) {
  auto json = std::make_shared<bool>(false), clear = std::make_shared<bool>(false);
  CLI::App* cmd = app.add_subcommand("cache",
                                     "the compile cache: where it is and how much it holds\n\n"
                                     "TGC_CACHE_DIR moves it, TGC_CACHE_MB bounds it (512), TGC_CACHE=0 "
                                     "switches it off.");
  cmd->add_flag("--clear", *clear, "remove every entry");
  cmd->add_flag("--json", *json, "as JSON");
  cmd->callback([json, clear, &exit_code] {
    auto configured = catch_failures([] { return &CompileCache::shared(); });
    if (!configured) {
      exit_code = trouble(configured.diag());
      return;
    }
    CompileCache& cache = **configured;
    if (*clear) {
      auto removed = cache.clear();
      if (!removed) {
        exit_code = trouble(removed.diag());
        return;
      }
      if (!*json) print("removed " + std::to_string(*removed) + " entries\n");
    }
    print(*json ? as_json(cache) : as_text(cache));
    exit_code = 0;
  });
}

}  // namespace tgc
