#include "passes/program.h"

#include <algorithm>
#include <map>

#include "lib/rewrite/rewrite.h"
#include "lib/support/pysort.h"
#include "lib/support/pytext.h"
#include "lib/uop/graph.h"

namespace tgc {
namespace {

// Adds `root` and its transitive sources to `seen`. Skips nodes for which `gate` is false, and does not visit the
// sources of these nodes.
template <class Gate>
void mark_reachable(UOp root, UOpSet& seen, Gate gate) {
  std::vector<UOp> stack{root};
  while (!stack.empty()) {
    UOp u = stack.back();
    stack.pop_back();
    if (!gate(u) || !seen.insert(u)) continue;
    stack.insert(stack.end(), u.src().begin(), u.src().end());
  }
}

class IndexingNodes {
 public:
  explicit IndexingNodes(std::span<const UOp> list)
      : address_nodes_(list.front().graph()), gate_nodes_(list.front().graph()) {
    auto no_range = [](UOp u) { return !u.is(Op::RANGE); };
    auto any = [](UOp) { return true; };
    for (UOp u : list) {
      if (u.in({Op::LOAD, Op::STORE})) {
        UOp address = u.src(0);
        // skip the buffer of an INDEX, because it may be an AFTER, whose other sources are not address arithmetic
        if (!address.is(Op::INDEX)) mark_reachable(address, address_nodes_, no_range);
        else for (UOp s : address.src().subspan(1)) mark_reachable(s, address_nodes_, no_range);
        if (u.num_src() > 2) mark_reachable(u.src(2), gate_nodes_, any);
      } else if (u.is(Op::IF)) {
        mark_reachable(u.src(0), gate_nodes_, any);
      }
    }
  }
  bool contains(UOp u) const { return address_nodes_.contains(u) || gate_nodes_.contains(u); }

