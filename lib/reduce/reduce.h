// Reduces a failing kernel to a small kernel that still fails, for `tgc reduce`. Starts at the rewrite that bisect
// names, makes large cuts first, and ends when no single step leads to a smaller failing case.
#pragma once
#include <functional>
#include <string>

#include "lib/reduce/oracle.h"

namespace tgc {

struct ReduceReport {
  size_t before = 0, after = 0;  // number of nodes of the given and of the reduced kernel
  size_t calls = 0;  // cases that the oracle compiled and ran ("tries")
  size_t prefiltered = 0;  // cases that the prefilter examined
  double seconds = 0;
  std::string verdict;  // text of the failure that the reduced case shows
  bool interrupted = false;  // the reduction was cancelled: the result is the smallest case so far
  std::string bundle;  // text of a repro bundle with the reduced case
  std::string error = {};  // why the reduction failed; empty if it succeeded

  int exit_code() const { return error.empty() ? 0 : 2; }
  std::string text() const;
  std::string json() const;  // one line
};

// Reduces the kernel `in`, which must fail as `wanted` says when it runs as `options` say.
ReduceReport reduce(const Session& session, InputGraph& in, const RunOptions& options, const Wanted& wanted);

// Reduces a kernel, or one kernel of a tensor graph. For Kind::Wrong, that is the first kernel that stores other
// values than REF does with the same arrays; for other kinds, the first that fails in that way with random arrays.
ReduceReport reduce_input(const Session& session, InputGraph& in, const RunOptions& options, const Wanted& wanted);
// Reduces a kernel of the ONNX model in that file, chosen in the same way as for a tensor graph.
ReduceReport reduce_model(const Session& session, const std::string& path, const RunOptions& options,
                          const Wanted& wanted);

}  // namespace tgc
