#include "lib/run/schedule_order.h"

#include <algorithm>

#include "lib/import/upgrade.h"
#include "lib/uop/graph.h"
#include "lib/uop/wellformed.h"
#include "lib/validate/hazard.h"

namespace tgc {
namespace {

using KernelSet = std::set<size_t>;

UOp underlying_buffer(UOp u) {
  while (!u.in({Op::BUFFER, Op::PARAM, Op::MSTACK}) && u.num_src()) u = u.src(0);
  return u;
}
bool is_scalar_argument(UOp u) {
  while (u.in({Op::AFTER, Op::BIND}) && u.num_src()) u = u.src(0);
  return u.is(Op::DEFINE_VAR) || import::is_variable(u);
}
std::vector<UOp> buffer_arguments_of(UOp call) {
  std::vector<UOp> out;
  for (UOp a : call.src().subspan(1))
    if (!is_scalar_argument(a)) out.push_back(a);
  return out;
}
bool is_kernel_call(UOp u) { return u.is(Op::CALL) && u.num_src() && import::is_body_of_kernel(u.src(0)); }

// The calls of kernels before they are put in order, with the contents of buffers that each call reads.
class OrderGraph {
 public:
  // `list` is the LINEAR of the same calls in order. Throws Failure if the two do not match.
  OrderGraph(UOp sink, UOp list) {
    Graph& graph = sink.graph();
    std::vector<UOp> nodes;
    UOpSet seen(graph);
    collect_nodes(sink, nodes, seen);
    std::map<std::vector<uint32_t>, std::vector<size_t>> numbers;  // positions of equal calls in the list
    for (size_t i = 0; i < list.num_src(); i++) {
      if (!is_kernel_call(list.src(i))) throw Failure("a kernel is no call of a graph");
      numbers[call_key(copy_into(graph, list.src(i)))].push_back(i);
    }
    std::map<std::vector<uint32_t>, size_t> used;
    calls_.resize(list.num_src());
    for (UOp u : nodes) {
      if (!is_kernel_call(u)) continue;
      const auto k = call_key(u);
      const size_t use = used[k]++;
      if (use >= numbers[k].size()) throw Failure("a call of the graph of kernels is not in the list");
      calls_[numbers[k][use]] = u;
      call_numbers_[u] = numbers[k][use];
    }
    for (UOp c : calls_)
      if (!c) throw Failure("a call of the list is not in the graph of kernels");
    for (UOp u : nodes) record_stored_kernels(u);
    for (UOp u : nodes)
      if (is_kernel_call(u)) record_dependencies(u);
  }

  size_t size() const { return calls_.size(); }
  std::vector<UOp> arguments(size_t kernel) const { return buffer_arguments_of(calls_[kernel]); }
  // Returns the kernels whose stores are in the content `state` of a buffer.
  const KernelSet& kernels_stored_in(UOp state) const { return stored_kernels_.at(state); }
  // Returns the kernels that must end before `kernel` begins, because it depends on what they store.
  const KernelSet& dependencies(size_t kernel) const { return dependencies_.at(calls_[kernel]); }

