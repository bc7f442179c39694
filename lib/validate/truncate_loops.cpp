#include "lib/validate/truncate_loops.h"

#include <algorithm>
#include <cstring>

#include "lib/execute/execution.h"
#include "lib/rewrite/rewrite.h"
#include "lib/uop/facts.h"
#include "lib/uop/graph.h"
#include "lib/validate/reference_sample.h"

namespace tgc {
namespace {

bool is_truncatable_range(UOp range) {
  AxisType type = range.arg().items().back().axis_type();
  return constant_size_of(range) && (type == AxisType::GLOBAL || type == AxisType::LOOP || type == AxisType::THREAD);
}

// Returns the loops that may be shortened: those around stores, those without an END, and workgroups.
std::vector<UOp> truncatable_loops(UOp root) {
  std::vector<UOp> out;
  auto add = [&](UOp u) {
    if (std::ranges::find(out, u) == out.end()) out.push_back(u);
  };
  for (UOp r : ranges_of(root))
    if (r.is(Op::RANGE) && is_truncatable_range(r)) add(r);
  for (UOp u : toposort(root)) {
    if (u.is(Op::END))
      for (UOp r : u.src().subspan(1))
        if (r.is(Op::RANGE) && is_truncatable_range(r)) add(r);
    if (u.is(Op::SPECIAL) && u.arg().text().starts_with("g") && constant_size_of(u)) add(u);
  }
  return out;
}

// Returns `root` with the loops shortened to `sizes` iterations that begin at `starts` (empty: at 0).
UOp shorten_loops(UOp root, const std::vector<UOp>& loops, const std::vector<int64_t>& sizes,
                  const std::vector<int64_t>& starts = {}) {
  Substitution shorter;
  for (size_t i = 0; i < loops.size(); i++) {
    std::vector<UOp> src(loops[i].src().begin(), loops[i].src().end());
    src[0] = src[0].const_like(Const(sizes[i]));
    const UOp loop = loops[i].with_src(src);
    shorter.emplace_back(loops[i], starts.empty() || !starts[i] ? loop : loop + Const(starts[i]));
  }
  return substitute(root, shorter);
}

// Returns the indices of the elements that are equal, byte by byte, in both arrays.
std::vector<int64_t> equal_element_indices(const Array& a, const Array& b) {
  std::vector<int64_t> out;
  auto item = size_t(a.dtype().itemsize());
  for (int64_t i = 0; i < a.size(); i++)
    if (std::memcmp(a.data() + size_t(i) * item, b.data() + size_t(i) * item, item) == 0) out.push_back(i);
  return out;
}

// Divides `all` into at most `most` parts and returns one number of each, at irregular distances: regular ones may miss
// all wrong elements of a kernel that is wrong at every n-th element.
std::vector<int64_t> pick_samples(const std::vector<int64_t>& all, size_t most) {
  std::vector<int64_t> out;
  const size_t n = std::min(all.size(), most);
  for (size_t i = 0; i < n; i++) {
    const size_t begin = i * all.size() / n, end = (i + 1) * all.size() / n;
    out.push_back(all[begin + (uint32_t(i) * 2654435761u >> 8) % (end - begin)]);
  }
  return out;
}

}  // namespace

UOp truncate_loops(Graph& into, UOp root, double work, bool at_end) {
  UOp whole = copy_into(into, root);
  std::vector<UOp> loops = truncatable_loops(whole);
  std::vector<int64_t> sizes(loops.size(), 1), full;
  for (UOp l : loops) full.push_back(constant_size_of(l).arg().to_const().to_int().low_64_bits());
  UOp out = shorten_loops(whole, loops, sizes);
  if (work_of(out) > work) throw Failure("even one turn of its outermost loops is too large for REF");
  for (bool grows = true; grows;) {
    grows = false;
    for (size_t i = 0; i < loops.size(); i++) {
      if (sizes[i] == full[i]) continue;
      std::vector<int64_t> more = sizes;
      more[i] = std::min(2 * sizes[i], full[i]);
      UOp longer = shorten_loops(whole, loops, more);
      if (work_of(longer) > work) continue;
      sizes = more, out = longer, grows = true;
    }
  }
  if (!at_end) return out;
  std::vector<int64_t> starts;
  for (size_t i = 0; i < loops.size(); i++) starts.push_back(full[i] - sizes[i]);
  return shorten_loops(whole, loops, sizes, starts);
}

Result<StoredSample> sample_stores_in_ref(UOp root, const Arrays& inputs, const VariableValues& variables, size_t most,
                                          bool in_process) {
  return catch_failures([&] {
    std::vector<UOp> nodes = toposort(root);
    RefProgram program = std::move(RefProgram::make_from_graph(root).value_or_throw());
    StoredSample out;
    Arrays other;
    // Run twice, with output arrays of all 0 bits, then all 1 bits. The elements that are equal in both were stored.
    for (uint8_t fill : {0x00, 0xff}) {
      std::vector<RefBuffer> buffers;
      Arrays& made = fill ? other : out.values;
      for (const BufferSpec& b : buffers_of_nodes(nodes)) {
        const Array* given = find_array(inputs, b.name());
        if (!given) throw Failure("there is no " + b.name());
        if (b.is_written && b.is_read) throw Failure("the kernel reads what it stores to");
        uint8_t* data = const_cast<uint8_t*>(given->data());  // REF does not write to a buffer that is only read
        if (b.is_written) {
          made.push_back({b.name(), Array::allocate_shared(given->dtype(), {given->size()})});
          data = made.back().array.data();
          std::memset(data, fill, given->nbytes());
        }
        buffers.push_back({b.argument_number, data, given->nbytes()});
      }
      if (in_process)
        out.has_overlaps |= program.run(buffers, variables).value_or_throw().notes.num_conflicting_stores > 0;
      else run_in_worker(program, buffers, variables).value_or_throw();
    }
    for (size_t i = 0; i < other.size(); i++) {
      std::vector<int64_t> places = pick_samples(equal_element_indices(out.values[i].array, other[i].array), most);
      if (places.empty()) throw Failure("the kernel stores nothing to " + other[i].name);
      out.values[i].array = elements_at(out.values[i].array, places);
      out.flat_indices[other[i].name] = std::move(places);
    }
    return out;
  });
}

}  // namespace tgc
