#include "lib/view/gather.h"

#include <map>

#include "lib/inspect/trace_file.h"
#include "lib/session/source.h"
#include "lib/support/ordered_pool.h"
#include "passes/program.h"

namespace tgc {
namespace {

// A trace file's kernels; nothing of them can be compiled further.
class TraceGraphs : public Recorder {
 public:
  explicit TraceGraphs(std::vector<RecordedGraph>& to) : to_(to) {}
  void kernel_end() override { to_.push_back(finish(nullptr, {})); }

 private:
  std::vector<RecordedGraph>& to_;
};

class Gatherer {
 public:
  Gatherer(const Session& session, const ViewPlan& plan) : session_(session), plan_(plan) {}

  Result<ViewContent> run() {
    content_.title = shown_name();
    auto each = [&](Loaded in) { return add(std::move(in)); };
    auto status = is_trace_file(plan_.input) ? read_traces()
                                             : for_each_graph(session_, plan_.input, plan_.kernel, each);
    if (!status) return status.diag();
    return std::move(content_);
  }

 private:
  std::string shown_name() const {
    if (!plan_.strip_paths) return plan_.input;
    size_t slash = plan_.input.find_last_of('/');
    return slash == std::string::npos ? plan_.input : plan_.input.substr(slash + 1);
  }

  Status read_traces() {
    TraceGraphs graphs(content_.graphs);
    return read_trace(plan_.input, graphs);
  }

  Status add(Loaded in) {
    auto compilation = session_.begin(std::move(in));
    if (!compilation) return compilation.diag();
    if (!compilation->loaded().list.empty())
      return Diag{.message = "a linear list has no stages to show", .file = compilation->loaded().file,
                  .expected = "a graph"};
    RecordedGraph graph = recorded(*compilation);
    bool scheduled = graph.is_tensor_graph && graph.error.empty();
    content_.graphs.push_back(std::move(graph));
    return scheduled ? add_kernels(*compilation) : Unit{};
  }

  RecordedGraph recorded(Compilation& c) const {
    RecordedGraph graph = record(c, {.assembly = plan_.assembly});
    if (graph.error.empty() && !graph.is_tensor_graph)
      if (auto& list = c.list())
        if (auto info = program_info(*list))
          graph.ops = info->estimates.ops.str(), graph.mem = info->estimates.mem.str();
    return graph;
  }

  // Those that are alike once.
  Status add_kernels(Compilation& c) {
    if (content_.schedule.empty())
      if (auto schedule = c.schedule_as_json()) content_.schedule = *schedule;
    std::map<std::pair<uint32_t, std::string>, size_t> known;  // by AST and target
    std::vector<std::vector<int64_t>> numbers;
    for (size_t number : c.kernel_numbers()) {
      auto key = std::pair(c.schedule()->items[number].ast.id(), c.kernel_target(number));
      auto [at, is_new] = known.try_emplace(key, numbers.size());
      if (is_new) numbers.emplace_back();
      numbers[at->second].push_back(int64_t(number));
    }
    std::vector<Result<RecordedGraph>> made(numbers.size(), RecordedGraph());
    auto make = [&](size_t i) {
      auto kernel = c.kernel(size_t(numbers[i][0]));
      made[i] = kernel ? recorded(*kernel) : Result<RecordedGraph>(kernel.diag());
    };
    auto tell = [&](size_t i) {
      session_.progress(std::to_string(i + 1) + " of " + std::to_string(made.size()) + " kernels");
    };
    if (auto status = parallel_for(made.size(), session_.jobs, make, tell); !status) return status;
    for (size_t i = 0; i < made.size(); i++) {
      if (!made[i]) return made[i].diag();
      made[i]->numbers = numbers[i];
      content_.graphs.push_back(std::move(*made[i]));
    }
    return Unit{};
  }

  const Session& session_;
  const ViewPlan& plan_;
  ViewContent content_;
};

}  // namespace

Result<ViewContent> gather_view(const Session& session, const ViewPlan& plan) { return Gatherer(session, plan).run(); }

}  // namespace tgc