 private:
  static void collect_nodes(UOp root, std::vector<UOp>& out, UOpSet& seen) {
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
  // Returns a key that is equal for a call and for the same call in the list, whose arguments are the buffers without
  // their contents.
  static std::vector<uint32_t> call_key(UOp call) {
    std::vector<uint32_t> out{call.src(0).id()};
    for (UOp a : buffer_arguments_of(call)) out.push_back(underlying_buffer(a).rtag(Arg()).id());
    return out;
  }
  void record_stored_kernels(UOp u) {
    KernelSet out;
    if (is_kernel_call(u)) out.insert(call_numbers_.at(u));
    else if (!u.is(Op::CALL))
      for (UOp s : u.src()) out.insert(stored_kernels_.at(s).begin(), stored_kernels_.at(s).end());
    stored_kernels_[u] = std::move(out);
  }
  void record_dependencies(UOp call) {
    KernelSet out;
    for (UOp a : call.src().subspan(1))
      for (size_t k : stored_kernels_.at(a)) {
        out.insert(k);
        const KernelSet& before = dependencies_[calls_[k]];
        out.insert(before.begin(), before.end());
      }
    dependencies_[call] = std::move(out);
  }

  std::vector<UOp> calls_;  // in the order of the LINEAR
  std::unordered_map<UOp, size_t> call_numbers_;
  std::unordered_map<UOp, KernelSet> stored_kernels_, dependencies_;
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
    if (record_.stages.size() == 1 && record_.stages[0].name == "memory plan") {  // a TinyJit's record
      if (!text_of_stage(record_.stages[0])) throw Failure("the record has no memory plan");
      check_plan(read_call_list(record_.ast_full ? *record_.ast_full : record_.ast),
                 read_call_list(*text_of_stage(record_.stages[0])));
      return std::move(report_);
    }
    read_stages();
    if (!split_graph_) throw Failure("the schedule comes from tinygrad's cache");
    if (!list_graph_) throw Failure("no stage lists the kernels");
    const OrderGraph graph(split_graph_->root, call_list_of(list_graph_->root));
    if (graph.size() != schedule_.items.size()) throw Failure("a call became several kernels");
    report_.depends_on_stale_read.resize(graph.size());
    std::map<std::string, KernelSet> writers;  // by the name of a buffer
    for (size_t k = 0; k < graph.size(); k++) {
      accesses_.push_back(accesses_of(schedule_.items[k]));
      const auto arguments = graph.arguments(k);
      if (arguments.size() != accesses_[k].size()) throw Failure("a call has other arguments than its kernel");
      auto& names = accessed_buffer_names_.emplace_back();
      for (size_t i = 0; i < arguments.size(); i++) {
        names.push_back(buffer_name(arguments[i]));
        if (accesses_[k][i].is_written) writers[names[i]].insert(k);
      }
    }
    for (size_t reader = 0; reader < graph.size(); reader++)
      for (size_t i = 0; i < accessed_buffer_names_[reader].size(); i++)
        for (size_t writer : writers[accessed_buffer_names_[reader][i]])
          if (reader != writer) check_pair(graph, reader, i, writer);
    for (size_t k = 0; k < graph.size(); k++)
      for (size_t before : graph.dependencies(k))
        if (report_.depends_on_stale_read[before]) report_.depends_on_stale_read[k] = true;
    if (plan_stage_) check_plan(read_call_list(*text_of_stage(*plan_stage_)), {});
    return std::move(report_);
  }

 private:
  void read_stages() {
    std::set<std::string> names;
    for (const GoldenStage& stage : record_.stages) {
      const std::string* text = text_of_stage(stage);
      if (!names.insert(stage.name).second) throw Failure("the record has the stages of several graphs");
      if (!text) continue;
      auto read = [&] {
        return std::move(read_tensor_text(session_, record_, release_, *text, stage.name).value_or_throw());
      };
      if (stage.name == "split kernels" || stage.name == "remove indexing from call args") split_graph_ = read();
      if (stage.name == "schedule to linear") {
        list_graph_ = read();
        if (!stage.call_places.empty())
          scheduler_file_ = stage.call_places[0].substr(0, stage.call_places[0].find(':'));
      }
      if (stage.name == "memory plan") plan_stage_ = stage_before_plan_;
      if (stage.name.starts_with("resolve linear") || stage.name.starts_with("create COPY"))
        stage_before_plan_ = &stage;
    }
  }
  UOp read_call_list(const std::string& text) {
    parsed_lists_.push_back(
        std::move(read_tensor_text(session_, record_, release_, text, "memory plan").value_or_throw()));
    return call_list_of(parsed_lists_.back().root);
  }
  static UOp call_list_of(UOp root) { return root.is(Op::CALL) ? root.src(0) : root; }

  std::string buffer_name(UOp argument) const {
    UOp buffer = underlying_buffer(argument);
    const int64_t slot = slot_of_buffer(buffer);
    if (buffer.is(Op::PARAM))
      if (const auto argument = parameters_.slot_for_param(slot)) return "data" + std::to_string(*argument);
    return "memory " + std::to_string(slot);
  }

