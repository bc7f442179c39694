// A kernel to search, and the rounds of its search (tinygrad codegen/opt/search.py:beam_search), without the timing.
#pragma once
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/beam/beam_settings.h"
#include "lib/compilation/compilation.h"
#include "lib/driver/session.h"
#include "lib/execute/executable.h"
#include "lib/support/sha256.h"

namespace tgc {

// tinygrad's repr of each opt, such as "Opt(op=OptOps.UPCAST, axis=0, arg=4)".
using OptTexts = std::vector<std::string>;
OptTexts texts_of_opts(Graph& graph, std::span<const Opt> opts);
std::string opts_as_text(const OptTexts& opts);  // returns "[Opt(...), Opt(...)]", a value for --opts
std::vector<Opt> read_opt_list(Graph& graph, const std::string& text);  // throws Failure for a malformed text

// A kernel as tinygrad's search starts from it: rewritten up to the optimizer, with its loops made global where
// possible.
class SearchKernel {
 public:
  // Fails if the graph is no kernel AST, is optimized or has opts, or if a stage refuses it.
  static Result<SearchKernel> begin(Compilation compilation);

  Graph& graph() const { return compilation_.graph(); }
  const Target& target() const { return compilation_.target(); }
  const std::string& name() const { return compilation_.name(); }
  const Compilation& compilation() const { return compilation_; }
  const Scheduler& base_scheduler() const { return *base_scheduler_; }
  Sha256 graph_key() const;                  // tinygrad's UOp.key (uop/ops.py)
  // Facts about the kernel from its record.
  struct KernelOrigin {
    bool runs_threads_in_turn = false;
    std::string function_name;          // empty: not recorded
    // as opts_as_text() writes them; empty: not recorded, or unreadable
    std::string opts;
    std::string producer;
  };
  void set_origin(const InputGraph& in);
  const KernelOrigin& kernel_origin() const { return kernel_origin_; }
  VariableValues variables() const;    // returns the middle of each variable's range, as tinygrad's search uses it

 private:
  SearchKernel(Compilation compilation, std::unique_ptr<Scheduler> base)
      : compilation_(std::move(compilation)), base_scheduler_(std::move(base)) {}
  Compilation compilation_;
  std::unique_ptr<Scheduler> base_scheduler_;
  KernelOrigin kernel_origin_;
};

// Begins tgc's pipeline for an AST of tinygrad 0.12.0 or another release. Fails if the graph cannot be imported, and as
// SearchKernel::begin() does.
Result<SearchKernel> kernel_to_optimize(const Session& session, const InputGraph& in, const std::string& target);

// The beam is the set of kernels that the last round kept; before the first round, the kernel without opts.
class SearchRounds {
 public:
  struct BeamEntry {
    std::shared_ptr<const Scheduler> kernel;
    double run_seconds = std::numeric_limits<double>::infinity();
  };

  SearchRounds(const SearchKernel& kernel, const BeamSettings& settings, size_t width);

  bool is_done() const { return is_done_; }
  // Returns the beam, the fastest kernel first.
  const std::vector<BeamEntry>& beam_entries() const { return beam_entries_; }
  const BeamEntry& best_entry() const { return beam_entries_.front(); }
  std::vector<std::shared_ptr<const Scheduler>> candidates() const;
  // `seconds` has the time of each candidate, nullopt if it has none.
  void end_round(const std::vector<std::shared_ptr<const Scheduler>>& candidates,
                 const std::vector<std::optional<double>>& seconds);

 private:
  ActionLimits action_limits_;
  std::vector<Opt> action_opts_;
  size_t beam_width_;
  double min_gain_seconds_;  // the search ends after a round that gains less, or whose fastest kernel takes less
  std::vector<BeamEntry> beam_entries_;
  bool is_done_ = false;
};

}  // namespace tgc
