// Who is to blame for a kernel that computes something else: what `tgc bisect` does, as a library. The look comes
// first: both sides of every rewrite of the compilation are evaluated in REF with the failing run's arrays
// (lib/validate/rewrite_equivalence.h); the first that differ are the suspects, and who is accused is confirmed: the run fails
// with that rewrite and passes without it. Where no look tells, rewrites are left out until it passes.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "lib/run/run_kernel.h"

namespace tgc {

struct BisectReport {
  enum class Verdict : uint8_t {
    Same, Rewrite, Shortcut, Renderer, Compiler, Device, Schedule, Divergence, Endless, Deep, Crash, Flaky, Unresolved
  };

  std::string kernel, device;
  Verdict verdict = Verdict::Same;
  std::string stage = {}, rule = {}, branch = {}, location = {};  // of a rewrite; of a shortcut its name and location
  uint64_t rewrite = 0;              // the application of that rule in that stage, from 1
  std::string before = {}, after = {};  // both sides; of a renderer the node, and how it is printed
  std::string node = {};             // of a rewrite: what was rewritten, as a tree that is deeper than `before`
  struct Turn {
    std::string rule, branch, location, before, after;
  };
  std::vector<Turn> cycle = {};      // of what does not end: one turn of it
  std::map<std::string, std::string> witness = {};  // ranges and variables where they differ; "before", "after": there
  std::string pass = {}, function = {};  // of a compiler: of LLVM, what it ran on; its number, from 1
  uint64_t pass_number = 0;
  bool confirmed = false;            // it fails with what is accused, and passes without
  std::string proof = {};            // how that is known, or why it is not; empty: it was run without
  size_t rewrites = 0, looked_at = 0;  // of the compilation; those whose sides could be compared
  size_t runs = 0;
  double seconds = 0;
  std::string failure = {};          // what the run that failed did, in a line
  std::string again = {};            // the command that repeats it
  std::string detail = {};           // what else there is to say
  std::set<std::string> variables = {};  // of --var, that the kernel has
  std::string error = {};            // trouble: everything else may be missing

  int exit_code() const;
  std::string text() const;
  std::string json() const;          // one line
};
std::string_view name_of(BisectReport::Verdict verdict);  // "rewrite"
// What `detail` says of a rewrite to blame where a number is none of its dtype's.
inline constexpr std::string_view kWildConstant = "a constant that its dtype does not hold";

// What to ask besides.
struct BisectPlan {
  std::string against;   // an INPUT: golden records; who is to blame that tgc makes something else than tinygrad made
  std::string tinygrad;  // the same of what tinygrad makes of it now: a Python or a command (with_tinygrad.h)
  std::string command;   // a shell command that takes the place of running and comparing: {} stands for the file of a
                         // graph; it ends with 0 when that graph still shows what is wrong
  bool crash = false;    // it is tgc that dies: it is compiled in a process of its own first
  double seconds = 0;    // more than 0: after about so many it is unresolved
};

// The kernel run as run_trial runs it, and, if it fails, who is to blame. If it does not, a golden record is compared
// with what tgc makes of it, unless something else is asked for than it was recorded with.
BisectReport bisect(const Session& session, InputGraph& in, const RunOptions& spec, const BisectPlan& plan = {});

// Of a model (an ONNX file) or a tensor graph: the first kernel that makes something else of its arrays than REF does,
// and who is to blame for that; where each is right and the results are not what `spec.compare.expect` says, the schedule.
BisectReport bisect_model(const Session& session, const std::string& path, const RunOptions& spec);
BisectReport bisect_tensor_graph(const Session& session, InputGraph& in, const RunOptions& spec);

}  // namespace tgc
