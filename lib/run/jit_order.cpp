#include "lib/run/schedule_order.h"

#include <algorithm>
#include <optional>
#include <set>

#include "lib/run/call_simulator.h"
#include "lib/uop/graph.h"

namespace tgc::calls {
namespace {

// Explains why the list `run` leaves other contents in memory than the list `meant`.
class JitFaultExplainer {
 public:
  // `names`: the slots of the BUFFERs, by the slot of the PARAM.
  JitFaultExplainer(CallSimulator& simulator, const SimulatedRun& meant, const SimulatedRun& run, std::string function,
                    const std::map<int64_t, int64_t>& names)
      : simulator_(simulator), expected_run_(meant), actual_run_(run), function_(std::move(function)),
        buffer_slots_(names) {
    std::map<std::pair<uint32_t, size_t>, std::vector<size_t>> uses;  // indices of `run`'s events, by kernel and device
    for (size_t i = 0; i < run.kernel_events.size(); i++)
      uses[{run.kernel_events[i].body_number, run.kernel_events[i].device}].push_back(i);
    std::map<std::pair<uint32_t, size_t>, size_t> next;
    for (const KernelEvent& e : meant.kernel_events) {
      auto& all = uses[{e.body_number, e.device}];
      size_t& use = next[{e.body_number, e.device}];
      matching_events_.push_back(use < all.size() ? &run.kernel_events[all[use++]] : nullptr);
    }
  }

  ScheduleFault explain(const MemoryPlace& wrong) const {
    for (const KernelEvent& e : actual_run_.kernel_events) {
      const auto it = std::ranges::find(matching_events_, &e);
      if (it == matching_events_.end() || (*it)->is_copy) continue;
      const KernelEvent& should = expected_run_.kernel_events[size_t(it - matching_events_.begin())];
      for (size_t i = 0; i < e.read_contents.size(); i++)
        if (e.read_contents[i] != should.read_contents[i]) return explain_wrong_read(e, should, i);
    }
    return explain_wrong_result(wrong);
  }

  // Finds a kernel that stores to memory that it reads through another argument, although the two arguments have
  // separate memory in `meant`.
  std::optional<ScheduleFault> find_shared_memory() const {
    for (size_t n = 0; n < expected_run_.kernel_events.size(); n++) {
      const KernelEvent& should = expected_run_.kernel_events[n];
      const KernelEvent* e = matching_events_[n];
      if (!e || e->is_copy) continue;
      for (size_t i = 0; i < e->read_contents.size(); i++)
        for (size_t j = 0; j < e->is_argument_written.size(); j++) {
          if (e->read_contents[i].empty() || !e->is_argument_written[j] ||
              !arguments_overlap(e->arguments[i], e->arguments[j]))
            continue;
          if (arguments_overlap(should.arguments[i], should.arguments[j])) continue;
          const std::string name = buffer_name(should.arguments[i].place);
          return make_fault(*e, *e, name, "",
                            kernel_label(e->call_index) + " stores to the place of " + name + ", which it reads", true);
        }
    }
    return std::nullopt;
  }

 private:
  static bool arguments_overlap(const CallArgument& a, const CallArgument& b) {
    return a.place == b.place && a.begin < b.begin + b.bytes && b.begin < a.begin + a.bytes;
  }
  const KernelEvent* matching_event(const KernelEvent* e) const {
    return e ? matching_events_[size_t(e - expected_run_.kernel_events.data())] : nullptr;
  }

