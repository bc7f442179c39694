#include "lib/beam/search.h"

#include <algorithm>

#include "lib/driver/failure_collector.h"
#include "lib/support/pytext.h"
#include "lib/text/pyrender.h"
#include "lib/uop/facts.h"

namespace tgc {

OptTexts texts_of_opts(Graph& graph, std::span<const Opt> opts) {
  OptTexts out;
  for (const Opt& opt : opts) out.push_back(opt_to_arg(graph, opt).repr());
  return out;
}

std::string opts_as_text(const OptTexts& opts) {
  std::string out;
  for (const std::string& opt : opts) out += (out.empty() ? "" : ", ") + opt;
  return "[" + out + "]";
}

std::vector<Opt> read_opt_list(Graph& graph, const std::string& text) {
  auto records = read_opts(graph, text, "a list of opts");
  std::vector<Opt> out;
  for (Arg record : records.value_or_throw()) out.push_back(opt_from_arg(record));
  return out;
}

Result<SearchKernel> SearchKernel::begin(Compilation compilation) {
  Diag no_search{.message = "'" + compilation.name() + "' cannot be searched", .expected = "the AST of a kernel"};
  if (compilation.is_tensor_graph() || compilation.input_stage() || !compilation.input_graph().list.empty())
    return no_search;
  static const StageRow& optimize = get_stage_row(StageKind::Optimizer);
  while (compilation.next_row() && compilation.next_row() != &optimize)
    if (auto step = compilation.run_step(); !step) return step.diag();
  UOp ast = compilation.current_graph();
  if (!compilation.next_row() || !ast.tag().is_none() || ast.arg()[4].is_tuple()) {
    no_search.message += ": it says its opts itself";
    return no_search;
  }
  return catch_failures([&] {
    auto base = std::make_unique<Scheduler>(ast, compilation.target());
    base->convert_loop_to_global();
    return SearchKernel(std::move(compilation), std::move(base));
  });
}

void SearchKernel::set_origin(const InputGraph& in) {
  kernel_origin_ = {.runs_threads_in_turn = runs_threads_in_turn(in),
                    .function_name = {},
                    .opts = {},
                    .producer = producer_of_graph(in)};
  if (!in.record || !in.record->program) return;
  kernel_origin_.function_name = ansistrip(in.record->program->name);
  auto opts = catch_failures([&] { return read_opt_list(graph(), in.record->program->applied_opts); });
  if (opts) kernel_origin_.opts = opts_as_text(texts_of_opts(graph(), *opts));
}

Result<SearchKernel> kernel_to_optimize(const Session& session, const InputGraph& in, const std::string& target) {
  Session own = session;
  own.overrides.uses_native_pipeline = own.overrides.imports_kernels = true;
  own.overrides.opts.clear(), own.overrides.live_command.clear(), own.tinygrad_pool.reset();
  auto compilation = catch_failures([&] {
    return std::make_unique<Compilation>(compile_copy(own, in, target, in.graph->settings()).value_or_throw());
  });
  if (!compilation) return compilation.diag();
  auto out = SearchKernel::begin(std::move(**compilation));
  if (out) out->set_origin(in);
  return out;
}

Sha256 SearchKernel::graph_key() const { return key_of(base_scheduler_->ast()); }

VariableValues SearchKernel::variables() const {
  VariableValues out;
  for (const VariableSpec& v : variables_of_nodes(base_scheduler_->facts().nodes)) out[v.name] = (v.min + v.max) >> 1;
  return out;
}

SearchRounds::SearchRounds(const SearchKernel& kernel, const BeamSettings& settings, size_t width)
    : action_limits_(settings.limits(kernel.graph().settings())),
      action_opts_(search_actions(kernel.graph(), action_limits_)),
      beam_width_(width),
      min_gain_seconds_(settings.BEAM_MIN_PROGRESS / 1e6),
      beam_entries_{{std::make_shared<Scheduler>(kernel.base_scheduler().copy())}} {}

std::vector<std::shared_ptr<const Scheduler>> SearchRounds::candidates() const {
  std::vector<std::shared_ptr<const Scheduler>> out;
  for (const BeamEntry& entry : beam_entries_)
    for (Scheduler& made : kernel_actions(*entry.kernel, action_opts_, action_limits_))
      out.push_back(std::make_shared<Scheduler>(std::move(made)));
  return out;
}

void SearchRounds::end_round(const std::vector<std::shared_ptr<const Scheduler>>& candidates,
                             const std::vector<std::optional<double>>& seconds) {
  std::vector<BeamEntry> timed;
  for (size_t i = 0; i < candidates.size(); i++)
    if (seconds[i]) timed.push_back({candidates[i], *seconds[i]});
  std::ranges::stable_sort(timed, {}, &BeamEntry::run_seconds);
  double before = best_entry().run_seconds;
  is_done_ =
      timed.empty() || timed[0].run_seconds < min_gain_seconds_ || before - timed[0].run_seconds < min_gain_seconds_;
  if (!is_done_) timed.resize(std::min(timed.size(), beam_width_));
  else if (!timed.empty() && timed[0].run_seconds < before) timed.resize(1);
  else return;
  beam_entries_ = std::move(timed);
}

}  // namespace tgc
