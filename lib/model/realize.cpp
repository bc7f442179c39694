#include "lib/model/realize.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <unordered_map>

#include "lib/model/tensor_state.h"
#include "lib/runtime/ref/ref.h"
#include "lib/support/check.h"
#include "lib/uop/facts.h"
#include "passes/pipeline.h"

namespace tgc {
namespace {

// An array of one value all over.
Array filled(DType dtype, const Ints& shape, Const value) {
  Array out(dtype, shape);
  Const v = truncate(value, dtype);
  auto fill = [&]<class T>(T x) { std::fill(out.as<T>().begin(), out.as<T>().end(), x); };
  switch (dtype.scalar_kind()) {
    case Scalar::Float64: fill(v.to_double()); break;
    case Scalar::Float32: fill(float(v.to_double())); break;
    case Scalar::Float16: fill(float_to_half_bits(v.to_double())); break;
    case Scalar::BFloat16: fill(float_to_bf16_bits(float(v.to_double()))); break;
    default: {
      auto bits = uint64_t(v.to_int().small());
      if (!v.to_int().is_small()) bits = uint64_t((v.to_int() - Int(INT64_MAX)).small()) + uint64_t(INT64_MAX);
      for (size_t i = 0; i < out.nbytes(); i++) out.data()[i] = uint8_t(bits >> 8 * (i % size_t(dtype.itemsize())));
    }
  }
  return out;
}

// Memory for the buffers of a schedule: what is known, and new memory for the rest.
class Memory {
 public:
  Memory(Graph& graph, const Schedule& schedule) : places_(schedule.buffers.size()) {
    auto& data = tensor_state(graph).data;
    for (size_t i = 0; i < places_.size(); i++) {
      auto& b = schedule.buffers[i];
      if (b.view_of) continue;
      if (auto found = data.find(b.uop); found != data.end()) {
        places_[i] = known(found->second);
      } else {
        if (b.is_input) throw Failure("a buffer has no values");
        owned_.emplace_back(size_t(b.nbytes()));
        places_[i] = owned_.back().data();
      }
    }
    for (size_t i = 0; i < places_.size(); i++)
      if (auto of = schedule.buffers[i].view_of) places_[i] = places_[*of] + schedule.buffers[i].offset;
  }
  uint8_t* at(size_t buffer) const { return places_[buffer]; }

 private:
  // Where they are if elements may lie there, as kernels only read inputs; else in a copy.
  uint8_t* known(const HostData& data) {
    if (reinterpret_cast<uintptr_t>(data.data) % 8 == 0) return const_cast<uint8_t*>(data.data);
    owned_.emplace_back(data.bytes);
    std::memcpy(owned_.back().data(), data.data, data.bytes);
    return owned_.back().data();
  }

  std::vector<uint8_t*> places_;
  std::vector<HostMemory> owned_;
};

void run_item(const Schedule& schedule, const ScheduleItem& item, const Memory& memory, std::unordered_map<UOp, RefProgram>& programs) {
  if (item.ast.is(Op::COPY)) {
    std::memcpy(memory.at(item.buffers[0]), memory.at(item.buffers[1]), size_t(schedule.buffers[item.buffers[0]].nbytes()));
    return;
  }
  if (!item.ast.is(Op::SINK)) return;  // a view
  auto found = programs.find(item.ast);
  if (found == programs.end()) found = programs.emplace(item.ast, std::move(RefProgram::from_graph(item.ast).value_or_throw())).first;
  std::vector<RefBuffer> buffers;
  for (size_t i = 0; i < item.buffers.size(); i++) {
    buffers.push_back({int64_t(i), memory.at(item.buffers[i]), size_t(schedule.buffers[item.buffers[i]].nbytes())});
  }
  std::map<std::string, int64_t> vars(schedule.var_vals.begin(), schedule.var_vals.end());
  for (auto& [name, value] : item.fixed_vars) vars[name] = value;
  found->second.run(buffers, vars).value_or_throw();
}

}  // namespace

std::optional<Array> plain_value(const Tensor& t) {
  UOp u = t.uop();
  bool reshaped_only = true;
  while (u.is(Op::RESHAPE) || u.is(Op::EXPAND) || u.is(Op::CONTIGUOUS)) {
    reshaped_only &= !u.is(Op::EXPAND);
    u = u.src(0);
  }
  Ints shape = t.shape();
  if (product(shape) == 0) return Array(t.dtype(), shape);
  if (u.is_const()) return filled(t.dtype(), shape, u.arg().to_const());
  if (u.is(Op::BUFFER) && reshaped_only) {
    auto& data = tensor_state(t.graph()).data;
    auto found = data.find(u);
    if (found == data.end()) return std::nullopt;
    Array out(t.dtype(), shape);
    TGC_CHECK(found->second.bytes == out.nbytes(), "a buffer's data have its size");
    std::memcpy(out.data(), found->second.data, out.nbytes());
    return out;
  }
  return std::nullopt;
}

std::vector<UOp> unknown_buffers(std::span<const Tensor> tensors) {
  std::vector<UOp> out;
  if (tensors.empty()) return out;
  std::vector<UOp> src;
  for (auto& t : tensors) src.push_back(t.uop());
  Graph& graph = tensors[0].graph();
  auto& data = tensor_state(graph).data;
  for (UOp u : toposort(graph.sink(src)))
    if (u.is(Op::BUFFER) && !data.contains(u) && size_of(u) != Int(0)) out.push_back(u);
  return out;
}

Unrealized split_plain_values(std::span<const Tensor> tensors) {
  Unrealized out{.values = std::vector<Array>(tensors.size())};
  for (size_t i = 0; i < tensors.size(); i++) {
    if (auto plain = plain_value(tensors[i])) {
      out.values[i] = std::move(*plain);
    } else {
      out.graphs.push_back(tensors[i].contiguous().uop());
      out.which.push_back(i);
    }
  }
  return out;
}

std::vector<Array> realize(std::span<const Tensor> tensors) {
  auto [out, wanted, which] = split_plain_values(tensors);
  if (wanted.empty()) return std::move(out);
  Graph& graph = wanted[0].graph();
  TensorJob job(graph);
  Schedule schedule = make_schedule(job, graph.sink(wanted)).value_or_throw();
  Memory memory(graph, schedule);
  std::unordered_map<UOp, RefProgram> programs;
  for (auto& item : schedule.items) run_item(schedule, item, memory, programs);
  for (size_t i = 0; i < wanted.size(); i++) {
    const Tensor& t = tensors[which[i]];
    Array value(t.dtype(), t.shape());
    if (schedule.outputs[i].empty()) throw Failure("a tensor that no kernel makes");
    std::memcpy(value.data(), memory.at(schedule.outputs[i][0]), value.nbytes());
    out[which[i]] = std::move(value);
  }
  return std::move(out);
}

}  // namespace tgc