  // Checks argument `i` of the kernel `reader` against the stores of the kernel `writer` to the same buffer.
  void check_pair(const OrderGraph& graph, size_t reader, size_t i, size_t writer) {
    const std::string& name = accessed_buffer_names_[reader][i];
    const UOp read = graph.arguments(reader)[i];
    const auto written = graph.arguments(writer);
    const KernelSet& stored = graph.kernels_stored_in(read);
    const bool is_read = accesses_[reader][i].is_read, is_write = accesses_[reader][i].is_written;
    for (size_t j = 0; j < written.size(); j++) {
      if (!accesses_[writer][j].is_written || accessed_buffer_names_[writer][j] != name) continue;
      const KernelSet& before = graph.kernels_stored_in(written[j]);
      if (stored.contains(writer)) {
        if (writer > reader && may_overlap(reader, i, !is_read, writer, j))
          add_fault(report_.order_faults, writer, reader, name, is_read ? "read after write" : "write after write",
                    kernel_label(reader) + (is_read ? " reads " : " stores to ") + name + " after " +
                        kernel_label(writer) + " has stored to it");
      } else if (is_read && std::ranges::includes(before, stored)) {
        const bool is_stale = graph.dependencies(reader).contains(writer);
        if (!(is_stale || writer < reader) || !may_overlap(reader, i, false, writer, j)) continue;
        add_fault(
            is_stale ? report_.stale_reads : report_.order_faults, reader, writer, name, "write after read",
            kernel_label(reader) + " reads " + name + " as it is before " + kernel_label(writer) + " stores to it");
        if (is_stale) report_.depends_on_stale_read[reader] = true;
      } else if (reader < writer && !before.contains(reader) && (is_write || is_read) &&
                 report_.undecided_pairs.size() < 4 && may_overlap(reader, i, !is_read, writer, j)) {
        report_.undecided_pairs.push_back(kernel_label(reader) + " and " + kernel_label(writer) + " access " + name);
      }
    }
  }
  void add_fault(std::vector<ScheduleFault>& list, size_t first, size_t second, const std::string& buffer,
                 const std::string& kind, std::string text) {
    for (const ScheduleFault& f : list)
      if (f.first_kernel == first && f.second_kernel == second) return;
    list.push_back({first, second, buffer,
                    kind + ": " + kernel_label(first) + " must run before " + kernel_label(second),
                    "create_schedule (" + scheduler_file_ + ")", std::move(text)});
  }

