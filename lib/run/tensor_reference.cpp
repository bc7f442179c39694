#include "lib/run/tensor_reference.h"

#include <algorithm>
#include <unordered_set>

#include "lib/import/upgrade.h"
#include "lib/uop/graph.h"
#include "lib/validate/perturb_rounding.h"

namespace tgc {
namespace {

constexpr OpSet kMoving = ops::Movement | OpSet{Op::UNSHARD, Op::MULTI};

UOp stored_buffer(UOp u) {
  while (u.in(kMoving | OpSet{Op::AFTER}) && u.num_src()) u = u.src(0);
  return u;
}
// True for AFTER(buffer, STORE(buffer, value)) and, after a store to a part, AFTER(buffer, AFTER(part, STORE(part,
// value))).
bool stores_to_buffer(UOp u) {
  if (!u.is(Op::AFTER) || u.num_src() < 2 || !stored_buffer(u).is(Op::BUFFER)) return false;
  return u.src(1).is(Op::STORE) || (stores_to_buffer(u.src(1)) && stored_buffer(u.src(1)) == stored_buffer(u));
}
UOp value_before_moves(UOp u) {
  while (u.in(kMoving) && u.num_src() && u.tag().is_none()) u = u.src(0);
  return u;
}

// Finds the buffers to which tinygrad stores the values of a graph's SINK. tinygrad's first stage tags these values
// with numbers. In its second stage, a value that is stored is an AFTER of a buffer, with the value's tag.
class StoreTargets {
 public:
  StoreTargets(const Session& session, const GoldenRecord& record, Release release) {
    auto read = [&](const GoldenStage& stage) {
      return std::move(read_tensor_text(session, record, release, *text_of_stage(stage), stage.name).value_or_throw());
    };
    if (record.stages.size() < 2 || !text_of_stage(record.stages[0]))
      throw Failure("the record has no stages that tell where values are stored");
    tagged_graph_ = read(record.stages[0]);
    stored_graph_ = text_of_stage(record.stages[1]) ? read(record.stages[1]) : tagged_graph_;
    for (UOp u : toposort(stored_graph_.root))
      if (stores_to_buffer(u) && !u.tag().is_none()) stores_by_tag_.emplace(u.tag().repr(), u);
  }
  // Returns the node below the movement ops of source `i` of the sink, whose result is stored to a buffer.
  UOp computed_value(UOp value, size_t i) const {
    for (UOp tagged = sink_source(i); tagged.tag().is_none() && value.in(kMoving); tagged = tagged.src(0))
      value = value.src(0);
    return value;
  }
  // Returns the AFTER that stores source `i` of the sink to a buffer; the empty UOp if there is none.
  UOp store_of(size_t i) const {
    auto it = stores_by_tag_.find(value_before_moves(sink_source(i)).tag().repr());
    return it == stores_by_tag_.end() ? UOp() : it->second;
  }

 private:
  UOp sink_source(size_t i) const { return tagged_graph_.root.src(i); }

