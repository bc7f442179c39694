// tgc_layout_bench INPUT, for scripts/bench: measures the layout of `tgc view` for each graph of INPUT, without
// constants and some other ops that have no boxes. Prints the number of nodes, edges and rows, and the milliseconds of
// the fastest of 20 layouts.
#include <chrono>
#include <cmath>
#include <cstdio>

#include "lib/driver/source.h"
#include "lib/view/layout_core.h"

using namespace tgc;

namespace {

Status lay_out(const InputGraph& in) {
  std::vector<int32_t> first{0}, source;
  UOpMap<int32_t> number(*in.graph);
  for (UOp u : toposort(in.root)) {
    if (u.in({Op::CONST, Op::VCONST, Op::DEVICE, Op::UNIQUE, Op::LUNIQUE})) continue;
    for (UOp s : u.src())
      if (const int32_t* n = number.find(s)) source.push_back(*n);
    number[u] = int32_t(first.size()) - 1;
    first.push_back(int32_t(source.size()));
  }
  size_t nodes = first.size() - 1;
  std::vector<float> size(nodes, 176), want(nodes, NAN), at(nodes), chain_slots(nodes * 3);
  std::vector<int32_t> want_row(nodes, -1), row(nodes), chain_first(nodes + 1);
  std::vector<uint8_t> stub(source.size() + 1);
  LayoutInput input{int32_t(nodes), first.data(), source.data(), size.data(), want.data(), want_row.data(), 4, 18};
  double best = 1e9;
  for (int i = 0; i < 20; i++) {
    auto begun = std::chrono::steady_clock::now();
    std::vector<char> workspace(layout_workspace_bytes(input));
    layout_graph(input, {at.data(), row.data(), stub.data(), chain_first.data(), chain_slots.data()}, workspace.data());
    std::chrono::duration<double, std::milli> ms = std::chrono::steady_clock::now() - begun;
    best = std::min(best, ms.count());
  }
  int32_t rows = 0;
  for (int32_t r : row) rows = std::max(rows, r + 1);
  std::printf("%zu nodes, %zu edges, %d rows: %.2f ms\n", nodes, source.size(), rows, best);
  return Unit{};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: tgc_layout_bench INPUT\n"), 2;
  Session session;
  auto status = for_each_graph(session, argv[1], "", [](InputGraph in) { return lay_out(in); });
  if (!status) return std::fprintf(stderr, "%s\n", status.diag().text().c_str()), 2;
  return 0;
}
