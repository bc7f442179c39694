#include "lib/session/blame/by_elements.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace tgc {
namespace {

UOp place_of(UOp u) { return u.src(0).is(Op::CAST) ? u.src(0).src(0) : u.src(0); }
DType moved_by(UOp u) { return u.is(Op::STORE) ? u.src(1).dtype() : u.dtype(); }

// What it adds has a tag, as what observes a list has (observed_list.h).
class ByElements {
 public:
  ByElements(std::span<const UOp> list, Op op) : list_(list), op_(op) {}

  std::vector<UOp> made() {
    for (UOp u : list_) {
      std::vector<UOp> src;
      for (UOp s : u.src()) src.push_back(instead_.contains(s) ? instead_[s] : s);
      UOp same = std::ranges::equal(src, u.src()) ? u : u.with_src(src);
      if (u.is(op_) && moves_vector(u)) same = split(same);
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
  Op op_;
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

std::vector<UOp> by_elements(std::span<const UOp> list, Op op) { return ByElements(list, op).made(); }

}  // namespace tgc
