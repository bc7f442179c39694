#include "renderers/misprint.h"

#include <algorithm>
#include <unordered_map>

#include "lib/uop/graph.h"

namespace tgc {
namespace {

bool have_same_dtype(UOp u, size_t i, size_t k) { return u.src(i).dtype() == u.src(k).dtype() && !u.dtype().is_ptr(); }

UOp make_wrong_node(UOp u) {
  std::vector<UOp> src(u.src().begin(), u.src().end());
  if (u.is(Op::CONST)) return change_value(u).simplify();
  if (u.in({Op::VECTORIZE, Op::MULACC}) || u.in(ops::Binary)) {
    if (src.size() < 2 || !have_same_dtype(u, 0, 1)) return {};
    if (u.in(ops::Commutative)) src[1] = src[0];
    else std::swap(src[0], src[1]);
  } else if (u.is(Op::WHERE)) {
    std::swap(src[1], src[2]);
  } else if (u.in(ops::Unary)) {
    return u.src(0).dtype() == u.dtype() ? u.src(0).alu(Op::ADD, u.src(0)) : UOp();
  } else {
    return {};
  }
  return u.with_src(src);
}

// Returns the node that the renderer prints wrongly because of `fault`, and the node to print in its place; empty UOps
// if there is none.
std::pair<UOp, UOp> find_misprint(const FaultSpec& fault, const Target& target, std::span<const UOp> list) {
  record_requested_fault(fault);
  std::string_view op = fault.rule;
  if (size_t dot = op.find('.'); dot != op.npos) {
    if (op.substr(0, dot) != name_of(target.renderer)) return {};
    op.remove_prefix(dot + 1);
  }
  uint64_t number = 0;
  for (UOp u : list) {
    if (name_of(u.op()) != op || !u.tag().is_none() || ++number != fault.application_number) continue;
    UOp made = make_wrong_node(u);
    if (!made || made == u) return {};
    record_seeded_fault(fault);
    return {u, made.rtag()};  // the tag distinguishes the new node from an equal node of the list
  }
  return {};
}

}  // namespace

Result<std::optional<std::vector<UOp>>> list_with_faults(const Target& target, std::span<const UOp> list) {
  auto faults = fault_of_environment(FaultSpec::Kind::Renderer);
  if (!faults) return faults.diag();
  std::optional<std::vector<UOp>> out;
  if (!*faults) return out;
  return catch_failures([&] {
    std::unordered_map<UOp, UOp> instead;
    auto add = [&](const FaultSpec& fault) {
      if (auto [node, made] = find_misprint(fault, target, list); node) instead[node] = made;
    };
    add(**faults);
    for (const FaultSpec& other : (*faults)->other_faults) add(other);
    if (instead.empty()) return out;
    out.emplace();
    for (UOp u : list) {
      UOp same = instead.contains(u) ? instead[u] : u;
      std::vector<UOp> src;
      for (UOp s : same.src()) src.push_back(instead.contains(s) ? instead[s] : s);
      if (!std::ranges::equal(src, same.src())) same = same.with_src(src);
      if (!(same == u)) instead[u] = same;
      out->push_back(same);
    }
    return out;
  });
}

}  // namespace tgc
