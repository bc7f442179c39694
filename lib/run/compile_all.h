// Every distinct source of many kernels through its target's compiler, and what came of it: `tgc compile`.
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
  bool use_cache = true;  // of compiled code
  size_t every = 1;       // takes every Nth kernel alone
  double timeout_seconds = 600;  // of one source
};

// One source and what came of it.
struct CompiledSource {
  std::string target, kernel;
  CompileJob job;
  std::string failure;                            // empty: it compiled
  double milliseconds = 0, cpu_milliseconds = 0;  // the second of the processor, by this thread and the worker
  size_t bytes = 0;
};

class CompileAll {
 public:
  CompileAll(const Session& session, const CompilePlan& plan) : session_(session), plan_(plan) {}

  // Lowers every kernel, then compiles the sources, session.jobs at a time. An error: an input that cannot be read. A
  // kernel that the pipeline or a renderer refuses is listed; one that does not compile is a failure.
  Status run();

  bool any_failed() const;
  Status any_source() const;           // an error: there was nothing to compile, for every kernel was refused
  std::string text() const;            // a table by target, then the failures
  // {"targets":{...},"sources":[...],"refused":[...]}: every failure, with `times` every source; kernels without one
  std::string json(bool times) const;

 private:
  struct Group {  // of a target
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
  size_t number_ = 0;  // of kernels read
};

}  // namespace tgc
