// Who is to blame for a kernel that computes something else: what `tgc bisect` does, as a library. The look comes
// first: both sides of every rewrite of the compilation are evaluated in REF with the failing run's arrays
// (lib/execute/two_sides.h); the first that differ are the suspects, and who is accused is confirmed: the run fails
// with that rewrite and passes without it. Where no look tells, rewrites are left out until it passes.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "lib/session/trial.h"

namespace tgc {

struct BisectReport {
  enum class Verdict : uint8_t { Same, Rewrite, Shortcut, Renderer, Compiler, Device, Flaky, Crash, Unresolved };

  std::string kernel, device;
  Verdict verdict = Verdict::Same;
  std::string stage = {}, rule = {}, branch = {}, location = {};  // of a rewrite; of a shortcut its name and location
  uint64_t rewrite = 0;              // the application of that rule in that stage, from 1
  std::string before = {}, after = {};  // both sides
  std::map<std::string, std::string> witness = {};  // ranges and variables where they differ; "before", "after": there
  bool confirmed = false;
  size_t rewrites = 0, looked_at = 0;  // of the compilation; those whose sides could be compared
  size_t runs = 0;
  double seconds = 0;
  std::string again = {};            // the command that repeats it
  std::string detail = {};           // what else there is to say
  std::string error = {};            // trouble: everything else may be missing

  int exit_code() const;
  std::string text() const;
  std::string json() const;          // one line
};
std::string_view name_of(BisectReport::Verdict verdict);  // "rewrite"

// The kernel run as run_trial runs it, and, if it fails, who is to blame.
BisectReport bisect(const Session& session, Loaded& in, const TrialSpec& spec);

}  // namespace tgc
