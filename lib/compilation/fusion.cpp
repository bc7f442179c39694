#include "lib/compilation/fusion.h"

#include <map>
#include <unordered_map>

#include "lib/support/counted.h"
#include "lib/uop/facts.h"
#include "lib/uop/graph.h"
#include "lib/uop/sint.h"
#include "passes/tensor/stages.h"

namespace tgc {
namespace {

using StoreReason = IndexingContext::StoreReason;

class StageGraphRecorder : public StageObserver {
 public:
  UOp indexed_graph;
  UOp cleaned_graph;
  UOp stored_graph;

  void begin_stage(const StageRow& row, UOp input) override {
    if (row.name == "apply rangeify") indexed_graph = input;
  }
  void end_stage(const StageRow& row, UOp result) override {
    if (row.name == "symbolic+reduce_collapse+debuf") cleaned_graph = result;
    if (row.name == "bufferize to store") stored_graph = result;
  }
};

std::string op_text(UOp u) { return "Ops." + std::string(name_of(u.op())); }

std::string node_text(UOp u) {
  std::string out = op_text(u) + " " + std::string(u.dtype().repr());
  if (u.is(Op::REDUCE_AXIS)) out += " " + u.arg().repr();
  auto shape = shape_or_none(u);
  if (!shape) return out;
  out += " (";
  for (size_t i = 0; i < shape->size(); i++) out += (i ? ", " : "") + (*shape)[i].str();
  return out + ")";
}

StorageReason storage_reason_of(UOp node, const IndexingContext::RealizedAxes& realized) {
  const std::string_view word = realized.reason == StoreReason::Output        ? "output"
                                : realized.reason == StoreReason::Source      ? "source"
                                : realized.reason == StoreReason::UsersDiffer ? "users"
                                : realized.reason == StoreReason::LoopsEnd    ? "loops"
                                                                              : "own";
  return explain_storage(word, op_text(node), realized.reading_op ? op_text(realized.reading_op) : "");
}

void add_removal_cost(StorageReason& reason, UOp bufferize) {
  const BufferRequirements k = buffer_requirements(bufferize);
  if (k.is_removable) add_storage_cost(reason, k.num_buffers, k.has_buffer_reduction);
}

// `tag` has indices into TensorJob::numbered_nodes.
std::vector<size_t> node_numbers_of(Arg tag) {
  std::vector<size_t> out;
  if (tag.is_tuple())
    for (Arg n : tag.items())
      if (n.is_int()) out.push_back(size_t(n.small_int()));
  return out;
}

// Returns the numbers in the tag of `by`, a BUFFERIZE or STORE, or, if `by` has no tag, in the tag of `value`.
std::vector<size_t> node_numbers_of(UOp by, UOp value) {
  return node_numbers_of(by.tag().is_none() ? value.tag() : by.tag());
}

std::string join_numbers(const std::vector<size_t>& numbers) {
  std::string out;
  for (size_t n : numbers) out += (out.empty() ? "" : ", ") + std::to_string(n);
  return out;
}

class FusionReport {
 public:
  FusionReport(Compilation& c, const StageGraphRecorder& stages)
      : job_(c.tensor_job()), schedule_(*c.schedule()) {
    for (UOp u : toposort(stages.indexed_graph))
      if (auto* realized = job_.indexing->realize_map.find(u))
        for (size_t n : node_numbers_of(u.tag())) reasons_.try_emplace(n, storage_reason_of(u, *realized));
    for (UOp u : toposort(stages.cleaned_graph))
      if (u.is(Op::BUFFERIZE))
        for (size_t n : node_numbers_of(u, u.src(0)))
          if (auto it = reasons_.find(n); it != reasons_.end()) add_removal_cost(it->second, u);
    for (UOp u : toposort(stages.stored_graph)) {
      if (!u.is(Op::STORE)) continue;
      UOp buffer = u.src(0);
      while (buffer.num_src() && !buffer.is(Op::BUFFER)) buffer = buffer.src(0);
      for (size_t n : node_numbers_of(u, u.src(1))) nodes_by_buffer_[job_.original_buffer(buffer)].push_back(n);
    }
  }

