// The verdicts of rewrites that this program has decided before, in the compile cache. A rewrite is known by the
// structure of its sides, a program by its build: another build decides again.
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

// Returns the 32 bytes of the SHA-256 of a text.
std::string hash_of(std::string_view text);

// Computes keys of nodes: the hash of op, dtype, arg and the keys of the sources. Each node is hashed once.
class NodeKeys {
 public:
  const Sha256& of(UOp u);

 private:
  std::unordered_map<uint32_t, Sha256> known_;  // by node id
  std::string text_;
};

// Threads may share it.
class KnownVerdicts {
 public:
  std::optional<RewriteProof> find(const std::string& key);
  // Keeps a proven or sampled rewrite; others are decided again, because they take REF's values or time.
  void add(const std::string& key, const RewriteProof& proof);
  void write();

 private:
  void read();  // at the first use

  std::mutex mutex_;
  std::once_flag is_read_;
  std::unordered_map<std::string, std::string> texts_;
  size_t read_ = 0;  // number of verdicts that were read
};

}  // namespace tgc
