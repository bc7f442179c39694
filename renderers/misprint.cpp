#include "renderers/misprint.h"

#include <unordered_map>

#include "lib/uop/graph.h"

namespace tgc {
namespace {

bool are_alike(UOp u, size_t i, size_t k) { return u.src(i).dtype() == u.src(k).dtype() && !u.dtype().is_ptr(); }

// `u` as something else of the same sources; the empty UOp: it cannot be.
UOp another(UOp u) {
  std::vector<UOp> src(u.src().begin(), u.src().end());
  if (u.is(Op::CONST)) return something_else(u).simplify();
  if (u.in({Op::VECTORIZE, Op::MULACC}) || u.in(ops::Binary)) {
    if (src.size() < 2 || !are_alike(u, 0, 1)) return {};
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

}  // namespace

Result<std::optional<std::vector<UOp>>> misprinted(const Target& target, std::span<const UOp> list) {
  auto fault = fault_of_environment(FaultSpec::In::Renderer);
  if (!fault) return fault.diag();
  std::optional<std::vector<UOp>> out;
  if (!*fault) return out;
  std::string_view op = (*fault)->rule;
  if (size_t dot = op.find('.'); dot != op.npos) {
    if (op.substr(0, dot) != name_of(target.renderer)) return out;
    op.remove_prefix(dot + 1);
  }
  return catch_failures([&] {
    std::unordered_map<UOp, UOp> instead;
    uint64_t number = 0;
    for (UOp u : list) {
      bool is_it = name_of(u.op()) == op && ++number == (*fault)->application;
      UOp made = is_it ? another(u) : UOp();
      if (made && !(made == u)) {
        out.emplace();
        instead[u] = made.rtag();  // a node of its own, though there may be such a one already
      }
    }
    if (!out) return out;
    for (UOp u : list) {
      if (!instead.contains(u)) {
        std::vector<UOp> src;
        for (UOp s : u.src()) src.push_back(instead.contains(s) ? instead[s] : s);
        if (!std::ranges::equal(src, u.src())) instead[u] = u.with_src(src);
      }
      out->push_back(instead.contains(u) ? instead[u] : u);
    }
    return out;
  });
}

}  // namespace tgc