  std::string text() const {
    std::map<size_t, std::vector<size_t>> readers;
    size_t kernel = 0;
    for (const ScheduleItem& item : schedule_.items) {
      for (size_t i = 1; i < item.buffers.size(); i++) readers[item.buffers[i]].push_back(kernel);
      kernel++;
    }
    std::string out;
    kernel = 0;
    for (const ScheduleItem& item : schedule_.items) {
      const size_t buffer = item.buffers[0];
      out += "\nkernel " + std::to_string(kernel) + " stores buffer " + std::to_string(buffer) +
             buffer_reason_text(buffer);
      auto read = readers.find(buffer);
      if (read != readers.end()) out += "  read by kernel " + join_numbers(read->second) + "\n";
      kernel++;
    }
    return out;
  }

 private:
  std::string buffer_reason_text(size_t buffer) const {
    auto numbers = nodes_by_buffer_.find(schedule_.buffers[buffer].uop);
    if (numbers == nodes_by_buffer_.end()) return "\n";
    std::string out;
    for (size_t n : numbers->second) {
      auto reason = reasons_.find(n);
      if (reason == reasons_.end()) continue;
      out = ": " + node_text(job_.numbered_nodes[n]) + "\n  stored since: " + reason->second.reason_text + "\n";
      if (!reason->second.remedy.empty()) out += "  it would not be stored with: " + reason->second.remedy + "\n";
    }
    if (out.empty()) out = ": " + node_text(job_.numbered_nodes[numbers->second[0]]) + "\n";
    return out;
  }

  const TensorJob& job_;
  const Schedule& schedule_;
  std::map<size_t, StorageReason> reasons_;
  std::unordered_map<UOp, std::vector<size_t>>
      nodes_by_buffer_;  // the numbers of the nodes whose value the buffer holds
};

}  // namespace

StorageReason explain_storage(std::string_view why, const std::string& op, const std::string& by) {
  if (why == "output") return {"it is an output of the graph", "", true};
  if (why == "assign") return {"the program assigns it", "", true};
  if (why == "source") return {by + " reads a buffer", "no " + by};
  if (why == "users")
    return {"its users index it with different loops", "the same movement ops before all users"};
  if (why == "loops")
    return {"an EXPAND between it and its user would compute it again in each iteration of the expanded loops",
            "no EXPAND between it and its user"};
  if (why == "hazard") return {"it reads the buffer that it is assigned to", "no read of the assigned buffer"};
  if (why == "limit")
    return {"its user would read more buffers than the device allows in a kernel",
            "fewer buffers, or a larger MAX_KERNEL_BUFFERS", true};
  if (why == "split")
    return {"a long reduction is split into two kernels", "SPLIT_REDUCEOP=0, which is slower on most devices", true};
  if (why == "own" && op == "Ops.CONTIGUOUS") return {"CONTIGUOUS asks for a buffer", "no .contiguous()", true};
  if (why == "own") return {op + " needs a kernel of its own", "", true};
  return {"the scheduler stores it", ""};
}

void add_storage_cost(StorageReason& reason, size_t buffers, bool has_buffer_reduction) {
  if (reason.is_final) return;
  if (buffers > 3) {
    reason.reason_text +=
        "; and its value reads " + count_text(buffers, "buffer") + ", more than the 3 that are read again";
    reason.remedy = "at most 3 buffers";
  } else if (has_buffer_reduction) {
    reason.reason_text += "; and it reduces a buffer, which each use would repeat";
  }
}

Result<std::string> fusion_text(const Compilation& c) {
  return catch_failures([&] {
    InputGraph in{.graph = std::make_unique<Graph>(c.graph().settings()), .info = c.input_graph().info};
    in.root = copy_into(*in.graph, c.ast()), in.is_tensor_graph = true;
    Compilation copy = std::move(Compilation::begin(std::move(in), c.spec()).value_or_throw());
    StageGraphRecorder stages;
    copy.set_stage_observer(&stages);
    if (auto& schedule = copy.schedule(); !schedule) throw Failure(schedule.diag());
    const std::string out = FusionReport(copy, stages).text();
    copy.set_stage_observer(nullptr);
    return out;
  });
}

}  // namespace tgc
