// Compiles every distinct source of many kernels with its target's compiler, for `tgc compile`.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "lib/driver/session.h"
#include "lib/support/sha256.h"

namespace tgc {

struct CompilePlan {
  std::vector<std::string> inputs;
  bool use_cache = true;
  size_t every = 1;  // compile only every `every`-th kernel
  double timeout_seconds = 600;  // time limit for compiling one source
};

// One source and its result.
struct CompiledSource {
  std::string target, kernel;
  CompileJob job;
  std::string failure;                            // empty if it compiled
  double milliseconds = 0, cpu_milliseconds = 0;  // wall time; processor time of this thread and the worker
  size_t bytes = 0;
};

class CompileAll {
 public:
  CompileAll(const Session& session, const CompilePlan& plan) : session_(session), plan_(plan) {}

  // Lowers every kernel, then compiles the sources, session.jobs at a time. Errors: an input cannot be read. A kernel
  // that the pipeline or a renderer refuses is only listed; a source that does not compile counts as a failure.
  Status run();

  bool any_failed() const;
  Status any_source() const;           // an error if every kernel was refused, as nothing was compiled then
  std::string text() const;            // a table with a row for each target, then the failures
  // {"targets":{...},"sources":[...],"refused":[...]}; "sources" lists the failures or, if `times`, all sources.
  std::string json(bool times) const;

 private:
  struct Group {  // the counts of the kernels for one target
    size_t kernels = 0, sources = 0, compiled = 0;
    std::string why_none;
    std::vector<double> times;
  };
  struct Refused {
    std::string target, kernel, why;
    std::string text() const { return target + " " + kernel + ": " + why; }
  };
  Status add(InputGraph graph);
  void refuse(const Compilation& kernel, const Diag& diag);
  Status compile();

  const Session& session_;
  const CompilePlan& plan_;
  std::map<std::string, Group> groups_;
  std::set<std::pair<std::string, Sha256>> seen_;
  std::vector<CompiledSource> sources_;
  std::vector<Refused> refused_;
  size_t number_ = 0;  // how many kernels were read so far
};

}  // namespace tgc
