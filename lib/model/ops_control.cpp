#include <algorithm>

#include "lib/model/model.h"

namespace tgc {
namespace {

constexpr int64_t kMaxTrips = 100000;

// Stacks the tensors of `parts`, which is not empty. The result has the narrow type of the first part.
Value stack_values(const Values& parts, int64_t axis = 0) {
  Tensors tensors;
  for (auto& v : parts) tensors.push_back(v.tensor());
  return {Tensor::stack(tensors, axis), parts[0].narrow_type()};
}

// Returns element `i` along `axis`, without this axis.
Value select_element(const Value& v, int64_t axis, int64_t i) {
  return {v.tensor().slice_axis(axis, {i, i + 1}).squeeze(axis), v.narrow_type()};
}

bool have_same_types(const Values& a, const Values& b) {
  for (size_t i = 0; i < a.size(); i++) {
    if (!a[i].is_tensor() || !b[i].is_tensor() || a[i].narrow_type() != b[i].narrow_type()) return false;
    if (a[i].tensor().shape() != b[i].tensor().shape() || a[i].tensor().dtype() != b[i].tensor().dtype()) return false;
  }
  return true;
}

Values if_op(OpCall& c) {
  Tensor condition = c.tensor(0);
  auto &yes = c.attribute_graph("then_branch"), &no = c.attribute_graph("else_branch");
  if (c.builder().has_known_value(condition)) return c.builder().run_graph(c.integer(0) ? yes : no, Values{});
  Values a = c.builder().run_graph(yes, Values{}), b = c.builder().run_graph(no, Values{});
  // WHERE chooses between tensors of equal shape and dtype; for other values, the condition's value must be known.
  if (a.size() != b.size() || !have_same_types(a, b)) return c.integer(0) ? a : b;
  Values out;
  for (size_t i = 0; i < a.size(); i++)
    out.push_back({condition.reshape({}).where(a[i].tensor(), b[i].tensor()), a[i].narrow_type()});
  return out;
}

bool evaluate_condition(OpCall& c, const Value& v) {
  Array a = c.builder().evaluate_tensor(v.tensor());
  if (a.size() != 1) throw Failure("a condition of " + std::to_string(a.size()) + " elements");
  return element_as_double(a, 0) != 0;
}

Values loop(OpCall& c) {
  auto& body = c.attribute_graph("body");
  int64_t trips = c.has_input(0) ? c.integer(0) : kMaxTrips + 1;
  bool go_on = !c.has_input(1) || evaluate_condition(c, c.value(1));
  Values carried;
  for (size_t i = 2; i < c.num_inputs(); i++) carried.push_back(c.has_input(i) ? c.value(i) : Value());
  size_t state = carried.size();
  if (body.outputs.size() < 1 + state)
    throw Failure("its body gives " + std::to_string(body.outputs.size()) + " values, " + std::to_string(1 + state) +
                  " or more are needed");
  std::vector<Values> scanned(body.outputs.size() - 1 - state);
  for (int64_t i = 0; i < trips && go_on; i++) {
    if (i == kMaxTrips) throw Failure("the loop runs more than " + std::to_string(kMaxTrips) + " times");
    Values in{Tensor::constant(c.graph(), i, dtypes::int64), Tensor::constant(c.graph(), true, dtypes::bool_)};
    in.insert(in.end(), carried.begin(), carried.end());
    Values out = c.builder().run_graph(body, in);
    bool last = i + 1 == trips;
    if (!last || c.builder().has_known_value(out[0].tensor())) go_on = evaluate_condition(c, out[0]);
    for (size_t j = 0; j < state; j++) carried[j] = out[1 + j];
    for (size_t j = 0; j < scanned.size(); j++) scanned[j].push_back(out[1 + state + j]);
  }
  for (size_t j = 0; j < scanned.size(); j++) {
    if (!scanned[j].empty()) {
      carried.push_back(stack_values(scanned[j]));
      continue;
    }
    auto& type = body.outputs[1 + state + j].type;  // there were no iterations: make an empty tensor of this type
    auto dtype = onnx::dtype_of(type.element_type);
    if (!dtype || !type.shape)
      throw Failure("the loop runs 0 times, and its body does not declare the type and shape of its outputs");
    Ints shape{0};
    for (auto& d : *type.shape) shape.push_back(d.value.value_or(0));
    carried.push_back(Tensor::buffer(c.graph(), shape, *dtype));
  }
  return carried;
}

struct ScanSpec {
  size_t num_states, num_scans, num_outputs;
  Ints in_axes, out_axes, in_reverse, out_reverse;
};

Values scan_steps(OpCall& c, const onnx::GraphProto& body, const ScanSpec& s, Values state, const Values& scans) {
  const int64_t length = scans[0].tensor().size(s.in_axes[0]);
  std::vector<Values> stacked(s.num_outputs);
  for (int64_t i = 0; i < length; i++) {
    Values in = state;
    for (size_t j = 0; j < s.num_scans; j++)
      in.push_back(select_element(scans[j], scans[j].tensor().resolve_dim(s.in_axes[j]),
                                  s.in_reverse[j] ? length - 1 - i : i));
    Values out = c.builder().run_graph(body, in);
    if (out.size() != s.num_states + s.num_outputs)
      throw Failure("its body gives " + std::to_string(out.size()) + " values, " +
                    std::to_string(s.num_states + s.num_outputs) + " are needed");
    for (size_t j = 0; j < s.num_states; j++) state[j] = out[j];
    for (size_t j = 0; j < s.num_outputs; j++) stacked[j].push_back(out[s.num_states + j]);
  }
  for (size_t j = 0; j < s.num_outputs; j++) {
    if (s.out_reverse[j]) std::reverse(stacked[j].begin(), stacked[j].end());
    if (stacked[j].empty()) throw Failure("a scan over 0 steps has no outputs to stack");
    state.push_back(stack_values(stacked[j], s.out_axes[j]));
  }
  return state;
}

Values scan(OpCall& c) {
  auto& body = c.attribute_graph("body");
  // before opset 9, input 0 is the sequence lengths
  size_t first = c.opset_version() < 9 ? 1 : 0;
  ScanSpec s;
  s.num_scans = size_t(c.attribute_int("num_scan_inputs"));
  if (s.num_scans == 0 || s.num_scans + first > c.num_inputs() ||
      body.outputs.size() + s.num_scans + first < c.num_inputs())
    throw Failure("num_scan_inputs is " + std::to_string(s.num_scans));
  s.num_states = c.num_inputs() - first - s.num_scans;
  s.num_outputs = body.outputs.size() - s.num_states;
  s.in_axes = c.attribute_ints("scan_input_axes", Ints(s.num_scans, 0));
  s.out_axes = c.attribute_ints("scan_output_axes", Ints(s.num_outputs, 0));
  s.in_reverse = c.attribute_ints(first ? "directions" : "scan_input_directions", Ints(s.num_scans, 0));
  s.out_reverse = c.attribute_ints("scan_output_directions", Ints(s.num_outputs, 0));
  if (s.in_axes.size() != s.num_scans || s.out_axes.size() != s.num_outputs || s.in_reverse.size() != s.num_scans ||
      s.out_reverse.size() != s.num_outputs)
    throw Failure("its lists of axes or directions do not fit");
  Values state, scans;
  for (size_t i = 0; i < s.num_states; i++) state.push_back(c.value(first + i));
  for (size_t i = 0; i < s.num_scans; i++) scans.push_back(c.value(first + s.num_states + i));
  if (!first) return scan_steps(c, body, s, state, scans);
  if (c.has_input(0)) throw Failure("a scan with sequence lengths is not supported");
  std::vector<Values> batches(s.num_states + s.num_outputs);
  for (int64_t b = 0; b < scans[0].tensor().size(0); b++) {
    Values batch_state, batch_scans;
    for (auto& v : state) batch_state.push_back(select_element(v, 0, b));
    for (auto& v : scans) batch_scans.push_back(select_element(v, 0, b));
    Values out = scan_steps(c, body, s, batch_state, batch_scans);
    for (size_t j = 0; j < out.size(); j++) batches[j].push_back(out[j]);
  }
  Values out;
  for (auto& parts : batches) out.push_back(stack_values(parts));
  return out;
}

int64_t sequence_position(OpCall& c, size_t input, int64_t size, bool end_too) {
  if (!c.has_input(input)) return end_too ? size : size - 1;
  int64_t i = c.integer(input), limit = size + end_too;
  if (i < -size || i >= limit)
    throw Failure("position " + std::to_string(i) + " in a sequence of " + std::to_string(size));
  return i < 0 ? i + size : i;
}

Values sequence_construct(OpCall& c) {
  Values items;
  for (size_t i = 0; i < c.num_inputs(); i++) items.push_back(c.value(i));
  return {Value::sequence(items)};
}

Values sequence_insert(OpCall& c) {
  Values items = c.value(0).items();
  items.insert(items.begin() + sequence_position(c, 2, int64_t(items.size()), true), c.value(1));
  return {Value::sequence(items)};
}

Values sequence_erase(OpCall& c) {
  Values items = c.value(0).items();
  if (items.empty()) throw Failure("an element of an empty sequence");
  items.erase(items.begin() + sequence_position(c, 1, int64_t(items.size()), false));
  return {Value::sequence(items)};
}

Values sequence_at(OpCall& c) {
  auto& items = c.value(0).items();
  return {items[size_t(sequence_position(c, 1, int64_t(items.size()), false))]};
}

Values split_to_sequence(OpCall& c) {
  Tensor x = c.tensor(0);
  int64_t axis = x.resolve_dim(c.attribute_int("axis", 0)), n = x.size(axis);
  bool keep = c.attribute_flag("keepdims", true) || c.has_input(1);
  Tensors parts;
  if (!c.has_input(1)) parts = x.split_by_size(1, axis);
  else if (c.tensor(1).ndim() == 0) parts = x.split_by_size(std::min(c.integer(1), n), axis);
  else parts = x.split(c.ints(1), axis);
  Values items;
  for (auto& t : parts) items.push_back(keep ? t : t.squeeze(axis));
  return {Value::sequence(items)};
}

Values concat_from_sequence(OpCall& c) {
  Tensors parts;
  for (auto& v : c.value(0).items()) parts.push_back(v.tensor());
  int64_t axis = c.attribute_int("axis");
  return {c.attribute_flag("new_axis", false) ? Tensor::stack(parts, axis) : Tensor::cat_all(parts, axis)};
}

Values sequence_map(OpCall& c) {
  auto& body = c.attribute_graph("body");
  size_t n = c.value(0).items().size();
  std::vector<Values> collected(body.outputs.size());
  for (size_t i = 0; i < n; i++) {
    Values in;
    for (size_t j = 0; j < c.num_inputs(); j++) {
      const Value& v = c.value(j);
      if (v.is_sequence() && v.items().size() != n)
        throw Failure("sequences of " + std::to_string(n) + " and " + std::to_string(v.items().size()) + " elements");
      in.push_back(v.is_sequence() ? v.items()[i] : v);
    }
    Values out = c.builder().run_graph(body, in);
    for (size_t j = 0; j < collected.size(); j++) collected[j].push_back(out[j]);
  }
  Values out;
  for (auto& items : collected) out.push_back(Value::sequence(items));
  return out;
}

Values optional_has_element(OpCall& c) { return {Tensor::constant(c.graph(), c.has_input(0), dtypes::bool_)}; }

}  // namespace

std::span<const OpDef> control_ops() {
  // clang-format off
  static const OpDef kOps[] = {
    {"If", 1, "then_branch else_branch", if_op},
    {"Loop", 1, "body", loop},
    {"Scan", 8, "body directions num_scan_inputs", scan},
    {"Scan", 9, "body num_scan_inputs scan_input_axes scan_input_directions scan_output_axes scan_output_directions", scan},
    {"SequenceEmpty", 11, "dtype", [](OpCall&) -> Values { return {Value::sequence({})}; }},
    {"SequenceConstruct", 11, "", sequence_construct},
    {"SequenceInsert", 11, "", sequence_insert},
    {"SequenceErase", 11, "", sequence_erase},
    {"SequenceAt", 11, "", sequence_at},
    {"SequenceLength", 11, "", [](OpCall& c) -> Values { return {Tensor::constant(c.graph(), int64_t(c.value(0).items().size()), dtypes::int64)}; }},
    {"SplitToSequence", 11, "axis keepdims", split_to_sequence},
    {"ConcatFromSequence", 11, "axis new_axis", concat_from_sequence},
    {"SequenceMap", 17, "body", sequence_map},
    {"Optional", 15, "type", [](OpCall& c) -> Values { return {c.has_input(0) ? c.value(0) : Value()}; }},
    {"OptionalHasElement", 15, "", optional_has_element},
    {"OptionalGetElement", 15, "", [](OpCall& c) -> Values { return {c.value(0)}; }},
  };
  // clang-format on
  return kOps;
}

}  // namespace tgc
