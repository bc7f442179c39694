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

using Why = IndexingContext::Why;

// Keeps the graphs around the stages that decide which values are stored.
class StageKeeper : public Watcher {
 public:
  UOp indexed, kept, stored;  // before "apply rangeify"; after "symbolic+reduce_collapse+debuf", "bufferize to store"

  void stage(const StageRow& row, UOp input) override {
    if (row.name == "apply rangeify") indexed = input;
  }
  void stage_end(const StageRow& row, UOp result) override {
    if (row.name == "symbolic+reduce_collapse+debuf") kept = result;
    if (row.name == "bufferize to store") stored = result;
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

struct Reason {
  std::string why, remedy;
  bool is_output = false;
};

Reason reason_of(UOp node, const IndexingContext::Realized& realized) {
  const std::string by = realized.by ? op_text(realized.by) : "";
  switch (realized.why) {
    case Why::Output: return {"it is an output of the graph", "", true};
    case Why::Source: return {by + " reads a buffer", "no " + by};
    case Why::UsersDiffer:
      return {"its users index it with different loops",
              "the same movement ops before all users; PCONTIG=1 stores only the axes that differ"};
    case Why::LoopsEnd:
      return {"an EXPAND between it and its user would compute it again in each iteration of the expanded loops",
              "no EXPAND between it and its user"};
    case Why::OwnKernel: break;
  }
  if (node.is(Op::CONTIGUOUS)) return {"CONTIGUOUS asks for a buffer", "no .contiguous()"};
  return {op_text(node) + " needs a kernel of its own", ""};
}

// Adds why the scheduler did not remove the buffer again, which it does if its value is cheap to compute.
void add_keeper(Reason& reason, UOp bufferize) {
  const KeptBufferize k = what_keeps(bufferize);
  if (!k.is_removable || reason.is_output) return;
  if (k.buffers > 3) {
    reason.why += "; and its value reads " + counted(k.buffers, "buffer") + ", more than the 3 that are read again";
    reason.remedy = "at most 3 buffers, or PCONTIG=3";
  } else if (k.reduces_buffer) {
    reason.why += "; and it reduces a buffer, which each use would repeat";
    reason.remedy += (reason.remedy.empty() ? "" : "; or ") + std::string("PCONTIG=3, where that pays");
  }
}

// The numbers of the nodes that a tag lists, see TensorJob::numbered.
std::vector<size_t> numbers_of(Arg tag) {
  std::vector<size_t> out;
  if (tag.is_tuple())
    for (Arg n : tag.items())
      if (n.is_int()) out.push_back(size_t(n.small_int()));
  return out;
}

// The same of the tag of a stored value, or of the BUFFERIZE or STORE `by` that stores it.
std::vector<size_t> numbers_of(UOp by, UOp value) { return numbers_of(by.tag().is_none() ? value.tag() : by.tag()); }

std::string list_of(const std::vector<size_t>& numbers) {
  std::string out;
  for (size_t n : numbers) out += (out.empty() ? "" : ", ") + std::to_string(n);
  return out;
}

class FusionReport {
 public:
  FusionReport(Compilation& c, const StageKeeper& stages)
      : job_(c.tensor_job()), schedule_(*c.schedule()) {
    for (UOp u : toposort(stages.indexed))
      if (auto* realized = job_.indexing->realize_map.find(u))
        for (size_t n : numbers_of(u.tag())) reasons_.try_emplace(n, reason_of(u, *realized));
    for (UOp u : toposort(stages.kept))
      if (u.is(Op::BUFFERIZE))
        for (size_t n : numbers_of(u, u.src(0)))
          if (auto it = reasons_.find(n); it != reasons_.end()) add_keeper(it->second, u);
    for (UOp u : toposort(stages.stored)) {
      if (!u.is(Op::STORE)) continue;
      UOp buffer = u.src(0);
      while (buffer.num_src() && !buffer.is(Op::BUFFER)) buffer = buffer.src(0);
      for (size_t n : numbers_of(u, u.src(1))) of_buffer_[job_.original_buffer(buffer)].push_back(n);
    }
  }

  std::string text() const {
    std::map<size_t, std::vector<size_t>> readers;  // of each buffer
    size_t kernel = 0;
    for (const ScheduleItem& item : schedule_.items) {
      for (size_t i = 1; i < item.buffers.size(); i++) readers[item.buffers[i]].push_back(kernel);
      kernel++;
    }
    std::string out;
    kernel = 0;
    for (const ScheduleItem& item : schedule_.items) {
      const size_t buffer = item.buffers[0];
      out += "\nkernel " + std::to_string(kernel) + " stores buffer " + std::to_string(buffer) + about(buffer);
      auto read = readers.find(buffer);
      if (read != readers.end()) out += "  read by kernel " + list_of(read->second) + "\n";
      kernel++;
    }
    return out;
  }

 private:
  std::string about(size_t buffer) const {
    auto numbers = of_buffer_.find(schedule_.buffers[buffer].uop);
    if (numbers == of_buffer_.end()) return "\n";
    std::string out;
    for (size_t n : numbers->second) {
      auto reason = reasons_.find(n);
      if (reason == reasons_.end()) continue;
      out = ": " + node_text(job_.numbered[n]) + "\n  stored since: " + reason->second.why + "\n";
      if (!reason->second.remedy.empty()) out += "  it would not be stored with: " + reason->second.remedy + "\n";
    }
    if (out.empty()) out = ": " + node_text(job_.numbered[numbers->second[0]]) + "\n";
    return out;
  }

  const TensorJob& job_;
  const Schedule& schedule_;
  std::map<size_t, Reason> reasons_;                        // by the number of the node
  std::unordered_map<UOp, std::vector<size_t>> of_buffer_;  // the numbers of the nodes whose value a buffer holds
};

}  // namespace

Result<std::string> fusion_text(const Compilation& c) {
  return catch_failures([&] {
    InputGraph in{.graph = std::make_unique<Graph>(c.graph().settings()), .info = c.loaded().info};
    in.root = copy_into(*in.graph, c.ast()), in.is_tensor_graph = true;
    Compilation copy = std::move(Compilation::begin(std::move(in), c.spec()).value_or_throw());
    StageKeeper stages;
    copy.watch(&stages);
    if (auto& schedule = copy.schedule(); !schedule) throw Failure(schedule.diag());
    const std::string out = FusionReport(copy, stages).text();
    copy.watch(nullptr);
    return out;
  });
}

}  // namespace tgc
