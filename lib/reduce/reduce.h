// The smallest kernel that still shows a failure: what `tgc reduce` does, as a library. It begins where bisect says
// that things go wrong, cuts what is large first, and ends when no single step makes the case smaller.
#pragma once
#include <functional>
#include <string>

#include "lib/reduce/oracle.h"

namespace tgc {

struct ReduceReport {
  size_t before = 0, after = 0;  // nodes
  size_t calls = 0;  // of the oracle: cases that were compiled and run
  size_t glances = 0;  // cases of which the accused stage alone was looked at
  double seconds = 0;
  std::string verdict;  // what it shows
  bool interrupted = false;  // the best so far
  std::string bundle;  // the reduced case as a repro bundle
  std::string error = {};  // nothing was reduced

  int exit_code() const { return error.empty() ? 0 : 2; }
  std::string text() const;
  std::string json() const;  // one line
};

// `in` is a kernel, which fails as `wanted` says where `options` runs it.
ReduceReport reduce(const Session& session, InputGraph& in, const RunOptions& options, const Wanted& wanted);

// The same of any graph. Of a tensor graph the first of its kernels that fails so: that makes something else of the
// arrays that it gets there than REF does; asked for anything but 'wrong', with arrays of its own.
ReduceReport reduce_input(const Session& session, InputGraph& in, const RunOptions& options, const Wanted& wanted);
// The same of the ONNX model of that file.
ReduceReport reduce_model(const Session& session, const std::string& path, const RunOptions& options,
                          const Wanted& wanted);

}  // namespace tgc
