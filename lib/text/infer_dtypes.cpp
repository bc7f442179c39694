#include "lib/text/infer_dtypes.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace tgc {
namespace {

// Ops whose dtype pyrender text does not state, because it equals the dtype of the operands.
constexpr OpSet kOfOperands =
    (ops::ALU - OpSet{Op::MAX, Op::NEG, Op::TRUNC, Op::MULACC, Op::CMPEQ, Op::SUB, Op::FDIV, Op::POW}) |
    OpSet{Op::CONTIGUOUS, Op::DETACH};

class Lengths {
 public:
  Lengths(UOp root, const std::vector<UOp>& open)
      : order_(toposort(root)), number_(root.graph()), class_(order_.size()) {
    std::iota(class_.begin(), class_.end(), size_t(0));
    length_.resize(order_.size());
    open_.resize(order_.size());
    for (size_t i = 0; i < order_.size(); i++) number_[order_[i]] = i;
    for (UOp u : open)
      if (const size_t* i = number_.find(u)) open_[*i] = true;
    for (size_t i = 0; i < order_.size(); i++) constrain(i);
    for (auto [i, elements] : taken_)  // GEPs only give a lower bound of the length: choose the shortest vector
      if (length_[find(i)] == kUnknown) learn(i, elements);
  }

  // Returns the graph with all inferred lengths applied.
  UOp rebuild() {
    std::vector<UOp> made, src;
    for (size_t i = 0; i < order_.size(); i++) {
      UOp u = order_[i];
      src.clear();
      for (UOp s : u.src()) src.push_back(made[*number_.find(s)]);
      DType d = u.dtype();
      if (int64_t n = open_[i] ? length_[find(i)] : kUnknown; n > 0) d = n == 1 ? d.scalar() : d.scalar().vec(n);
      made.push_back(d == u.dtype() ? u.with_src(src) : u.with_src(src).with_dtype(d));
    }
    return made.back();
  }
  bool is_known(UOp u) {
    const size_t* i = number_.find(u);
    return !i || length_[find(*i)] > 0;
  }

 private:
  static constexpr int64_t kUnknown = 0, kContradiction = -1;
  static constexpr int64_t kMostElements = 1 << 20;  // limit on the index of a GEP, because the text is untrusted

  size_t find(size_t i) {
    while (class_[i] != i) i = class_[i] = class_[class_[i]];
    return i;
  }
  void learn(size_t i, int64_t length) {
    int64_t& known = length_[find(i)];
    if (known == kUnknown) known = length;
    else if (known != length) known = kContradiction;
  }
  // Records that nodes `i` and `k` have the same length.
  void join(size_t i, size_t k) {
    size_t a = find(i), b = find(k);
    if (a != b) {
      class_[b] = a;
      if (length_[b] != kUnknown) learn(a, length_[b]);
    }
    for (size_t n : {i, k})
      if (!open_[n]) learn(a, order_[n].dtype().count());
  }

  void constrain(size_t i) {
    UOp u = order_[i];
    bool was_open = open_[i];
    auto open_source = [&](UOp s) { return bool(open_[*number_.find(s)]); };
    if (!std::any_of(u.src().begin(), u.src().end(), open_source)) return;
    if (u.in(kOfOperands) && !was_open) open_[i] = true;
    if (u.in(kOfOperands | ops::ALU | OpSet{Op::CAST, Op::BITCAST}) && !was_open)
      for (UOp s : u.src()) join(i, *number_.find(s));
    for (UOp s : u.src()) {
      size_t k = *number_.find(s);
      if (!open_[k]) continue;
      if (u.in({Op::VECTORIZE, Op::STACK}) && u.num_src()) learn(k, u.dtype().count() / int64_t(u.num_src()));
      if (u.is(Op::GEP) && u.arg().is_tuple())
        for (Arg e : u.arg().items())
          if (e.is_int() && e.as_int() < kMostElements) taken_[k] = std::max(taken_[k], e.small_int() + 1);
      if (u.in({Op::BUFFERIZE, Op::STAGE}) && s == u.src(0)) learn(k, u.dtype().count());
      if (u.is(Op::STORE) && s == u.src(1)) learn(k, length_of_place(u.src(0).dtype()));
    }
  }
  // Returns the length of a value that is stored to `d`: the number of pointers in a vector, else the pointee's length.
  static int64_t length_of_place(DType d) { return d.is_ptr() && d.vcount() > 1 ? d.vcount() : d.base().count(); }

  std::vector<UOp> order_;
  UOpMap<size_t> number_;
  std::vector<size_t> class_;    // union-find over node numbers; nodes of equal length are in one class
  std::vector<int64_t> length_;  // indexed by class: the length of the nodes in the class
  std::vector<char> open_;       // indexed by node number: true if the length must be inferred
  std::map<size_t, int64_t> taken_;  // maps a node number to 1 + the highest index that a GEP reads from the node
};

}  // namespace

UOp infer_lengths(UOp root, std::vector<UOp>& open) {
  Lengths lengths(root, open);
  UOp out = lengths.rebuild();
  std::erase_if(open, [&](UOp u) { return lengths.is_known(u); });
  return out;
}

}  // namespace tgc
