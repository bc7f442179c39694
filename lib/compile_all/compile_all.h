// Lowers many kernels, or takes recorded or hand-written sources, and compiles every distinct source with the compiler
// of its target, for `tgc compile`.
#pragma once
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "lib/compile/resources.h"
#include "lib/driver/session.h"
#include "lib/support/sha256.h"

namespace tgc {

class JsonWriter;

struct CompilePlan {
  std::vector<std::string> inputs;
  std::string language;      // the language of inputs that are hand-written kernels (hand_written.h); empty: each input
                             // is an INPUT
  bool use_cache = true;
  size_t sampling_interval = 1;    // compile only every n-th kernel of the inputs; 1: all
  double timeout_seconds = 600;    // time limit for compiling one source
  bool reports_resources = false;  // report the registers, memory and occupancy of each source
  // threads of a work group, for the occupancy of sources that do not state them; 0: unknown
  uint32_t num_group_threads = 0;
};

// A source and the result of compiling it.
struct CompiledSource {
  std::string target, kernel;
  CompileJob job;
  std::string failure;                            // why compiling, loading or measuring failed; else empty
  double milliseconds = 0, cpu_milliseconds = 0;  // wall time; processor time of this thread and the compile worker
  size_t output_bytes = 0;
  uint32_t num_group_threads = 0;  // threads of a work group; 0: unknown
  std::string file;            // the file of a hand-written kernel; else empty
  // resources of each function that is a kernel, if CompilePlan::reports_resources
  std::vector<KernelResources> resources;
};

// resources_text returns the resources as a table; write_resources writes those of one source as "resources".
std::string resources_text(std::span<const CompiledSource> sources);
void write_resources(JsonWriter& json, const CompiledSource& source);

class BatchCompiler {
 public:
  BatchCompiler(const Session& session, const CompilePlan& plan) : session_(session), plan_(plan) {}

  // Lowers the kernels, then compiles the sources, session.jobs at a time. Fails if an input cannot be read, if a
  // target is unknown, if the inputs have no kernel, if a graph of another release has no record, or if the session is
  // cancelled. If a stage or renderer refuses a kernel, the report lists the kernel as refused, which is not a failure.
  Status run();

  bool has_failures() const;
  Status require_any_source() const;   // returns an error if kernels were refused and no source is left
  // Returns a table with a row for each target or, with CompilePlan::reports_resources, for each kernel; then the
  // failures and the refused kernels.
  std::string text() const;
  // Returns {"targets":{...},"sources":[...],"refused":[...]}. "sources" has only the failures unless `times` or
  // CompilePlan::reports_resources is true.
  std::string json(bool times) const;

 private:
  struct TargetCounts {  // counts for all kernels of one target
    size_t num_kernels = 0, num_sources = 0, num_compiled = 0;
    std::string no_source_reason;
    std::vector<double> times;
  };
  struct RefusedKernel {
    std::string target, kernel, reason;
    std::string text() const { return target + " " + kernel + ": " + reason; }
  };
  Status add_hand_written_kernel(const std::string& file);
  Status add_graph(InputGraph graph);
  Status add_recorded_kernel(const InputGraph& graph);
  // Adds `source` unless the target has it already. `make_job` returns what the compiler needs.
  // `threads`: the number of threads of a work group; 0: unknown.
  void add_source(const std::string& target, const std::string& kernel, const std::string& source, uint32_t threads,
                  const std::function<Result<CompileJob>()>& make_job);
  void add_refused_kernel(const std::string& target, const std::string& kernel, const Diag& diag);
  Status compile_sources();
  std::string totals_text() const;  // the table with a row for each target

  const Session& session_;
  const CompilePlan& plan_;
  std::map<std::string, TargetCounts> target_counts_;
  std::set<std::pair<std::string, Sha256>> seen_sources_;
  std::vector<CompiledSource> sources_;
  std::vector<RefusedKernel> refused_kernels_;
  size_t num_kernels_read_ = 0;  // number of kernels read so far
};

}  // namespace tgc
