#include "lib/run/schedule_order.h"

#include <algorithm>
#include <set>

#include "lib/import/upgrade.h"
#include "lib/uop/copy.h"
#include "lib/validate/hazard.h"

namespace tgc {
namespace {

using Kernels = std::set<size_t>;  // by number

UOp buffer_of(UOp u) {
  while (!u.in({Op::BUFFER, Op::PARAM, Op::MSTACK}) && u.num_src()) u = u.src(0);
  return u;
}
bool is_scalar_argument(UOp u) {
  while (u.in({Op::AFTER, Op::BIND}) && u.num_src()) u = u.src(0);
  return u.is(Op::DEFINE_VAR) || import::is_variable(u);
}
std::vector<UOp> buffers_of(UOp call) {
  std::vector<UOp> out;
  for (UOp a : call.src().subspan(1))
    if (!is_scalar_argument(a)) out.push_back(a);
  return out;
}
bool calls_kernel(UOp u) { return u.is(Op::CALL) && u.num_src() && import::is_body_of_kernel(u.src(0)); }

std::string kernel_text(size_t number) { return "kernel " + std::to_string(number); }

// The calls of kernels before they are put in order, with the contents of buffers that they read, and their numbers.
class KernelGraph {
 public:
  // `list` is the LINEAR of the same calls in order, in another graph. Throws Failure if the two do not match.
  KernelGraph(UOp sink, UOp list) {
    Graph& graph = sink.graph();
    std::vector<UOp> nodes;
    UOpSet seen(graph);
    collect(sink, nodes, seen);
    std::map<std::vector<uint32_t>, std::vector<size_t>> numbers;  // of equal calls in the list
    for (size_t i = 0; i < list.num_src(); i++) {
      if (!calls_kernel(list.src(i))) throw Failure("a kernel is no call of a graph");
      numbers[key(copy_into(graph, list.src(i)))].push_back(i);
    }
    std::map<std::vector<uint32_t>, size_t> used;
    calls_.resize(list.num_src());
    for (UOp u : nodes) {
      if (!calls_kernel(u)) continue;
      const auto k = key(u);
      const size_t use = used[k]++;
      if (use >= numbers[k].size()) throw Failure("a call of the graph of kernels is not in the list");
      calls_[numbers[k][use]] = u;
      number_of_[u] = numbers[k][use];
    }
    for (UOp c : calls_)
      if (!c) throw Failure("a call of the list is not in the graph of kernels");
    for (UOp u : nodes) note_seen(u);
    for (UOp u : nodes)
      if (calls_kernel(u)) note_dependencies(u);
  }

  size_t size() const { return calls_.size(); }
  std::vector<UOp> arguments(size_t kernel) const { return buffers_of(calls_[kernel]); }
  // The kernels whose stores are in the content `state` of a buffer.
  const Kernels& seen(UOp state) const { return seen_.at(state); }
  // The kernels that must end before `kernel` begins, because it reads what they store.
  const Kernels& dependencies(size_t kernel) const { return dependencies_.at(calls_[kernel]); }

 private:
  static void collect(UOp root, std::vector<UOp>& out, UOpSet& seen) {
    struct Frame {
      UOp node;
      size_t next;
    };
    auto frame = [](UOp u) { return Frame{u, u.is(Op::CALL) ? size_t(1) : 0}; };
    std::vector<Frame> stack{frame(root)};
    while (!stack.empty()) {
      auto& [u, next] = stack.back();
      if (next < u.num_src()) {
        UOp s = u.src(next++);
        if (!seen.contains(s)) stack.push_back(frame(s));
        continue;
      }
      if (seen.insert(u)) out.push_back(u);
      stack.pop_back();
    }
  }
  // Equal for a call and the same call in the list, whose arguments are the buffers without their contents.
  static std::vector<uint32_t> key(UOp call) {
    std::vector<uint32_t> out{call.src(0).id()};
    for (UOp a : buffers_of(call)) out.push_back(buffer_of(a).rtag(Arg()).id());
    return out;
  }
  void note_seen(UOp u) {
    Kernels out;
    if (calls_kernel(u)) out.insert(number_of_.at(u));
    else if (!u.is(Op::CALL))
      for (UOp s : u.src()) out.insert(seen_.at(s).begin(), seen_.at(s).end());
    seen_[u] = std::move(out);
  }
  void note_dependencies(UOp call) {
    Kernels out;
    for (UOp a : call.src().subspan(1))
      for (size_t k : seen_.at(a)) {
        out.insert(k);
        const Kernels& before = dependencies_[calls_[k]];
        out.insert(before.begin(), before.end());
      }
    dependencies_[call] = std::move(out);
  }

  std::vector<UOp> calls_;  // in the order of the list
  std::unordered_map<UOp, size_t> number_of_;
  std::unordered_map<UOp, Kernels> seen_, dependencies_;
};

class OrderChecker {
 public:
  OrderChecker(const Session& session, const GoldenRecord& record, Release release, const RecordedSchedule& recorded,
               const TensorParameters& parameters)
      : session_(session), record_(record), release_(release), schedule_(recorded.kernels.schedule),
        recorded_(recorded), parameters_(parameters) {
    for (auto& [name, value] : schedule_.var_vals) variables_[name] = value;
  }

