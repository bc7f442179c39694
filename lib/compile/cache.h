// The compile cache: compiled bytes on disk, keyed by a hash of the job, the machine and the compilers. Safe under
// concurrent processes and crashes. Ignores damaged files, and files that another user may have written. If the
// total size exceeds the limit, the least recently used entries are evicted; only some writes check the size.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "lib/support/result.h"
#include "lib/support/sha256.h"

namespace tgc {

class CompileCache {
 public:
  // `folder` is created on the first write. `limit` is the maximum size in bytes; 0 disables the cache.
  CompileCache(std::filesystem::path folder, uint64_t limit) : folder_(std::move(folder)), limit_bytes_(limit) {}

  // Returns the cache of this process. Folder: TGC_CACHE_DIR, else XDG_CACHE_HOME/tgc, else ~/.cache/tgc. Limit:
  // TGC_CACHE_MB MiB (default 512). TGC_CACHE=0 or TGC_CACHE_MB=0 disables the cache, and so does a missing HOME if no
  // other variable names a folder. Throws Failure if the cache is not disabled and TGC_CACHE_MB is invalid.
  static CompileCache& shared_cache();

  bool is_enabled() const { return limit_bytes_ > 0; }
  const std::filesystem::path& folder() const { return folder_; }
  uint64_t limit_bytes() const { return limit_bytes_; }

  std::optional<std::string> load_entry(const Sha256& key);
  // Reports no error: stores nothing if writing fails, or if the entry is larger than the limit.
  void store_entry(const Sha256& key, std::string_view bytes);

  struct CacheUsage {
    uint64_t entries = 0, bytes = 0;
  };
  CacheUsage measure_usage() const;
  // Returns the number of removed entries. Fails if an entry cannot be removed.
  Result<uint64_t> clear();

 private:
  std::filesystem::path path_of_entry(const Sha256& key) const;
  void shrink_to_limit();

  std::filesystem::path folder_;
  uint64_t limit_bytes_;
};

// Each part is hashed with its length, so {"ab", "c"} and {"a", "bc"} differ.
Sha256 make_cache_key(std::initializer_list<std::string_view> parts);

}  // namespace tgc