  // Returns whether argument `i` of kernel `a` and the stores to argument `j` of kernel `b` may have a common element.
  // `stores`: use the stores to argument `i`, not the loads.
  bool may_overlap(size_t a, size_t i, bool stores, size_t b, size_t j) const {
    const ScheduleItem &first = schedule_.items[a], &second = schedule_.items[b];
    const ScheduleBuffer &x = schedule_.buffers[first.buffers[i]], &y = schedule_.buffers[second.buffers[j]];
    if (!(x.dtype == y.dtype) || !first.ast.is(Op::SINK) || !second.ast.is(Op::SINK)) return true;
    auto one = accessed_elements(first.ast, int64_t(i), stores, variables_of(first));
    auto other = accessed_elements(second.ast, int64_t(j), true, variables_of(second));
    if (!one || !other) return true;
    const int64_t shift = (y.offset_bytes - x.offset_bytes) / x.dtype.itemsize();
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

  struct BufferUse {
    size_t first = 0, last = 0;   // first and last kernel that use the buffer
    int64_t base = 0;             // number of the recorded memory that the planner gave the buffer
    int64_t begin = 0, end = 0;   // the buffer's bytes in that memory
    bool is_planned = true;       // false for a buffer of the graph, which is in use all the time
  };
  using BufferKey = std::pair<int64_t, size_t>;  // slot before planning (plus kParamSlotOffset for a PARAM), device
  static constexpr int64_t kParamSlotOffset = int64_t(1) << 40;

  std::string buffer_text(const BufferKey& b, const BufferUse& use) const {
    if (use.is_planned) return "memory " + std::to_string(b.first);
    if (b.first < kParamSlotOffset) return "data" + std::to_string(b.first);
    const int64_t param = b.first - kParamSlotOffset;
    return "data" + std::to_string(parameters_.slot_for_param(param).value_or(param));
  }

  // Compares the list of calls before planning with the recorded kernels, whose memory the planner chose.
  void check_plan(UOp list, UOp planned) {
    if (!list.is(Op::LINEAR) || list.num_src() != record_.kernels.size()) return;
    const size_t last = list.num_src() - 1;
    std::map<BufferKey, BufferUse> uses;
    for (size_t k = 0; k < list.num_src(); k++) {
      const auto arguments = buffer_arguments_of(list.src(k));
      if (arguments.size() != record_.kernels[k].buffer_args.size()) return;
      for (size_t i = 0; i < arguments.size(); i++) {
        const GoldenBuffer& b = record_.kernels[k].buffer_args[i];
        for (size_t d = 0; d < std::max<size_t>(b.device_buffers.size(), 1); d++) {
          const auto [buffer, device] = device_part_of(arguments[i], d);
          if (!buffer.in({Op::BUFFER, Op::PARAM})) continue;
          const bool is_param = buffer.is(Op::PARAM);
          const BufferKey key{slot_of_buffer(buffer) + (is_param ? kParamSlotOffset : 0), device};
          const bool is_planned = !is_param && !recorded_.buffer_numbers.contains(key.first);
          if (is_param && report_moved_buffer(k, i, d, buffer, planned)) return;
          const GoldenBuffer& part = b.device_buffers.empty() ? b : b.device_buffers[d];
          const BufferUse use{is_planned ? k : 0, is_planned ? k : last, part.base, part.offset,
                              part.offset + buffer_bytes(part), is_planned};
          auto [it, is_new] = uses.try_emplace(key, use);
          if (is_new) continue;
          if (it->second.base != part.base) return add_split_fault(key, it->second, k);
          it->second.last = std::max(it->second.last, k);
          it->second.begin = std::min(it->second.begin, use.begin), it->second.end = std::max(it->second.end, use.end);
        }
      }
    }
    for (auto& [x, a] : uses)
      for (auto& [y, b] : uses) {
        if (x == y || a.base != b.base || a.begin >= b.end || b.begin >= a.end) continue;
        if ((!a.is_planned && !b.is_planned) || b.first < a.first || b.first > a.last) continue;
        return add_plan_fault(a.last, b.first, buffer_text(x, a),
                              kernel_label(b.first) + " stores to " + buffer_text(y, b) + ", which has the place of " +
                                  buffer_text(x, a) + (a.is_planned ? ", which " + kernel_label(a.last) + " still uses"
                                                              : ", which the program still uses"));
      }
  }
  // Returns the buffer of part `d` of an argument, and the number of the buffer's device.
  static std::pair<UOp, size_t> device_part_of(UOp u, size_t d) {
    while (!u.in({Op::BUFFER, Op::PARAM}) && u.num_src()) {
      if (u.is(Op::MSELECT) && u.arg().is_int()) d = size_t(u.arg().as_int().to_int64().value_or(0));
      const bool is_stack = u.is(Op::MSTACK);
      u = u.src(is_stack && d < u.num_src() ? d : 0);
      if (is_stack) d = 0;
    }
    return {u, d};
  }
  static int64_t buffer_bytes(const GoldenBuffer& b) {
    auto dtype = dtypes::parse(b.dtype.starts_with("dtypes.") ? b.dtype.substr(7) : b.dtype);
    return dtype && b.size > 0 && b.size < kMaxBufferBytes ? b.size * dtype->itemsize() : 0;
  }
  // Reports a plan that moves `param`, a buffer of the program, to other memory: the program uses it after the kernels.
  bool report_moved_buffer(size_t k, size_t i, size_t d, UOp param, UOp planned) {
    if (!planned || !planned.is(Op::LINEAR) || k >= planned.num_src()) return false;
    const auto arguments = buffer_arguments_of(planned.src(k));
    if (i >= arguments.size() || device_part_of(arguments[i], d).first.is(Op::PARAM)) return false;
    const std::string name = buffer_text({slot_of_buffer(param) + kParamSlotOffset, 0}, {.is_planned = false});
    add_plan_fault(k, k, name,
                   "the plan moves " + name + ", which the program uses afterwards, to other memory, so that " +
                       kernel_label(k) + " does not access " + name);
    return true;
  }
  void add_split_fault(const BufferKey& b, const BufferUse& use, size_t k) {
    add_plan_fault(
        use.last, k, buffer_text(b, use),
        kernel_label(k) + " accesses " + buffer_text(b, use) + " at another place than " + kernel_label(use.last));
  }
  void add_plan_fault(size_t first, size_t second, const std::string& buffer, std::string text) {
    const std::string edge = "write after read: " + kernel_label(first) + ", which uses " + buffer +
                             ", must run before " + kernel_label(second) + ", which stores to its place";
    report_.order_faults.push_back({first, second, buffer, first == second ? "" : edge,
                           "memory_plan_rewrite (schedule/memory.py)", std::move(text), true});
  }

  const Session& session_;
  const GoldenRecord& record_;
  Release release_;
  const Schedule& schedule_;
  const RecordedSchedule& recorded_;
  const TensorParameters& parameters_;
  VariableValues variables_;
  std::vector<std::vector<BufferAccess>> accesses_;
  std::vector<std::vector<std::string>> accessed_buffer_names_;
  std::optional<ParsedTensorGraph> split_graph_, list_graph_;
  std::vector<ParsedTensorGraph> parsed_lists_;
  const GoldenStage *stage_before_plan_ = nullptr, *plan_stage_ = nullptr;
  std::string scheduler_file_ = "schedule/__init__.py";
  OrderReport report_;
};

}  // namespace

OrderReport check_order(const Session& session, const GoldenRecord& record, Release release,
                        const RecordedSchedule& schedule, const TensorParameters& parameters) {
  auto checked = catch_failures([&] {
    if (is_jit_record(record)) {
      OrderReport out;
      if (auto fault = find_jit_fault(session, record, release, parameters))
        out.order_faults.push_back(std::move(*fault));
      return out;
    }
    return OrderChecker(session, record, release, schedule, parameters).check();
  });
  return checked ? std::move(*checked) : OrderReport{.not_checked_reason = checked.diag().message};
}

std::set<int64_t> add_order_notes(const OrderReport& order, const RecordedSchedule& recorded,
                                  std::vector<std::string>& notes) {
  const Schedule& schedule = recorded.kernels.schedule;
  for (const ScheduleFault& f : order.stale_reads)
    notes.push_back(f.explanation +
                    ", but depends on what that kernel stores: tinygrad keeps no copy of the old content, so "
                    "the kernel reads the new one");
  std::set<size_t> decided_by_stale;
  for (size_t k = 0; k < order.depends_on_stale_read.size(); k++) {
    if (!order.depends_on_stale_read[k]) continue;
    const auto accesses = accesses_of(schedule.items[k]);
    for (size_t i = 0; i < accesses.size(); i++) {
      const size_t number = schedule.items[k].buffers[i];
      if (accesses[i].is_written) decided_by_stale.insert(schedule.buffers[number].view_of.value_or(number));
    }
  }
  std::set<int64_t> out;
  for (auto& [slot, numbers] : recorded.buffer_numbers)
    if (std::ranges::any_of(numbers, [&](size_t n) { return decided_by_stale.contains(n); })) {
      out.insert(slot);
      notes.push_back("data" + std::to_string(slot) + " was not compared, since such a read decides it");
    }
  for (const std::string& text : order.undecided_pairs)
    notes.push_back("the graph does not decide in which order " + text);
  return out;
}

}  // namespace tgc