  ScheduleFault explain_wrong_read(const KernelEvent& e, const KernelEvent& should, size_t i) const {
    const MemoryPlace &is = e.arguments[i].place, &meant = should.arguments[i].place;
    const std::string name = buffer_name(meant), reader = kernel_label(e.call_index);
    const auto [expected, found] = first_differing_contents(should.read_contents[i], e.read_contents[i]);
    if (const KernelEvent* writer = simulator_.kernel_event_of(actual_run_, found);
        writer && is.is_parameter && !meant.is_parameter)
      return make_fault(e, *writer, buffer_name(is), "write after read",
                        reader + " reads " + buffer_name(is) + ", an input that was not copied, after " +
                       kernel_label(writer->call_index) + " has stored to it",
                        true);
    if (is.is_parameter && !(is == meant))
      return make_fault(e, e, name, "", reader + " reads " + buffer_name(is) + " in the place of " + name, true);
    if (meant.is_parameter && !is.is_parameter)
      return make_fault(e, e, name, "", reader + " reads other memory in the place of " + name, true);
    const KernelEvent *made = simulator_.kernel_event_of(expected_run_, expected), *maker = matching_event(made),
                *other = simulator_.kernel_event_of(actual_run_, found);
    if (made && !maker)
      return make_fault(e, e, name, "",
                        reader + " reads " + name + ", but the kernel that stores to it is not in the list", true);
    if (maker && maker > &e)
      return make_fault(*maker, e, name, "read after write",
                        reader + " reads " + name + " after " + kernel_label(maker->call_index) + " has stored to it");
    if (other && other != maker) {
      if (maker && is.is_parameter == meant.is_parameter && !(is == meant))
        return make_fault(e, *other, name, "write after read",
                          kernel_label(other->call_index) + " stores to the place of " + name + ", which " + reader +
                         " still uses",
                          true);
      return make_fault(
          e, *other, name, "write after read",
          reader + " reads " + name + " as it is before " + kernel_label(other->call_index) + " stores to it");
    }
    return make_fault(e, e, name, "", reader + " reads another content of " + name + " than the function made", true);
  }

  ScheduleFault explain_wrong_result(const MemoryPlace& place) const {
    const std::string name = buffer_name(place);
    const auto [expected, found] = first_differing_contents(simulator_.contents_of_place(expected_run_, place),
                                                            simulator_.contents_of_place(actual_run_, place));
    const KernelEvent *made = simulator_.kernel_event_of(expected_run_, expected), *maker = matching_event(made),
                *other = simulator_.kernel_event_of(actual_run_, found);
    if (made && !maker)
      return make_fault(
          *made, *made, name, "",
          kernel_label(made->call_index) + " of the capture, which stores to " + name + ", is not in the list", true);
    if (maker && other && other > maker)
      return make_fault(*other, *maker, name, "write after write",
                        kernel_label(maker->call_index) + " stores to " + name + " after " +
                       kernel_label(other->call_index) + " has stored to it");
    if (maker)
      return make_fault(
          *maker, *maker, name, "",
          kernel_label(maker->call_index) + " does not store to " + name + ", which the program uses afterwards", true);
    const KernelEvent& last = other                        ? *other
                              : actual_run_.kernel_events.empty() ? expected_run_.kernel_events.back()
                                                           : actual_run_.kernel_events.back();
    return make_fault(last, last, name, "",
                      kernel_label(last.call_index) + " stores to " + name + ", as no kernel of the function does",
                      true);
  }

  std::string buffer_name(const MemoryPlace& place) const {
    auto it = buffer_slots_.find(place.slot);
    return place.is_parameter && it != buffer_slots_.end() ? "data" + std::to_string(it->second) : place.name();
  }
  static std::pair<int64_t, int64_t> first_differing_contents(const MemoryPieces& a, const MemoryPieces& b) {
    for (size_t i = 0; i < std::min(a.size(), b.size()); i++)
      if (!(a[i] == b[i])) return {a[i].content, b[i].content};
    return {a.empty() ? kUndefinedContent : a.back().content, b.empty() ? kUndefinedContent : b.back().content};
  }
  ScheduleFault make_fault(const KernelEvent& first, const KernelEvent& second, const std::string& buffer,
                           const std::string& kind, std::string text, bool is_plan_fault = false) const {
    const std::string order = kernel_label(first.call_index) + " must run before " + kernel_label(second.call_index);
    return {first.call_index, second.call_index,     buffer,    kind.empty() ? "" : kind + ": " + order,
            function_,  std::move(text), is_plan_fault};
  }

