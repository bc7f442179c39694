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
  std::string verdict;  // the failure that the reduced case shows
  bool interrupted = false;  // the reduction was cancelled: the result is the smallest case so far
  std::string bundle;  // the reduced case as a repro bundle
  std::string error = {};  // why nothing was reduced

  int exit_code() const { return error.empty() ? 0 : 2; }
  std::string text() const;
  std::string json() const;  // one line
};

// Reduces the kernel `in`, which must fail as `wanted` says when it runs as `options` say.
ReduceReport reduce(const Session& session, InputGraph& in, const RunOptions& options, const Wanted& wanted);

// Reduces a kernel, or a kernel of a tensor graph: for Kind::Wrong, the first that stores other values than REF does
// from the arrays that it gets in a run; for other kinds, the first that fails that way with random arrays.
ReduceReport reduce_input(const Session& session, InputGraph& in, const RunOptions& options, const Wanted& wanted);
// Reduces a kernel of the ONNX model in that file, chosen in the same way as for a tensor graph.
ReduceReport reduce_model(const Session& session, const std::string& path, const RunOptions& options,
                          const Wanted& wanted);

}  // namespace tgc
