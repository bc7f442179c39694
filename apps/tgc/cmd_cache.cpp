#include "apps/tgc/command.h"
#include "lib/compile/cache.h"
#include "lib/support/json_writer.h"

namespace tgc {
namespace {

struct CacheOptions {
  bool json = false, clear = false;
};

std::string usage_json(const CompileCache& cache) {
  CompileCache::CacheUsage use = cache.measure_usage();
  return json_text([&](JsonWriter& json) {
    json.object([&] {
      json.member("folder", cache.folder().string()).member("enabled", cache.is_enabled());
      json.member("entries", use.entries).member("bytes", use.bytes).member("limit", cache.limit_bytes());
    });
  });
}

std::string usage_text(const CompileCache& cache) {
  if (!cache.is_enabled()) return "the compile cache is off\n";
  CompileCache::CacheUsage use = cache.measure_usage();
  char sizes[64];
  std::snprintf(sizes, sizeof sizes, "%.1f MB of at most %.1f MB", double(use.bytes) / (1 << 20),
                double(cache.limit_bytes()) / (1 << 20));
  return cache.folder().string() + ": " + std::to_string(use.entries) + " entries, " + sizes + "\n";
}

int run_cache(const CacheOptions& o) {
  CompileCache& cache = CompileCache::shared_cache();  // throws Failure if TGC_CACHE_MB is invalid
  if (o.clear) {
    size_t removed = require_value(cache.clear());
    if (!o.json) print_output("removed " + std::to_string(removed) + " entries\n");
  }
  return (o.json ? print_output(usage_json(cache)) : print_report(usage_text(cache))), 0;
}

}  // namespace

void add_cache(CliCommand& cmd) {
  auto& o = cmd.make_owned_value<CacheOptions>();
  cmd.set_description("Show or clear the compile cache.", "tgc cache --clear",
                      "TGC_CACHE_DIR moves the cache, TGC_CACHE_MB bounds it (default: 512), TGC_CACHE=0 disables it.");
  cmd.set_group(OptionGroup::Output);
  cmd.add_cli_flag("--clear", o.clear, "remove every entry");
  cmd.add_json_flag(o.json);
  cmd.set_action([&o] { return run_cache(o); });
}

}  // namespace tgc