  CallSimulator& simulator_;
  const SimulatedRun &expected_run_, &actual_run_;
  std::string function_;
  const std::map<int64_t, int64_t>& buffer_slots_;
  std::vector<const KernelEvent*> matching_events_;  // the same kernel of `run` for each one of `meant`, or null
};

constexpr std::pair<std::string_view, std::string_view> kFunctions[] = {
    {"captured calls", "TinyJit.__call__"},      {"inputs of the jit", "jit_lower"},
    {"memory plan", "memory_plan_rewrite"},      {"calls to replay", "graph_split_rewrite"},
    {"replay", "CapturedJit.__call__"},
};

std::string function_of_stage(const GoldenStage& stage) {
  std::string out = stage.name;
  for (auto& [name, function] : kFunctions)
    if (name == stage.name) out = function;
  const std::string file =
      stage.call_places.empty() ? "engine/jit.py" : stage.call_places[0].substr(0, stage.call_places[0].find(':'));
  return out + " (" + file + ")";
}

// Simulates `list`. If a kernel reads memory that no kernel of the list has stored to, tracks the elements of the
// argument, and simulates again. Throws Failure if a kernel still does. Copies may read such memory.
SimulatedRun run_with_defined_reads(CallSimulator& simulator, UOp list) {
  for (bool is_last : {false, true}) {
    SimulatedRun out = simulator.run_list(list);
    const KernelEvent* reader = nullptr;
    for (const KernelEvent& e : out.kernel_events)
      for (size_t i = 0; i < e.read_contents.size(); i++)
        if (std::ranges::count(e.read_contents[i], kUndefinedContent, &MemoryPiece::content) && !e.is_copy)
          reader = &e, simulator.track_elements(e.body_number, i);
    if (!reader) return out;
    if (is_last)
      throw Failure(kernel_label(reader->call_index) + " reads memory that no kernel of the list has stored to");
  }
  return {};
}

// Finds a variable whose value in a replayed kernel differs from the value that the program binds.
std::optional<ScheduleFault> find_wrong_variable(const GoldenRecord& record) {
  const std::map<std::string, int64_t> bound(record.var_vals.begin(), record.var_vals.end());
  for (size_t k = 0; k < record.kernels.size(); k++)
    for (auto& [name, value] : record.kernels[k].fixed_variables)
      if (auto it = bound.find(name); it != bound.end() && it->second != value)
        return ScheduleFault{k, k, name, "", "_prepare_jit_inputs (engine/jit.py)",
                          kernel_label(k) + " runs with " + name + "=" + std::to_string(value) +
                              ", but the program binds " + std::to_string(it->second),
                          true};
  return std::nullopt;
}

// Returns the fault of the first stage whose calls leave other contents in the memory of PARAMs than the captured
// calls, or whose memory plan makes two arguments of a kernel overlap (find_shared_memory); else that of a variable.
std::optional<ScheduleFault> find_fault(const Session& session, const GoldenRecord& record, Release release,
                                        const TensorParameters& parameters) {
  Graph graph;
  auto read = [&](const std::string& text, const std::string& what) {
    ParsedTensorGraph t = std::move(read_tensor_text(session, record, release, text, what).value_or_throw());
    UOp root = copy_into(graph, t.root);
    return root.is(Op::CALL) && root.num_src() ? root.src(0) : root;
  };
  CallSimulator simulator(session, parameters.variables.values_by_name);
  const UOp list = read(record.ast_full ? *record.ast_full : record.ast, "the captured calls");
  simulator.track_shared_arguments(list);
  const SimulatedRun meant = run_with_defined_reads(simulator, list);
  for (const GoldenStage& stage : record.stages) {
    const std::string* text = text_of_stage(stage);
    if (!text) continue;
    const SimulatedRun run = simulator.run_list(read(*text, stage.name));
    std::set<MemoryPlace> kept;
    for (const SimulatedRun* r : {&meant, &run})
      for (auto& [place, memory] : r->memory)
        if (place.is_parameter) kept.insert(place);
    for (const MemoryPlace& place : kept)
      if (simulator.contents_of_place(meant, place) != simulator.contents_of_place(run, place))
        return JitFaultExplainer(simulator, meant, run, function_of_stage(stage), parameters.buffer_slots)
            .explain(place);
    if (stage.name != "memory plan") continue;
    if (auto fault = JitFaultExplainer(simulator, meant, run, function_of_stage(stage), parameters.buffer_slots)
                         .find_shared_memory())
      return fault;
  }
  return find_wrong_variable(record);
}

}  // namespace
}  // namespace tgc::calls

namespace tgc {

bool is_jit_record(const GoldenRecord& record) {
  return !record.stages.empty() && (record.stages[0].name == "captured calls" || record.stages[0].name == "replay");
}

std::optional<ScheduleFault> find_jit_fault(const Session& session, const GoldenRecord& record, Release release,
                                            const TensorParameters& parameters) {
  return calls::find_fault(session, record, release, parameters);
}

}  // namespace tgc