  OrderReport check() {
    read_stages();
    if (!split_) throw Failure("the schedule comes from tinygrad's cache");
    if (!list_) throw Failure("no stage lists the kernels");
    const KernelGraph graph(split_->root, list_of(list_->root));
    if (graph.size() != schedule_.items.size()) throw Failure("a call became several kernels");
    out_.depends_on_stale.resize(graph.size());
    std::map<std::string, Kernels> writers;  // by the name of a buffer
    for (size_t k = 0; k < graph.size(); k++) {
      accesses_.push_back(accesses_of(schedule_.items[k]));
      const auto arguments = graph.arguments(k);
      if (arguments.size() != accesses_[k].size()) throw Failure("a call has other arguments than its kernel");
      auto& names = names_.emplace_back();
      for (size_t i = 0; i < arguments.size(); i++) {
        names.push_back(name_of(arguments[i]));
        if (accesses_[k][i].writes) writers[names[i]].insert(k);
      }
    }
    for (size_t reader = 0; reader < graph.size(); reader++)
      for (size_t i = 0; i < names_[reader].size(); i++)
        for (size_t writer : writers[names_[reader][i]])
          if (reader != writer) check_pair(graph, reader, i, writer);
    for (size_t k = 0; k < graph.size(); k++)
      for (size_t before : graph.dependencies(k))
        if (out_.depends_on_stale[before]) out_.depends_on_stale[k] = true;
    if (plan_) check_plan();
    return std::move(out_);
  }

 private:
  void read_stages() {
    std::set<std::string> names;
    for (const GoldenStage& stage : record_.stages) {
      const std::string* text = text_of(stage);
      if (!names.insert(stage.name).second) throw Failure("the record has the stages of several graphs");
      if (!text) continue;
      auto read = [&] {
        return std::move(read_tensor_text(session_, record_, release_, *text, stage.name).value_or_throw());
      };
      if (stage.name == "split kernels" || stage.name == "remove indexing from call args") split_ = read();
      if (stage.name == "schedule to linear") {
        list_ = read();
        if (!stage.at.empty()) file_ = stage.at[0].substr(0, stage.at[0].find(':'));
      }
      if (stage.name == "memory plan") plan_ = before_plan_;
      if (stage.name.starts_with("resolve linear") || stage.name.starts_with("create COPY")) before_plan_ = &stage;
    }
  }
  static UOp list_of(UOp root) { return root.is(Op::CALL) ? root.src(0) : root; }

  // The buffer of the graph, or the memory between kernels, that an argument is a content of.
  std::string name_of(UOp argument) const {
    UOp buffer = buffer_of(argument);
    const int64_t slot = slot_of_buffer(buffer);
    if (buffer.is(Op::PARAM))
      if (auto it = parameters_.slots.find(slot); it != parameters_.slots.end())
        return "data" + std::to_string(it->second);
    return "memory " + std::to_string(slot);
  }

  // Checks an access of `reader` against each store of `writer` to the same buffer.
  void check_pair(const KernelGraph& graph, size_t reader, size_t i, size_t writer) {
    const std::string& name = names_[reader][i];
    const UOp read = graph.arguments(reader)[i];
    const auto written = graph.arguments(writer);
    const Kernels& seen = graph.seen(read);
    const bool is_read = accesses_[reader][i].reads, is_write = accesses_[reader][i].writes;
    for (size_t j = 0; j < written.size(); j++) {
      if (!accesses_[writer][j].writes || names_[writer][j] != name) continue;
      const Kernels& before = graph.seen(written[j]);
      if (seen.contains(writer)) {
        if (writer > reader && overlap(reader, i, !is_read, writer, j))
          add(out_.faults, writer, reader, name, is_read ? "read after write" : "write after write",
              kernel_text(reader) + (is_read ? " reads " : " stores to ") + name + " after " + kernel_text(writer) +
                  " has stored to it");
      } else if (is_read && std::ranges::includes(before, seen)) {
        const bool is_stale = graph.dependencies(reader).contains(writer);
        if (!(is_stale || writer < reader) || !overlap(reader, i, false, writer, j)) continue;
        add(is_stale ? out_.stale_reads : out_.faults, reader, writer, name, "write after read",
            kernel_text(reader) + " reads " + name + " as it is before " + kernel_text(writer) + " stores to it");
        if (is_stale) out_.depends_on_stale[reader] = true;
      } else if (reader < writer && !before.contains(reader) && (is_write || is_read) && out_.undecided.size() < 4 &&
                 overlap(reader, i, !is_read, writer, j)) {
        out_.undecided.push_back(kernel_text(reader) + " and " + kernel_text(writer) + " access " + name);
      }
    }
  }
  void add(std::vector<OrderFault>& list, size_t first, size_t second, const std::string& buffer,
           const std::string& kind, std::string text) {
    for (const OrderFault& f : list)
      if (f.first == first && f.second == second) return;
    list.push_back({first, second, buffer,
                    kind + ": " + kernel_text(first) + " must run before " + kernel_text(second),
                    "create_schedule (" + file_ + ")", std::move(text)});
  }

