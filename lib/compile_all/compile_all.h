// Lowers many kernels, or takes the sources that a recording of another release has, and compiles every distinct source
// with the compiler of its target, for `tgc compile`.
#pragma once
#include <functional>
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
  size_t every = 1;  // compile only every n-th kernel of the inputs; 1: all
  double timeout_seconds = 600;  // time limit for compiling one source
};

// A source and the result of compiling it.
struct CompiledSource {
  std::string target, kernel;
  CompileJob job;
  std::string failure;                            // the compiler's error; empty if the source compiled
  double milliseconds = 0, cpu_milliseconds = 0;  // wall time; processor time of this thread and the compile worker
  size_t bytes = 0;
};

class CompileAll {
 public:
  CompileAll(const Session& session, const CompilePlan& plan) : session_(session), plan_(plan) {}

  // Lowers every kernel, then compiles the sources, session.jobs at a time. Fails if an input cannot be read. If the
  // pipeline or a renderer refuses a kernel, the report lists this kernel as refused, which is not a failure.
  Status run();

  bool any_failed() const;
  Status any_source() const;           // an error if kernels were read, but none has a source
  std::string text() const;            // a table with a row for each target, then the failures
  // Returns {"targets":{...},"sources":[...],"refused":[...]}. "sources" has only the failures unless `times` is true.
  std::string json(bool times) const;

 private:
  struct Group {  // counts for all kernels of one target
    size_t kernels = 0, sources = 0, compiled = 0;
    std::string why_none;
    std::vector<double> times;
  };
  struct Refused {
    std::string target, kernel, why;
    std::string text() const { return target + " " + kernel + ": " + why; }
  };
  Status add(InputGraph graph);
  Status add_recorded(const InputGraph& graph);
  // Adds `source` unless the target has it already. `make_job` returns what the compiler needs.
  void add_source(const std::string& target, const std::string& kernel, const std::string& source,
                  const std::function<Result<CompileJob>()>& make_job);
  void refuse(const std::string& target, const std::string& kernel, const Diag& diag);
  Status compile();

  const Session& session_;
  const CompilePlan& plan_;
  std::map<std::string, Group> groups_;
  std::set<std::pair<std::string, Sha256>> seen_;
  std::vector<CompiledSource> sources_;
  std::vector<Refused> refused_;
  size_t number_ = 0;  // number of kernels read so far
};

}  // namespace tgc
