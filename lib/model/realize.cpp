#include "lib/model/realize.h"

#include <algorithm>
#include <cstring>

#include "lib/support/result.h"
#include "lib/uop/facts.h"

namespace tgc {
namespace {

Array filled_array(DType dtype, const Ints& shape, Const value) {
  Array out(dtype, shape);
  Const v = truncate(value, dtype);
  auto fill = [&]<class T>(T x) { std::fill(out.as<T>().begin(), out.as<T>().end(), x); };
  switch (dtype.scalar_kind()) {
    case Scalar::Float64: fill(v.to_double()); break;
    case Scalar::Float32: fill(float(v.to_double())); break;
    case Scalar::Float16: fill(float_to_half_bits(v.to_double())); break;
    case Scalar::BFloat16: fill(float_to_bf16_bits(float(v.to_double()))); break;
    default: {
      auto bits = uint64_t(v.to_int().small_value());
      if (!v.to_int().is_small()) bits = uint64_t((v.to_int() - Int(INT64_MAX)).small_value()) + uint64_t(INT64_MAX);
      for (size_t i = 0; i < out.nbytes(); i++) out.data()[i] = uint8_t(bits >> 8 * (i % size_t(dtype.itemsize())));
    }
  }
  return out;
}

struct PartlyRealized {
  std::vector<Array> values;  // an empty Array if the value is not available
  std::vector<UOp> graphs;
  std::vector<size_t> tensor_indices;  // for each of `graphs`, the index of its tensor
};

PartlyRealized split_plain_values(std::span<const Tensor> tensors) {
  PartlyRealized out{.values = std::vector<Array>(tensors.size())};
  for (size_t i = 0; i < tensors.size(); i++) {
    if (auto plain = find_available_value(tensors[i])) {
      out.values[i] = std::move(*plain);
    } else {
      out.graphs.push_back(tensors[i].contiguous().uop());
      out.tensor_indices.push_back(i);
    }
  }
  return out;
}

}  // namespace

std::optional<Array> find_available_value(const Tensor& t) {
  UOp u = t.uop();
  bool reshaped_only = true;
  while (u.is(Op::RESHAPE) || u.is(Op::EXPAND) || u.is(Op::CONTIGUOUS)) {
    reshaped_only &= !u.is(Op::EXPAND);
    u = u.src(0);
  }
  Ints shape = t.shape();
  if (product(shape) == 0) return Array(t.dtype(), shape);
  if (u.is_const()) return filled_array(t.dtype(), shape, u.arg().to_const());
  if (u.is(Op::BUFFER) && reshaped_only) {
    auto& data = shared_tensor_state(t.graph()).buffer_data;
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
  auto& data = shared_tensor_state(graph).buffer_data;
  for (UOp u : toposort(graph.sink(src)))
    if (u.is(Op::BUFFER) && !data.contains(u) && size_of(u) != Int(0)) out.push_back(u);
  return out;
}

ScheduleResult realize(std::span<const Tensor> tensors, ScheduleRunner& runner, const ScheduleOptions& options) {
  PartlyRealized parts = split_plain_values(tensors);
  ScheduleResult out;
  if (!parts.graphs.empty()) {
    Graph& graph = parts.graphs[0].graph();
    Schedule schedule = std::move(runner.schedule(graph.sink(parts.graphs)).value_or_throw());
    std::vector<OutputRequest> wanted;
    for (size_t i = 0; i < parts.graphs.size(); i++) {
      const Tensor& t = tensors[parts.tensor_indices[i]];
      if (schedule.output_buffers[i].empty()) throw Failure("no kernel computes a requested tensor");
      wanted.push_back({schedule.output_buffers[i][0], t.dtype(), t.shape()});
    }
    out = std::move(
        runner.run_schedule(schedule, shared_tensor_state(graph).buffer_data, wanted, options).value_or_throw());
  }
  for (size_t i = 0; i < out.values.size(); i++) parts.values[parts.tensor_indices[i]] = std::move(out.values[i]);
  out.values = std::move(parts.values);
  return out;
}

std::vector<Array> realize(std::span<const Tensor> tensors) {
  Placement ref = make_ref_placement();
  ScheduleRunner runner(ref);
  return realize(tensors, runner).values;
}

}  // namespace tgc