  ParsedTensorGraph tagged_graph_, stored_graph_;
  std::map<std::string, UOp> stores_by_tag_;
};

// True for a SINK of values that are not stored, as in a record that makes a call of a function, and no kernels.
bool is_sink_of_values(const GoldenRecord& record, UOp root) {
  const bool makes_call = !record.stages.empty() && record.stages[0].name == "number the uops";
  return makes_call && record.kernels.empty() && root.is(Op::SINK);
}

// Skips the bodies of functions that the graph calls.
std::unordered_set<UOp> buffers_outside_calls(UOp root) {
  UOpSet seen(root.graph());
  std::unordered_set<UOp> out;
  std::vector<UOp> worklist{root};
  while (!worklist.empty()) {
    const UOp u = worklist.back();
    worklist.pop_back();
    if (!seen.insert(u)) continue;
    if (u.in({Op::PARAM, Op::BUFFER}) && !import::is_variable(u)) out.insert(u);
    const size_t body = u.in({Op::CALL, Op::FUNCTION}) && u.num_src() ? 1 : 0;
    worklist.insert(worklist.end(), u.src().begin() + std::ptrdiff_t(body), u.src().end());
  }
  return out;
}

bool has_parameters(UOp root) {
  return std::ranges::any_of(buffers_outside_calls(root), [](UOp u) { return u.is(Op::PARAM); });
}

// Removes the outputs that are buffers within a called function, because the call returns their content as a value.
void remove_inner_buffer_outputs(TensorProgram& program, UOp root) {
  const std::unordered_set<UOp> buffers = buffers_outside_calls(root);
  std::erase_if(program.outputs, [&](const TensorOutput& o) {
    return !o.source_index && o.buffer && o.buffer.is(Op::BUFFER) && !buffers.contains(o.buffer);
  });
}

// `parameters` has the buffers of the PARAMs. In a graph with PARAMs, a BUFFER is memory between kernels.
void find_slots(TensorReference& reference, const TensorParameters& parameters) {
  const auto& memories = reference.program.memories;
  const bool has_params = std::ranges::any_of(memories, [](auto& m) { return m.buffer && m.buffer.is(Op::PARAM); });
  auto slot_of = [&](UOp buffer) -> int64_t {
    if (!buffer || (has_params && !buffer.is(Op::PARAM)) || buffer.tag() == Arg("between kernels")) return -1;
    const int64_t slot = slot_of_buffer(buffer);
    return buffer.is(Op::PARAM) ? parameters.slot_for_param(slot).value_or(-1) : slot;
  };
  for (const TensorMemory& m : memories) reference.input_slots.push_back(slot_of(m.buffer));
  for (const TensorOutput& o : reference.program.outputs)
    reference.output_slots.push_back(o.source_index ? slot_of_value(*o.source_index) : slot_of(o.buffer));
}

TensorReference import_reference(ParsedTensorGraph text, UOp root, const TensorParameters& parameters,
                                 bool with_values = false, int invalid = 0) {
  TensorReference out{.graph = text.graph};
  std::vector<UOp> arguments;  // the nodes that replace the PARAMs of `root`, by slot
  for (UOp a : parameters.arguments) arguments.push_back(copy_into(*text.graph, a));
  const TensorImportOptions what{.arguments = arguments, .invalid_value = invalid, .should_output_values = with_values};
  out.program = std::move(import_tensor_graph(root, parameters.variables, nullptr, what).value_or_throw());
  if (with_values) remove_inner_buffer_outputs(out.program, root);
  find_slots(out, parameters);
  return out;
}

// Returns a SINK that stores the values of the sink `text.root` to their buffers. Leaves out values without a buffer.
UOp make_store_sink(ParsedTensorGraph& text, const StoreTargets& targets) {
  std::vector<UOp> stores;
  for (size_t i = 0; i < text.root.num_src(); i++) {
    UOp value = targets.computed_value(text.root.src(i), i);
    if (!stores_to_buffer(value)) {
      UOp after = targets.store_of(i);
      // the value may be (a part of) a buffer that the graph stores to
      UOp whole = value;
      while (whole.in(kMoving | OpSet{Op::CONTIGUOUS})) whole = whole.src(0);
      if (!after && stores_to_buffer(whole) && !std::ranges::count(stores, whole)) stores.push_back(whole);
      if (!after) continue;
      UOp target = copy_into(*text.graph, after.src(0));
      UOp store = text.graph->node(Op::STORE, dtypes::void_, {target, value});
      value = text.graph->node(Op::AFTER, target.dtype(), {target, store});
    }
    if (!std::ranges::count(stores, value)) stores.push_back(value);
  }
  return text.graph->sink(stores);
}

}  // namespace

Result<TensorReference> read_tensor_reference(const Session& session, const GoldenRecord& record, Release release,
                                              const TensorParameters& parameters, int invalid) {
  return catch_failures([&] {
    const std::string& ast = record.ast_full ? *record.ast_full : record.ast;
    ParsedTensorGraph text = std::move(read_tensor_text(session, record, release, ast, "ast").value_or_throw());
    UOp root = text.root;
    if (is_sink_of_values(record, root)) return import_reference(text, root, parameters, true, invalid);
    if (root.is(Op::SINK)) root = make_store_sink(text, StoreTargets(session, record, release));
    if (!root.num_src() && !record.kernels.empty()) throw Failure("the tensor graph stores no value to a buffer");
    return import_reference(text, root, parameters, false, invalid);
  });
}

Result<TensorReference> read_tensor_stage(const Session& session, const GoldenRecord& record, Release release,
                                          const TensorParameters& parameters, std::string_view text,
                                          const std::string& name) {
  return catch_failures([&] {
    ParsedTensorGraph read = std::move(read_tensor_text(session, record, release, text, name).value_or_throw());
    const bool is_values = is_sink_of_values(record, read.root);
    if (is_values && parameters.arguments.empty() && has_parameters(read.root))
      return TensorReference{.graph = read.graph, .program = {}, .input_slots = {}, .output_slots = {}};
    return import_reference(read, read.root, parameters, is_values);
  });
}

Result<std::vector<Array>> run_tensor_program(const TensorProgram& program,
                                              const std::map<size_t, std::shared_ptr<Array>>& contents,
                                              const ScheduleOptions& options, std::optional<int> perturbation,
                                              Placement* place) {
  return catch_failures([&] {
    Graph names;
    Schedule schedule;
    BufferValues known;
    for (size_t i = 0; i < program.memories.size(); i++) {
      const TensorMemory& m = program.memories[i];
      UOp name = names.node(Op::NOOP, m.dtype, {}, int64_t(i));
      auto found = contents.find(i);
      schedule.buffers.push_back({.uop = name,
                                  .device = "CPU",
                                  .num_elements = m.num_elements,
                                  .dtype = m.dtype,
                                  .view_of = m.view_of,
                                  .offset_bytes = m.view_offset,
                                  .is_input = found != contents.end()});
      if (found != contents.end()) known[name] = {found->second->data(), found->second->nbytes(), found->second};
    }
    for (const TensorOutput& o : program.outputs) schedule.buffers[o.memory_index].is_output = true;
    std::vector<std::unique_ptr<Graph>> perturbed;
    for (const TensorKernel& k : program.kernels) {
      UOp ast = k.ast;
      if (perturbation) {
        perturbed.push_back(std::make_unique<Graph>(ast.graph().settings()));
        ast = perturb_rounding(copy_into(*perturbed.back(), ast), *perturbation);
      }
      schedule.items.push_back({.ast = ast, .buffers = k.memories, .fixed_vars = k.variables});
    }
    schedule.result_sink = names.sink({});
    std::vector<OutputRequest> wanted;
    for (const TensorOutput& o : program.outputs)
      wanted.push_back(
          {o.memory_index, program.memories[o.memory_index].dtype, {program.memories[o.memory_index].num_elements}});
    Placement ref = make_ref_placement();
    ScheduleRunner runner(place ? *place : ref, 2);
    return std::move(std::move(runner.run_schedule(schedule, known, wanted, options).value_or_throw()).values);
  });
}

Result<std::map<int64_t, Array>> run_tensor_reference(const TensorReference& reference, const TensorArrays& buffers,
                                                      const ScheduleOptions& options, std::optional<int> perturbation,
                                                      Placement* place) {
  return catch_failures([&] {
    const TensorProgram& program = reference.program;
    std::map<size_t, std::shared_ptr<Array>> contents;
    for (size_t i = 0; i < program.memories.size(); i++) {
      const TensorMemory& m = program.memories[i];
      const int64_t slot = reference.input_slots[i];
      if (slot < 0) continue;
      auto found = buffers.find(slot);
      if (found == buffers.end() || int64_t(found->second->nbytes()) != m.num_elements * m.dtype.itemsize())
        throw Failure("buffer " + std::to_string(slot) + " of the graph is another one than that of the schedule");
      contents[i] = found->second;
    }
    std::vector<Array> values =
        std::move(run_tensor_program(program, contents, options, perturbation, place).value_or_throw());
    std::map<int64_t, Array> out;
    for (size_t i = 0; i < values.size(); i++)
      if (reference.output_slots[i] != -1) out.emplace(reference.output_slots[i], std::move(values[i]));
    return out;
  });
}

Array make_differing_copy(const Array& stored, const Array& expected) {
  Array out(expected.dtype(), {expected.size()});
  for (size_t at = 0; at < stored.nbytes(); at += out.nbytes()) {
    std::memcpy(out.data(), stored.data() + at, out.nbytes());
    if (std::memcmp(out.data(), expected.data(), out.nbytes()) != 0) break;
  }
  return out;
}

}  // namespace tgc