  // Returns whether the two kernels access a common element. `stores`: the first kernel's stores, else its loads.
  bool overlap(size_t a, size_t i, bool stores, size_t b, size_t j) const {
    const ScheduleItem &first = schedule_.items[a], &second = schedule_.items[b];
    const ScheduleBuffer &x = schedule_.buffers[first.buffers[i]], &y = schedule_.buffers[second.buffers[j]];
    if (!(x.dtype == y.dtype) || !first.ast.is(Op::SINK) || !second.ast.is(Op::SINK)) return true;
    auto one = accessed_elements(first.ast, int64_t(i), stores, variables_of(first));
    auto other = accessed_elements(second.ast, int64_t(j), true, variables_of(second));
    if (!one || !other) return true;
    const int64_t shift = (y.offset - x.offset) / x.dtype.itemsize();
    for (int64_t& element : *other) element += shift;
    std::vector<int64_t> common;
    std::ranges::set_intersection(*one, *other, std::back_inserter(common));
    return !common.empty();
  }
  VariableValues variables_of(const ScheduleItem& item) const {
    VariableValues out = variables_;
    for (auto& [name, value] : item.fixed_vars) out[name] = value;
    return out;
  }

  // ---- the memory planner
  struct Use {
    size_t first, last;           // kernels
    size_t memory;                // the buffer of the schedule that the planner's view belongs to
    int64_t begin = 0, end = 0;   // bytes
    bool is_planned = true;
    bool begins_with_store = false;
  };

  void check_plan() {
    const TensorText text =
        std::move(read_tensor_text(session_, record_, release_, *text_of(*plan_), plan_->name).value_or_throw());
    UOp list = list_of(text.root);
    if (!list.is(Op::LINEAR) || list.num_src() != schedule_.items.size()) return;
    std::map<int64_t, Use> uses;  // by the buffer's number before planning
    for (size_t k = 0; k < list.num_src(); k++) {
      const auto arguments = buffers_of(list.src(k));
      if (arguments.size() != schedule_.items[k].buffers.size()) return;
      for (size_t i = 0; i < arguments.size(); i++) {
        const UOp buffer = buffer_of(arguments[i]);
        const ScheduleBuffer& b = schedule_.buffers[schedule_.items[k].buffers[i]];
        const size_t whole = b.view_of ? *b.view_of : schedule_.items[k].buffers[i];
        const Use use{k, k, whole, b.offset, b.offset + b.nbytes(), !recorded_.buffers.contains(slot_of_buffer(buffer)),
                      accesses_[k][i].writes && !accesses_[k][i].reads};
        auto [it, is_new] = uses.try_emplace(slot_of_buffer(buffer), use);
        if (is_new) continue;
        it->second.last = k;
        it->second.begin = std::min(it->second.begin, use.begin), it->second.end = std::max(it->second.end, use.end);
      }
    }
    for (auto& [x, a] : uses)
      for (auto& [y, b] : uses) {
        if (x == y || a.memory != b.memory || a.begin >= b.end || b.begin >= a.end) continue;
        if (!a.is_planned && !b.is_planned) continue;
        if (b.first < a.first || b.first > a.last) continue;
        const std::string name = (a.is_planned ? "memory " : "data") + std::to_string(x);
        out_.faults.push_back({a.last, b.first, name,
                               "write after read: " + kernel_text(a.last) + " must run before " + kernel_text(b.first),
                               "memory_plan_rewrite (schedule/memory.py)",
                               kernel_text(b.first) + " stores to memory " + std::to_string(y) +
                                   ", which has the place of " + name + ", which " + kernel_text(a.last) +
                                   " still uses"});
        return;
      }
  }

  const Session& session_;
  const GoldenRecord& record_;
  Release release_;
  const Schedule& schedule_;
  const RecordedSchedule& recorded_;
  const TensorParameters& parameters_;
  VariableValues variables_;
  std::vector<std::vector<BufferAccess>> accesses_;  // of each kernel, by its arguments
  std::vector<std::vector<std::string>> names_;      // of the buffers of the arguments
  std::optional<TensorText> split_, list_;
  const GoldenStage *before_plan_ = nullptr, *plan_ = nullptr;
  std::string file_ = "schedule/__init__.py";
  OrderReport out_;
};

}  // namespace

OrderReport check_order(const Session& session, const GoldenRecord& record, Release release,
                        const RecordedSchedule& schedule, const TensorParameters& parameters) {
  auto checked = catch_failures([&] {
    return OrderChecker(session, record, release, schedule, parameters).check();
  });
  return checked ? std::move(*checked) : OrderReport{.not_checked = checked.diag().message};
}

}  // namespace tgc
