// Stores the verdicts of proven and sampled rewrites in the compile cache, for later runs of the same build of tgc.
// Also computes hashes of nodes.
#pragma once
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

#include "lib/support/sha256.h"
#include "lib/uop/graph.h"

namespace tgc {

struct RewriteProof;

// Returns the SHA-256 of a text, as 32 bytes.
std::string hash_of_text(std::string_view text);

// Computes keys of nodes: the hash of op, dtype, arg and the keys of the sources.
class NodeKeys {
 public:
  const Sha256& key_of(UOp u);

 private:
  std::unordered_map<uint32_t, Sha256> known_keys_;
  std::string key_text_;
};

// Several threads may use one object.
class KnownVerdicts {
 public:
  std::optional<RewriteProof> find_verdict(const std::string& key);  // the first call reads the compile cache
  // Ignores all verdicts but proven and sampled.
  void add_verdict(const std::string& key, const RewriteProof& proof);
  void write_verdicts();  // writes the verdicts to the compile cache, if there are new ones

 private:
  void read_verdicts();

  std::mutex mutex_;
  std::once_flag read_once_flag_;
  std::unordered_map<std::string, std::string> verdict_texts_;
  size_t num_cached_entries_ = 0;
};

}  // namespace tgc
