// Builds small kernels and prints their axes, addresses and opts, for the *_test.cpp files of this folder.
#pragma once
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "lib/uop/render.h"
#include "passes/kernel/optimizer/scheduler.h"

namespace tgc {

struct TestKernelMaker {
  explicit TestKernelMaker(std::string_view target_text, const Settings& settings = {})
      : graph(settings), target(*parse_target(target_text, settings)) {}

  UOp buffer(int64_t number, DType dtype, int64_t size = 65536) {
    return graph.node(Op::DEFINE_GLOBAL, dtype.ptr(size), {}, number);
  }
  UOp loop(Const end, int64_t axis) { return graph.range(end, axis, AxisType::LOOP); }
  UOp reduce(Const end, int64_t axis) { return graph.range(end, axis, AxisType::REDUCE); }
  UOp kernel(UOp at, UOp value, UOpSpan ranges) {
    return graph.sink({buffer(0, value.dtype()).index_ptr(at).store(value).end(ranges)});
  }

  // data0[r0] = data1[r0] + 1
  UOp elementwise(int64_t size) {
    UOp r = loop(size, 0);
    return kernel(r, buffer(1, dtypes::float32).index(r) + 1.0, {r});
  }
  // data0[r0*cols + r1] = data1[r0*cols + r1] * data2[r1]
  UOp scale_columns(int64_t rows, int64_t cols) {
    UOp i = loop(rows, 0), j = loop(cols, 1), at = i * cols + j;
    return kernel(at, buffer(1, dtypes::float32).index(at) * buffer(2, dtypes::float32).index(j), {i, j});
  }
  // data0[r0] = sum (or other reduction) over r1 of data1[r0*inner + r1]
  UOp row_sums(int64_t rows, int64_t inner, Op op = Op::ADD) {
    UOp i = loop(rows, 0), k = reduce(inner, 1);
    return kernel(i, buffer(1, dtypes::float32).index(i * inner + k).reduce({k}, op), {i});
  }
  // data0[r0*n + r1] = sum over r2 of data1[r0*k + r2] * data2[r2*n + r1], m x k times k x n
  UOp matmul(int64_t m, int64_t n, int64_t k, DType in = dtypes::float16, DType out = dtypes::float32) {
    UOp i = loop(m, 0), j = loop(n, 1), r = reduce(k, 2);
    UOp product = buffer(1, in).index(i * k + r) * buffer(2, in).index(r * n + j);
    UOp sum = (in == out ? product : product.cast(out)).reduce({r}, Op::ADD);
    return kernel(i * n + j, sum, {i, j});
  }

  Graph graph;
  Target target;
};

// Formats the axes and their sizes: "g0=16 l0=4 R0=64".
inline std::string axes_text(const Scheduler& k) {
  std::string out;
  auto names = k.shape_str();
  for (size_t i = 0; i < names.size(); i++)
    out += (i ? " " : "") + tc_axes_text(std::span(names).subspan(i, 1)) + "=" + k.full_shape()[i].str();
  return out;
}

// Formats the address of each access in the order of bufs(), which begins with the last access of the graph. A range
// prints as "r" and its id.
inline std::string addresses_text(const Scheduler& k) {
  std::string out;
  for (UOp b : k.bufs()) out += (out.empty() ? "" : ", ") + render(b.src(1), false);
  return out;
}

// Formats opts: "UPCAST(0,4) LOCAL(0,8)".
inline std::string opts_text(const std::vector<Opt>& opts) {
  std::string out;
  for (const Opt& o : opts) {
    out += (out.empty() ? "" : " ") + std::string(name_of(o.op));
    if (o.axis) out += "(" + std::to_string(*o.axis) + "," + o.arg.repr() + ")";
  }
  return out;
}

}  // namespace tgc
