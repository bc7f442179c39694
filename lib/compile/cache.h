// The compile cache: bytes on disk by the hash of what made them (source, compiler, its version, flags). Safe under
// concurrent processes and crashes: an entry appears whole, by rename, and one that is damaged, another key's, no
// regular file or not this user's alone is no entry. Its size is bounded; what was used longest ago goes.
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
  // The cache in that folder, made when first written to. `limit` in bytes.
  CompileCache(std::filesystem::path folder, uint64_t limit) : folder_(std::move(folder)), limit_(limit) {}

  // TGC_CACHE_DIR, else XDG_CACHE_HOME/tgc, else ~/.cache/tgc; TGC_CACHE_MB bounds it (512);
  // TGC_CACHE=0 switches it off. Throws Failure: TGC_CACHE_MB is no number.
  static CompileCache& shared();

  bool enabled() const { return limit_ > 0; }
  const std::filesystem::path& folder() const { return folder_; }
  uint64_t limit() const { return limit_; }

  std::optional<std::string> get(const Sha256& key);
  // Keeps `bytes`; a failure to write is no error, there is just no entry.
  void put(const Sha256& key, std::string_view bytes);

  struct Usage {
    uint64_t entries = 0, bytes = 0;
  };
  Usage usage() const;
  // Removes every entry; how many there were.
  Result<uint64_t> clear();

 private:
  std::filesystem::path path_of(const Sha256& key) const;
  void shrink();

  std::filesystem::path folder_;
  uint64_t limit_;
};

// The key of a list of parts, each counted with its length.
Sha256 cache_key(std::initializer_list<std::string_view> parts);

}  // namespace tgc
