#include "lib/bisect/list_variants.h"

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <unordered_set>

#include "lib/uop/integer_math.h"

namespace tgc {
namespace {

UOp index_of_access(UOp u) { return u.src(0).is(Op::CAST) ? u.src(0).src(0) : u.src(0); }
DType accessed_dtype(UOp u) { return u.is(Op::STORE) ? u.src(1).dtype() : u.dtype(); }

bool is_multiple(UOp index, int64_t n) {
  if (index.is(Op::ADD)) return is_multiple(index.src(0), n) && is_multiple(index.src(1), n);
  if (index.is(Op::SHL) && index.src(1).is(Op::CONST) && index.src(1).vmax().as_int() < Int(32))
    return (int64_t(1) << index.src(1).vmax().as_int().small_value()) % n == 0;
  return is_divisible(index, Int(n));
}

// Tags the constants, ADDs and VECTORIZEs that it adds, so that a fault seeded in a renderer
// (renderers/misprint.h) does not count them.
class Scalarizer {
 public:
  Scalarizer(std::span<const UOp> list, OpSet ops) : list_(list), ops_(ops) {}

  std::vector<UOp> build() {
    for (UOp u : list_) {
      std::vector<UOp> src;
      for (UOp s : u.src()) src.push_back(replacements_.contains(s) ? replacements_[s] : s);
      UOp same = std::ranges::equal(src, u.src()) ? u : u.with_src(src);
      if (u.in(ops_) && is_vector_access(u)) same = split_access(same);
      else append_once(same);
      if (!(same == u)) replacements_[u] = same;
    }
    return std::move(out_);
  }

 private:
  UOp append_once(UOp u) {
    if (listed_nodes_.insert(u).second) out_.push_back(u);
    return u;
  }

  UOp split_access(UOp u) {
    UOp index = index_of_access(u), last;
    std::vector<UOp> elements;
    for (int64_t i = 0; i < accessed_dtype(u).count(); i++) {
      std::vector<UOp> at(index.src().begin(), index.src().end());
      if (i) at[1] = append_once(at[1].alu(Op::ADD, append_once(at[1].const_like(Const(i)).rtag())).rtag());
      std::vector<UOp> src(u.src().begin(), u.src().end());
      src[0] = append_once(index.with_src(at));
      if (u.is(Op::STORE)) src[1] = append_once(src[1].gep(i));
      DType dtype = u.is(Op::STORE) ? u.dtype() : u.dtype().scalar();
      last = append_once(u.replace({.dtype = dtype, .src = std::span<const UOp>(src)}));
      elements.push_back(last);
    }
    return u.is(Op::STORE) ? last : append_once(u.graph().node(Op::VECTORIZE, u.dtype(), elements).rtag());
  }

  std::span<const UOp> list_;
  OpSet ops_;
  std::vector<UOp> out_;
  std::unordered_set<UOp> listed_nodes_;
  std::unordered_map<UOp, UOp> replacements_;
};

}  // namespace

bool is_vector_access(UOp u) {
  bool is_access = (u.is(Op::STORE) && u.num_src() == 2) || (u.is(Op::LOAD) && u.num_src() == 1);
  if (!is_access || accessed_dtype(u).count() <= 1) return false;
  UOp index = index_of_access(u);
  return index.is(Op::INDEX) && index.num_src() >= 2 && index.dtype().base().count() == 1 &&
         index.src(1).dtype().count() == 1;
}

bool is_misaligned_vector(UOp access) {
  int64_t n = accessed_dtype(access).count();
  return !std::has_single_bit(uint64_t(n)) || !is_multiple(index_of_access(access).src(1), n);
}

std::vector<UOp> scalarize_list(std::span<const UOp> list, OpSet ops) { return Scalarizer(list, ops).build(); }

}  // namespace tgc