 private:
  UOpSet address_nodes_, gate_nodes_;
};

Sint simplify_to_sint(UOp u) { return Sint(u.ssimplify()); }

// Replaces the SPECIALs in a run count by 0. They come from sizes of RANGEs; the SPECIALs' own sizes count the threads.
Sint without_specials(Sint s) {
  if (s.is_int()) return s;
  Substitution zeros;
  for (UOp u : toposort(s.uop()))
    if (u.is(Op::SPECIAL)) zeros.emplace_back(u, u.const_like(0));
  return zeros.empty() ? s : Sint(substitute(s.uop(), zeros));
}

bool is_register_access(UOp u) { return u.src(0).dtype().is_ptr() && u.src(0).dtype().addrspace() == AddrSpace::REG; }

// Returns the number of operations of a WMMA per thread; each multiply-add counts as two.
Sint num_wmma_ops(UOp u) {
  Int size = 1;
  for (Arg dim : u.arg()[1].items()) size *= dim.as_int();
  return floor_div(Int(2) * size, u.arg()[5].as_int());
}

}  // namespace

Estimates estimate_kernel(std::span<const UOp> list, bool ignore_indexing) {
  Estimates out{0, 0, 0};
  if (list.empty()) return out;
  std::optional<IndexingNodes> indexing;
  if (ignore_indexing) indexing.emplace(list);
  auto counts = [&](UOp u) { return !indexing || !indexing->contains(u); };
  std::map<std::pair<uint32_t, Op>, Int> touched;  // size in bytes of each buffer, by (buffer id, LOAD or STORE)
  Sint times = 1;                                  // how often the current node runs in one launch
  std::vector<Sint> outer;
  for (UOp u : list) {
    if (u.in({Op::LOAD, Op::STORE})) {
      UOp buffer = u;
      while (buffer.num_src()) buffer = buffer.src(0);
      if (buffer.is(Op::DEFINE_GLOBAL))
        touched[{buffer.id(), u.op()}] = Int(buffer.dtype().size()) * Int(buffer.dtype().itemsize());
    }
    if (u.is(Op::RANGE)) {
      outer.push_back(times);
      times = without_specials(times * simplify_to_sint(u.src(0)));
    } else if (u.is(Op::END)) {
      if (outer.empty()) throw Failure("an END without a RANGE before it");
      times = outer.back();
      outer.pop_back();
    } else if (u.is(Op::SPECIAL)) {
      times = times * simplify_to_sint(u.src(0));
    } else if (u.is(Op::LOAD) && !is_register_access(u)) {
      out.lds = out.lds + Sint(u.dtype().itemsize()) * times;
    } else if (u.is(Op::STORE) && !is_register_access(u)) {
      out.lds = out.lds + Sint(u.src(1).dtype().itemsize()) * times;
    } else if (u.in(ops::ALU) && counts(u)) {
      out.ops = out.ops + times * Sint(u.is(Op::MULACC) ? 2 : 1) * Sint(u.dtype().count());
    } else if (u.is(Op::WMMA) && counts(u)) {
      out.ops = out.ops + num_wmma_ops(u) * times;
    }
  }
  for (auto& [buffer, bytes] : touched) out.mem = out.mem + Sint(bytes);
  return out;
}

namespace {

std::optional<int64_t> parameter_number_of(UOp access) {
  UOp index = access.src(0);
  if (index.is(Op::CAST)) index = index.src(0);
  if (!index.is(Op::INDEX) || !index.src(0).is(Op::DEFINE_GLOBAL)) return std::nullopt;
  return index.src(0).arg().small_int();
}

void sort_and_deduplicate(std::vector<int64_t>& numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
}

// Sets the size of a launch dimension: gidx0 to gidx2 are numbers of groups, lidx0 to lidx2 threads per group, and idx0
// to idx2 numbers of threads of a kernel without a local size.
void set_launch_dimension(ProgramInfo& info, UOp special) {
  std::string_view name = special.arg().text();
  if (name.empty() || name.back() < '0' || name.back() > '2')
    throw Failure("the launch dimension '" + std::string(name) + "' does not end with 0, 1 or 2");
  size_t i = size_t(name.back() - '0');
  if (name[0] == 'i') info.local_size.reset();
  if (name[0] != 'l') info.global_size[i] = simplify_to_sint(special.src(0));
  else if (info.local_size) (*info.local_size)[i] = simplify_to_sint(special.src(0));
}

ProgramInfo collect_program_info(std::span<const UOp> list) {
  if (list.empty() || !list.back().is(Op::SINK)) throw Failure("a linear list must end with a SINK");
  ProgramInfo info;
  UOp sink = list.back();
  if (sink.arg().is(RecordClass::KernelInfo)) {
    auto fields = fields_of(RecordClass::KernelInfo);
    info.name = sink.arg()[0].text();
    info.applied_opts = sink.arg()[size_t(std::find(fields.begin(), fields.end(), "applied_opts") - fields.begin())];
  }
  info.function_name = to_function_name(info.name);
  for (UOp u : list) switch (u.op()) {
      case Op::DEFINE_VAR: info.vars.push_back(u); break;
      case Op::DEFINE_GLOBAL: info.globals.push_back(u.arg().small_int()); break;
      case Op::LOAD:
      case Op::STORE:
        if (auto buffer = parameter_number_of(u)) (u.is(Op::STORE) ? info.outs : info.ins).push_back(*buffer);
        break;
      case Op::SPECIAL: set_launch_dimension(info, u); break;
      default: break;
    }
  py_sort(info.vars, [](UOp a, UOp b) { return py_compare(a.arg(), b.arg()) == Order::Less; });
  for (auto* numbers : {&info.globals, &info.outs, &info.ins}) sort_and_deduplicate(*numbers);
  info.estimates = estimate_kernel(list, true);
  return info;
}

}  // namespace

Result<ProgramInfo> make_program_info(std::span<const UOp> list) {
  return catch_failures([&] { return collect_program_info(list); });
}

}  // namespace tgc
