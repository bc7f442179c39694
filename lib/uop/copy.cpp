#include "lib/uop/copy.h"

#include <unordered_map>

namespace tgc {
namespace {

class Copier {
 public:
  explicit Copier(Graph& to) : to_(to) {}

  UOp copy(UOp root) {
    std::vector<UOp> stack{root};
    while (!stack.empty()) {
      UOp u = stack.back();
      size_t waiting = stack.size();
      if (!made_.contains(u)) {
        for (size_t i = u.num_src(); i-- > 0;)  // pushed in reverse, so that the first source is copied first
          if (!made_.contains(u.src(i))) stack.push_back(u.src(i));
        if (stack.size() > waiting) continue;
        std::vector<UOp> src;
        for (UOp s : u.src()) src.push_back(made_.at(s));
        made_[u] = to_.node(u.op(), u.dtype(), src, arg(u.arg()), arg(u.tag()));
      }
      stack.pop_back();
    }
    return made_.at(root);
  }

 private:
  Arg arg(Arg a) {
    switch (a.kind()) {
      case Arg::Kind::Str: return to_.str(a.text());
      case Arg::Kind::Bytes: return to_.bytes(a.text());
      case Arg::Kind::Raw: return to_.raw(a.text());
      case Arg::Kind::UOp: return copy(a.uop());
      case Arg::Kind::Tuple:
      case Arg::Kind::Record: {
        std::vector<Arg> items;
        for (Arg item : a.items()) items.push_back(arg(item));
        return a.kind() == Arg::Kind::Tuple ? to_.tuple(items) : to_.record(a.record_class(), items);
      }
      default: return a;
    }
  }

  Graph& to_;
  std::unordered_map<UOp, UOp> made_;
};

}  // namespace

UOp copy_into(Graph& to, UOp root) {
  if (root.graph().is_foreign()) to.set_release(root.graph().release());
  return Copier(to).copy(root);
}

}  // namespace tgc
