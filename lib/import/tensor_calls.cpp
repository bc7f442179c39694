#include <algorithm>

#include "lib/import/tensor_lowering.h"
#include "lib/support/deadline.h"
#include "lib/uop/graph.h"
#include "lib/uop/uop.h"

namespace tgc::import {

namespace {

std::vector<size_t> stored_slots(UOp ast) {
  std::vector<size_t> out;
  for (UOp u : toposort(ast)) {
    if (!u.is(Op::STORE) && !is_atomic_add(u)) continue;
    UOp target = u.src(0);
    while (!target.is(Op::DEFINE_GLOBAL) && target.num_src()) target = target.src(0);
    const size_t number = target.is(Op::DEFINE_GLOBAL) ? size_t(checked_slot(target.arg())) : SIZE_MAX;
    if (number != SIZE_MAX && !std::ranges::count(out, number)) out.push_back(number);
  }
  return out;
}

UOp skip_shard_ops(UOp argument) {
  constexpr OpSet kSameParts{Op::UNSHARD, Op::MULTI, Op::AFTER, Op::RESHAPE, Op::CONTIGUOUS, Op::NOOP, Op::BITCAST};
  while (argument.in(kSameParts) && argument.num_src()) argument = argument.src(0);
  return argument;
}

}  // namespace

size_t TensorLowering::part_of_memory(size_t memory, int64_t number, int64_t parts) {
  if (parts == 1) return memory;
  const TensorMemory whole = program_.memories[memory];
  const size_t view = new_memory(whole.dtype, whole.num_elements / parts, 1);
  program_.memories[view].view_of = whole.view_of ? whole.view_of : memory;
  const int64_t begin = checked_mul(checked_mul(number, whole.num_elements / parts), whole.dtype.itemsize());
  program_.memories[view].view_offset = checked_add(whole.view_offset, begin);
  return view;
}

TensorLowering::CallArgument TensorLowering::call_argument(UOp u, int64_t device, int64_t devices) {
  switch (u.op()) {
    case Op::RESHAPE: case Op::CONTIGUOUS: case Op::NOOP: return call_argument(u.src(0), device, devices);
    case Op::BITCAST: {
      CallArgument whole = call_argument(u.src(0), device, devices);
      return {array_as_dtype(whole.memory, u.dtype().base()), whole.buffer};
    }
    case Op::MSTACK: return call_argument(u.src(size_t(device)), 0, 1);
    case Op::MSELECT: {
      const int64_t parts = facts_.num_devices(u.src(0));
      return call_argument(u.src(0), int64_t(axis(checked_integer(u.arg()), size_t(parts))), parts);
    }
    case Op::SHRINK: {
      if (facts_.shape(u.src(0)).size() != 1) break;
      auto offset = facts_.integer_value(facts_.index_offsets(u).at(0));
      if (!offset) break;
      CallArgument whole = call_argument(u.src(0), device, devices);
      const TensorMemory m = program_.memories[whole.memory];
      const size_t view = new_memory(m.dtype, facts_.shape(u)[0], 1);
      program_.memories[view].view_of = m.view_of ? m.view_of : whole.memory;
      program_.memories[view].view_offset = checked_add(m.view_offset, checked_mul(*offset, m.dtype.itemsize()));
      return {view, whole.buffer};
    }
    default:
      if (is_memory(u) || (u.is(Op::AFTER) && is_memory(view_base(u)))) {
        const size_t memory = version_of_target(u);
        const int64_t parts = program_.memories[memory].num_devices;
        if (parts > 1 && parts != devices) throw Refusal{"its buffers are on different devices"};
        return {part_of_memory(memory, device, parts), view_base(u)};
      }
      break;
  }
  if (u.in({Op::UNSHARD, Op::MULTI})) return call_argument(u.src(0), device, devices);  // the device's own part
  if (!facts_.has_shape(u) || !facts_.loops_of_node(u).empty() ||
      (facts_.num_devices(u) > 1 && facts_.num_devices(u) != devices))
    throw Refusal{"its argument " + std::string(printed_op_name(u)) + " is no buffer"};
  // a value is stored in an array before the call
  return {part_of_memory(array_of_value(u), device, facts_.num_devices(u)), {}};
}

// Returns the array to which a call stores for `to`: the array in `stored`, or a part of it. The array in `stored`
// starts as a copy of `before`, the array with the buffer's content before the call.
size_t TensorLowering::stored_part(StoredArrays& stored, const CallArgument& to, size_t before) {
  if (!to.buffer) throw Refusal{"it stores to a value"};
  auto [it, is_new] = stored.try_emplace(to.buffer);
  if (is_new) {
    const TensorMemory old = program_.memories[before];
    it->second = new_memory(old.dtype, old.num_elements, 1);
    program_.memories[it->second].num_devices = old.num_devices;
    copy_memory(before, it->second);
  }
  const TensorMemory m = program_.memories[to.memory];
  if (!m.view_of) return it->second;
  const size_t view = new_memory(m.dtype, m.num_elements, 1);
  program_.memories[view].view_of = it->second, program_.memories[view].view_offset = m.view_offset;
  return view;
}

// Adds the kernels of `call`, one for each device. Returns the new arrays of the buffers to which it stores. If `only`
// is not empty, `version` is the array with the content of this buffer before the call.
TensorLowering::StoredArrays TensorLowering::run_call(UOp call, UOp only, size_t version) {
  current_node = call;
  throw_if_late();
  Graph own(graph_.settings());
  std::unordered_map<UOp, UOp> numbers;
  UOp body = call.src(0);
  for (UOp u : toposort(body)) {
    if (is_variable(u) || u.is(Op::DEFINE_VAR))
      if (auto n = facts_.integer_value(u)) {
        numbers[u] = graph_.node(Op::CONST, u.dtype(), {}, *n);
        continue;
      }
    std::vector<UOp> src;
    for (UOp s : u.src()) src.push_back(numbers.at(s));
    numbers[u] = std::ranges::equal(src, u.src()) ? u : u.with_src(src);
  }
  body = numbers.at(body);
  std::vector<UOp> arguments;
  int64_t devices = 1;
  for (UOp a : sources_from(call, 1)) {
    if (facts_.integer_value(a)) continue;
    arguments.push_back(a);
    devices = std::max({devices, facts_.num_devices(a), facts_.num_devices(skip_shard_ops(a))});
  }
  auto device_number = [&](int64_t d) { return std::vector<std::pair<std::string, int64_t>>{{"_device_num", d}}; };
  StoredArrays stored;
  auto before = [&](const CallArgument& a, UOp u) { return a.buffer == only ? version : version_of_target(u); };
  if (body.is(Op::COPY)) {
    if (arguments.size() != 2) throw Refusal{"it copies " + std::to_string(arguments.size()) + " arguments"};
    for (int64_t d = 0; d < devices; d++) {
      const CallArgument to = call_argument(arguments[0], d, devices), from = call_argument(arguments[1], d, devices);
      const TensorMemory &x = program_.memories[to.memory], &y = program_.memories[from.memory];
      if (!(x.dtype == y.dtype) || x.num_elements != y.num_elements)
        throw Refusal{"it copies to an array of another size"};
      copy_memory(from.memory, stored_part(stored, to, before(to, arguments[0])));
    }
    return stored;
  }
  NonImportableNode why;
  auto imported = import_graph(copy_into(own, body), {}, graph_.settings(), &why);
  if (!imported) throw Refusal{imported.diag().message + "; its kernel has a record of its own, which can be compared"};
  program_.graphs.push_back(imported->graph);
  const std::vector<size_t> slots = stored_slots(imported->root);
  for (int64_t d = 0; d < devices; d++) {
    TensorKernel kernel{.ast = imported->root, .memories = {}, .variables = {}};
    for (size_t i = 0; i < arguments.size(); i++) {
      CallArgument a = call_argument(arguments[i], d, devices);
      if (std::ranges::count(slots, i)) a.memory = stored_part(stored, a, before(a, arguments[i]));
      kernel.memories.push_back(a.memory);
    }
    if (devices > 1) kernel.variables = device_number(d);
    program_.kernels.push_back(std::move(kernel));
  }
  return stored;
}

void TensorLowering::apply_call(UOp u, UOp buffer, size_t& version) {
  const bool is_argument = std::ranges::any_of(sources_from(u, 1), [&](UOp a) { return view_base(a) == buffer; });
  if (!is_argument) return;
  auto stored = run_call(u, buffer, version);
  if (auto it = stored.find(buffer); it != stored.end()) version = it->second;
}

// The buffers to which the calls in `list` store become outputs.
void TensorLowering::run_calls(UOp list) {
  for (UOp u : list.src()) {
    if (u.is(Op::LINEAR)) {
      run_calls(u);
      continue;
    }
    if (!u.is(Op::CALL)) throw Refusal{"its list has a " + std::string(printed_op_name(u))};
    for (auto& [buffer, memory] : run_call(u, {}, 0)) {
      buffer_memories_[buffer] = memory;
      auto output = std::ranges::find(program_.outputs, buffer, &TensorOutput::buffer);
      if (output != program_.outputs.end()) output->memory_index = memory;
      else program_.outputs.push_back({memory, {program_.memories[memory].num_elements}, buffer});
    }
  }
}

}  // namespace tgc::import
