#include "lib/bisect/scalarize.h"

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <unordered_set>

#include "lib/uop/integer_math.h"

namespace tgc {
namespace {

UOp place_of(UOp u) { return u.src(0).is(Op::CAST) ? u.src(0).src(0) : u.src(0); }
DType moved_by(UOp u) { return u.is(Op::STORE) ? u.src(1).dtype() : u.dtype(); }

bool is_multiple(UOp place, int64_t n) {
  if (place.is(Op::ADD)) return is_multiple(place.src(0), n) && is_multiple(place.src(1), n);
  if (place.is(Op::SHL) && place.src(1).is(Op::CONST) && place.src(1).vmax().as_int() < Int(32))
    return (int64_t(1) << place.src(1).vmax().as_int().small()) % n == 0;
  return is_divisible(place, Int(n));
}

// What it adds has a tag, as what observes a list has (observed_list.h).
class ByElements {
 public:
  ByElements(std::span<const UOp> list, OpSet ops) : list_(list), ops_(ops) {}

  std::vector<UOp> made() {
    for (UOp u : list_) {
      std::vector<UOp> src;
      for (UOp s : u.src()) src.push_back(instead_.contains(s) ? instead_[s] : s);
      UOp same = std::ranges::equal(src, u.src()) ? u : u.with_src(src);
      if (u.in(ops_) && moves_vector(u)) same = split(same);
      else put(same);
      if (!(same == u)) instead_[u] = same;
    }
    return std::move(out_);
  }

 private:
  UOp put(UOp u) {
    if (there_.insert(u).second) out_.push_back(u);
    return u;
  }

  UOp split(UOp u) {
    UOp place = place_of(u), last;
    std::vector<UOp> elements;
    for (int64_t i = 0; i < moved_by(u).count(); i++) {
      std::vector<UOp> at(place.src().begin(), place.src().end());
      if (i) at[1] = put(at[1].alu(Op::ADD, put(at[1].const_like(Const(i)).rtag())).rtag());
      std::vector<UOp> src(u.src().begin(), u.src().end());
      src[0] = put(place.with_src(at));
      if (u.is(Op::STORE)) src[1] = put(src[1].gep(i));
      DType dtype = u.is(Op::STORE) ? u.dtype() : u.dtype().scalar();
      last = put(u.replace({.dtype = dtype, .src = std::span<const UOp>(src)}));
      elements.push_back(last);
    }
    return u.is(Op::STORE) ? last : put(u.graph().node(Op::VECTORIZE, u.dtype(), elements).rtag());
  }

  std::span<const UOp> list_;
  OpSet ops_;
  std::vector<UOp> out_;
  std::unordered_set<UOp> there_;
  std::unordered_map<UOp, UOp> instead_;
};

}  // namespace

bool moves_vector(UOp u) {
  bool is_move = (u.is(Op::STORE) && u.num_src() == 2) || (u.is(Op::LOAD) && u.num_src() == 1);
  if (!is_move || moved_by(u).count() <= 1) return false;
  UOp place = place_of(u);
  return place.is(Op::INDEX) && place.num_src() >= 2 && place.dtype().base().count() == 1 &&
         place.src(1).dtype().count() == 1;
}

bool is_loose(UOp move) {
  int64_t n = moved_by(move).count();
  return !std::has_single_bit(uint64_t(n)) || !is_multiple(place_of(move).src(1), n);
}

std::vector<UOp> scalarize(std::span<const UOp> list, OpSet ops) { return ByElements(list, ops).made(); }

}  // namespace tgc
