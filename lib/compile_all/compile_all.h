// Compiles the distinct sources of many kernels with the compilers of their targets, for `tgc compile`.
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
  std::string language;  // language of hand-written kernels (hand_written.h); empty: the inputs hold graphs
  bool uses_cache = true;
  size_t sampling_interval = 1;  // compile only every n-th kernel; hand-written kernels are all compiled
  double timeout_seconds = 600;  // time limit of each source
  bool should_report_resources = false;
  // threads of a work group, for the occupancy of sources that do not state them; 0: unknown
  uint32_t num_group_threads = 0;
};

struct CompiledSource {
  std::string target, kernel;
  CompileJob job;
  std::string failure;
  double milliseconds = 0, cpu_milliseconds = 0;  // wall time; processor time of this thread and the compile worker
  size_t output_bytes = 0;
  uint32_t num_group_threads = 0;  // threads of a work group; 0: unknown
  std::string file;                // file of a hand-written kernel; else empty
  // resources of each kernel in the source; empty unless CompilePlan::should_report_resources
  std::vector<KernelResources> resources;
};

// The resources as a table, and those of one source as the JSON member "resources".
std::string resources_text(std::span<const CompiledSource> sources);
void write_resources(JsonWriter& json, const CompiledSource& source);

class BatchCompiler {
 public:
  BatchCompiler(const Session& session, const CompilePlan& plan) : session_(session), plan_(plan) {}

  // Collects the kernels' sources, then compiles them, Session::num_jobs at a time. Fails if an input cannot be used,
  // if there are no kernels, or if the session is cancelled. A kernel that has no source is only listed in the report.
  Status run();

  bool has_failures() const;
  Status require_any_source() const;  // returns an error if kernels were refused and no source is left
  // Returns a table with a row for each target or, with CompilePlan::should_report_resources, for each kernel; then
  // failures and refused kernels.
  std::string text() const;
  // Returns {"targets":{...},"sources":[...],"refused":[...]}. "sources" has only the failures unless `times` or
  // CompilePlan::should_report_resources is true.
  std::string json(bool times) const;

 private:
  struct TargetCounts {
    size_t num_kernels = 0, num_sources = 0, num_compiled = 0;
    std::string no_source_reason;
    std::vector<double> compile_ms;
  };
  struct RefusedKernel {
    std::string target, kernel, reason;
    std::string text() const { return target + " " + kernel + ": " + reason; }
  };
  Status add_hand_written_kernel(const std::string& file);
  Status add_graph(InputGraph graph);
  Status add_recorded_kernel(const InputGraph& graph);
  // Adds `source` unless the target has it already. `threads`: number of threads of a work group; 0: unknown.
  void add_source(const std::string& target, const std::string& kernel, const std::string& source, uint32_t threads,
                  const std::function<Result<CompileJob>()>& make_job);
  void add_refused_kernel(const std::string& target, const std::string& kernel, const Diag& diag);
  Status compile_sources();
  std::string totals_text() const;

  const Session& session_;
  const CompilePlan& plan_;
  std::map<std::string, TargetCounts> target_counts_;
  std::set<std::pair<std::string, Sha256>> added_source_hashes_;
  std::vector<CompiledSource> sources_;
  std::vector<RefusedKernel> refused_kernels_;
  size_t num_kernels_read_ = 0;
};

}  // namespace tgc
