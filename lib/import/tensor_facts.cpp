// Shapes, devices and loops of the nodes of a tensor graph (uop/ops.py:_shape of each release).
#include <algorithm>

#include "lib/import/tensor_lowering.h"
#include "lib/support/counted.h"
#include "lib/text/repr.h"
#include "lib/uop/exec_alu.h"

namespace tgc::import {

namespace {
constexpr OpSet kVectors{Op::STACK, Op::VECTORIZE};
constexpr OpSet kStages{Op::STAGE, Op::BUFFERIZE};
constexpr int64_t kMostAxes = 1000, kMostDevices = 1 << 12;

size_t min_num_sources(Op op) {
  constexpr OpSet kOne = OpSet{Op::END, Op::AFTER, Op::INDEX, Op::CALL, Op::FUNCTION, Op::GETTUPLE, Op::BIND} |
                         OpSet{Op::REDUCE, Op::REDUCE_AXIS, Op::STAGE, Op::BUFFERIZE};
  return op == Op::STORE || op == Op::ASSIGN ? 2 : kOne.contains(op) || ops::Movement.contains(op) ? 1 : 0;
}

Sizes integers(Arg arg) {
  Sizes out;
  if (arg.is_int()) return {arg.as_int().int64_or_throw("an arg")};
  if (!arg.is_tuple()) throw Refusal{"its arg " + arg.repr() + " is no tuple"};
  for (Arg a : arg.items())
    if (a.is_integral()) out.push_back(a.as_int().int64_or_throw("an arg"));
    else throw Refusal{"its arg " + arg.repr() + " is no tuple of integers"};
  return out;
}

int64_t num_devices_of_arg(Arg device) {
  return device.is_tuple() ? std::max<int64_t>(1, int64_t(device.items().size())) : 1;
}

// Returns the sources of `u`; for a call, only the arguments.
std::span<const UOp> data_sources(UOp u) {
  return u.src().subspan(u.in({Op::CALL, Op::FUNCTION}) && u.num_src() ? 1 : 0);
}
}  // namespace

bool is_memory(UOp u) {
  if (u.is(Op::BUFFER)) return !is_variable(u) && !is_local_buffer(u);
  return u.is(Op::DEFINE_GLOBAL) || (u.is(Op::PARAM) && !is_variable(u) && !is_local_buffer(u));
}

bool is_body_of_kernel(UOp u) {
  return u.is(Op::PROGRAM) || (u.is(Op::SINK) && (u.arg().is(RecordClass::KernelInfo) ||
         (u.arg().kind() == Arg::Kind::Record && RecordView(u.arg()).name() == "KernelInfo")));
}

const Sizes& TensorFacts::shape(UOp u) const {
  const NodeFacts& f = facts_of_node(u);
  if (!f.shape) throw Refusal{"its source " + std::string(printed_op_name(u)) + " has no shape"};
  return *f.shape;
}

std::optional<int64_t> TensorFacts::integer_value(UOp u) const {
  if (u.is_const()) return make_number(u);
  if (assumed_device_number_) return make_number(u);
  if (auto it = known_numbers_.find(u); it != known_numbers_.end()) return it->second;
  const std::optional<int64_t> out = make_number(u);
  known_numbers_.emplace(u, out);
  return out;
}

std::optional<int64_t> TensorFacts::make_number(UOp u) const {
  if (u.is_const()) return u.arg().is_integral() ? u.arg().as_int().to_int64() : std::nullopt;
  if (is_device_number(u)) return assumed_device_number_;
  if (u.is(Op::DEFINE_VAR) || is_variable(u)) {
    const Arg name = u.is(Op::DEFINE_VAR) ? tuple_item(u.arg(), 0) : field_of_record(u.arg(), "name"),
              slot = slot_of_param(u);
    const auto& [values_by_name, values_by_slot] = variables_;
    if (u.is(Op::PARAM) && slot.is_int())
      if (auto it = values_by_slot.find(checked_integer(slot)); it != values_by_slot.end()) return it->second;
    auto it = values_by_name.find(name.is_str() ? std::string(name.text()) : std::string());
    return it == values_by_name.end() ? std::nullopt : std::optional(it->second);
  }
  if (u.is(Op::BIND)) return integer_value(u.src(1));
  if (u.is(Op::AFTER)) {  // AFTER(variable, STORE(variable, value))
    for (UOp s : sources_from(u, 1))
      if (s.is(Op::STORE) && s.src(0) == u.src(0)) return integer_value(s.src(1));
    return integer_value(u.src(0));
  }
  if (u.is(Op::CAST)) return integer_value(u.src(0));
  if (!u.in(ops::ALU | OpSet{Op::FLOORDIV, Op::FLOORMOD, Op::CDIV, Op::CMOD})) return std::nullopt;
  if (u.in({Op::RECIPROCAL, Op::FDIV, Op::SQRT, Op::EXP2, Op::LOG2, Op::SIN, Op::POW})) return std::nullopt;
  std::vector<Arg> operands;
  for (UOp s : u.src())
    if (auto n = integer_value(s)) operands.push_back(Arg(*n));
    else return std::nullopt;
  if (u.in({Op::FLOORDIV, Op::FLOORMOD, Op::ADD, Op::SUB, Op::MUL})) {  // throws on overflow; Python has big integers
    if (operands.size() != 2) throw Refusal{"it has no two operands"};
    const int64_t a = checked_integer(operands[0]), b = checked_integer(operands[1]);
    if (u.is(Op::ADD)) return checked_add(a, b);
    if (u.is(Op::SUB)) return checked_sub(a, b);
    if (u.is(Op::MUL)) return checked_mul(a, b);
    if (b == 0) return std::nullopt;
    return u.is(Op::FLOORMOD) ? floored_remainder(a, b) : floored_quotient(a, b);
  }
  const Op op = u.is(Op::CDIV) ? Op::IDIV : u.is(Op::CMOD) ? Op::MOD : u.op();
  Arg out = exec_alu(graph_, op, dtypes::int64, operands, false);
  return out.is_integral() ? out.as_int().to_int64() : std::nullopt;
}

void TensorFacts::detect_op_forms(const std::vector<UOp>& nodes) {
  for (UOp u : nodes) {
    // EXPAND and REDUCE changed in the same commit
    if (u.is(Op::REDUCE) && u.arg().is_tuple()) expands_front_axes_ = drops_axes(u);
    if (!u.in({Op::BUFFER, Op::PARAM}) || u.arg().kind() != Arg::Kind::Record) continue;
    takes_result_sizes_ = true;  // ParamArg, and sizes in SHRINK and PAD, both exist since 2026-05-28
    // ParamArgs without dtype predate 2026-07-09
    if (field_of_record(u.arg(), "dtype", 1).is_none()) expands_front_axes_ = false;
  }
}

CheckedList<UOp> TensorFacts::index_elements(UOp u) const {
  if (u.in(kVectors)) return {u.src().begin(), u.src().end()};
  CheckedList<UOp> out;
  if (u.is(Op::CONST) && u.dtype().count() > 1 && !u.arg().is_tuple())  // a vector of equal elements
    return CheckedList<UOp>(size_t(count_of_dtype(u.dtype())), graph_.node(Op::CONST, dtypes::index, {}, u.arg()));
  if (!u.arg().is_tuple() || !u.in({Op::CONST, Op::VCONST})) return {u};
  for (Arg a : u.arg().items()) out.push_back(graph_.node(Op::CONST, dtypes::index, {}, a));
  return out;
}

Sizes TensorFacts::integer_values(UOp u) const {
  Sizes out;
  for (UOp part : index_elements(u))
    if (auto n = integer_value(part)) out.push_back(*n);
    else throw Refusal{"a size of it is not known"};
  return out;
}

// The bounds of a SHRINK and the amounts of a PAD may depend on the device's number, but the size of the result does
// not.
Sizes TensorFacts::numbers_on_first_device(UOp u) const {
  assumed_device_number_ = 0;
  const Sizes out = integer_values(u);
  assumed_device_number_.reset();
  return out;
}

Sizes TensorFacts::reduced_axes(UOp u) const {
  Arg arg = u.arg();
  if (!arg.is_tuple() || arg.items().size() < 2) return {};
  if (arg[1].is_tuple()) return integers(arg[1]);
  Sizes axes;
  const Sizes count = integers(arg[1]);
  if (!count.empty() && count[0] > kMostAxes) throw Refusal{"it has too many axes"};
  for (int64_t axis = 0; !count.empty() && axis < count[0]; axis++) axes.push_back(axis);
  return axes;
}

Op TensorFacts::reduced_op(UOp u) const {
  Arg op = u.arg().is_tuple() && !u.arg().items().empty() ? u.arg()[0] : u.arg();
  if (!op.is_op()) throw Refusal{"its arg " + u.arg().repr() + " is unknown"};
  return op.op();
}

std::optional<Sizes> TensorFacts::make_shape(UOp u) const {
  auto first = [&]() -> const Sizes& { return shape(u.src(0)); };
  switch (u.op()) {
    case Op::SINK: case Op::GROUP: case Op::END: case Op::BARRIER: case Op::CALL: case Op::FUNCTION: case Op::TUPLE:
    case Op::LINEAR: case Op::PROGRAM: case Op::DEVICE: case Op::UNIQUE: case Op::LUNIQUE: case Op::STORE:
    case Op::KERNEL:
      return std::nullopt;
    case Op::CONST: case Op::RANGE: case Op::SPECIAL: case Op::BIND: case Op::DEFINE_VAR: return Sizes{};
    case Op::STACK: case Op::VECTORIZE: {
      if (!u.num_src()) return Sizes{};
      Sizes out = first();
      out.insert(out.begin(), int64_t(u.num_src()));
      return out;
    }
    case Op::BUFFER: case Op::PARAM:
      if (u.dtype().is_ptr()) return Sizes{u.dtype().size()};
      if (!field_of_record(u.arg(), "axis").is_none()) throw Refusal{"it is sharded"};
      if (u.is(Op::BUFFER) && u.arg().is_int()) return Sizes{u.arg().as_int().int64_or_throw("a size")};
      return u.num_src() ? integer_values(u.src(0)) : Sizes{};
    case Op::DEFINE_GLOBAL: return Sizes{u.dtype().size()};
    case Op::RESHAPE: case Op::EXPAND: {
      Sizes out = u.num_src() > 1 ? integer_values(u.src(1)) : integers(u.arg());
      if (u.is(Op::EXPAND) && expands_front_axes()) out.insert(out.end(), first().begin(), first().end());
      if (u.is(Op::RESHAPE) && product(out) != product(first())) throw Refusal{"it changes the number of elements"};
      if (u.is(Op::EXPAND) && !expands_front_axes() && out.size() != first().size())
        throw Refusal{"its shape does not fit"};
      return out;
    }
    case Op::PERMUTE: {
      Sizes out, axes = integers(u.arg());
      if (axes.size() != first().size()) throw Refusal{"its arg does not fit"};
      for (int64_t axis : axes) {
        if (axis < 0 || axis >= int64_t(axes.size())) throw Refusal{"its arg does not fit"};
        out.push_back(first()[size_t(axis)]);
      }
      return out;
    }
    case Op::FLIP: return first();
    case Op::PAD: case Op::SHRINK: {
      Sizes out = numbers_on_first_device(u.src(2));
      if (out.size() != first().size()) throw Refusal{"its shape does not fit"};
      if (takes_result_sizes()) return out;
      const Sizes begin = numbers_on_first_device(u.src(1));
      for (size_t axis = 0; axis < out.size(); axis++)
        out[axis] = u.is(Op::PAD) ? checked_add(out[axis], checked_add(begin[axis], first()[axis]))
                                  : checked_sub(out[axis], begin[axis]);
      return out;
    }
    case Op::REDUCE: case Op::REDUCE_AXIS: {
      Sizes out = first();
      const auto axes = reduced_axes(u);
      for (int64_t axis : axes)
        if (axis < 0 || axis >= int64_t(out.size())) throw Refusal{"it reduces an axis that its source lacks"};
      if (drops_axes(u)) {
        out.drop_first_items(axes.size());
        return out;
      }
      for (int64_t axis : axes) out[size_t(axis)] = 1;
      return out;
    }
    case Op::UNSHARD: case Op::MULTI: {
      if (!u.num_src()) return std::nullopt;
      Sizes out = first(), axes = integers(u.arg());
      if (axes.size() != 1) throw Refusal{"it is sharded over several axes"};
      if (axes[0] < 0 || axes[0] >= int64_t(out.size())) throw Refusal{"it is sharded over an axis that it lacks"};
      out[size_t(axes[0])] = checked_mul(out[size_t(axes[0])], num_devices(u.src(0)));
      return out;
    }
    case Op::INDEX: {
      Sizes out;
      for (UOp s : sources_from(u, 1)) out.append(shape(s));
      if (u.num_src() - 1 > first().size()) throw Refusal{"it has more indices than its source has axes"};
      out.append(first().subrange(u.num_src() - 1, first().size() - (u.num_src() - 1)));
      return out;
    }
    case Op::STAGE: case Op::BUFFERIZE: {
      Sizes out;
      for (UOp s : sources_from(u, 1))
        if (auto size = s.is(Op::RANGE) ? integer_value(s.src(0)) : std::nullopt) out.push_back(*size);
        else if (integer_value(s)) out.push_back(1);
        else throw Refusal{"its range " + std::string(printed_op_name(s)) + " has no size"};
      out.insert(out.end(), first().begin(), first().end());
      return out;
    }
    case Op::BITCAST: {
      Sizes out = first();
      const int64_t from = u.src(0).dtype().itemsize(), to = u.dtype().itemsize();
      if (from == to || out.empty()) return out;
      if (to == 0 || checked_mul(out.back(), from) % to) throw Refusal{"it is a bitcast to a dtype of another size"};
      out.back() = out.back() * from / to;
      return out;
    }
    case Op::NOOP:
      if (!u.num_src()) return std::nullopt;
      return first();
    case Op::MSTACK: case Op::MSELECT: case Op::DETACH: case Op::CONTIGUOUS: case Op::CONTIGUOUS_BACKWARD:
    case Op::AFTER: case Op::ASSIGN: case Op::COPY: case Op::ALLREDUCE: case Op::LOAD: case Op::CAST:
      if (!has_shape(u.src(0))) return std::nullopt;
      return first();
    default: break;
  }
  if (!u.in(ops::ALU | OpSet{Op::FLOORDIV, Op::FLOORMOD, Op::CDIV, Op::CMOD, Op::RECIP})) return std::nullopt;
  Sizes out;
  for (UOp s : u.src()) out = broadcast_shape(out, shape(s));
  return out;
}

int64_t TensorFacts::count_devices(UOp u) const {
  int64_t most = 1;
  for (UOp s : data_sources(u)) most = std::max(most, num_devices(s));
  switch (u.op()) {
    case Op::PARAM: case Op::BUFFER:
      if (u.num_src() > 1 && u.src(1).is(Op::DEVICE)) return num_devices_of_arg(u.src(1).arg());
      return num_devices_of_arg(field_of_record(u.arg(), "device"));
    case Op::RANGE:
      if (is_device_axis(u)) return std::max<int64_t>(integer_value(u.src(0)).value_or(1), 1);
      return most;
    case Op::DEFINE_VAR: return is_device_number(u) ? checked_integer(tuple_item(u.arg(), 2)) + 1 : 1;
    case Op::MSTACK: return int64_t(u.num_src());
    case Op::UNSHARD: case Op::MULTI: case Op::MSELECT: case Op::ALLREDUCE: case Op::DEVICE: return 1;
    case Op::COPY:
      return u.arg().is_tuple() || (u.num_src() > 1 && u.src(1).arg().is_tuple()) ? num_devices(u.src(0)) : 1;
    case Op::AFTER: return num_devices(u.src(0));
    default: return most;
  }
}

void TensorFacts::check_size(const NodeFacts& facts) const {
  if (facts.num_devices > kMostDevices) throw Refusal{"it is on too many devices"};
  if (!facts.shape) return;
  if (facts.shape->size() > kMostAxes) throw Refusal{"it has too many axes"};
  checked_mul(product(*facts.shape), facts.num_devices);
}

void TensorFacts::add_node(UOp u) {
  if (facts_.contains(u)) return;
  if (u.num_src() < min_num_sources(u.op())) throw Refusal{"it has " + count_text(u.num_src(), "source")};
  NodeFacts f;
  f.reads_memory = is_memory(u);
  for (UOp s : u.is(Op::AFTER) ? u.src().first(1) : data_sources(u)) {
    f.reads_memory |= facts_of_node(s).reads_memory;
    for (UOp r : facts_of_node(s).loops)
      if (!std::ranges::count(f.loops, r)) f.loops.push_back(r);
  }
  if (u.is(Op::RANGE) && !is_device_axis(u)) f.loops.push_back(u);
  if (u.in(kStages | OpSet{Op::REDUCE, Op::END}))
    std::erase_if(f.loops, [&](UOp r) { return std::ranges::count(sources_from(u, 1), r) > 0; });
  f.num_devices = count_devices(u);
  f.shape = make_shape(u);
  check_size(f);
  facts_.emplace(u, std::move(f));
}

}  // namespace tgc::import
