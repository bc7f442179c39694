#include "lib/reduce/ddmin.h"

#include <algorithm>

namespace tgc {

std::vector<TestCase> ddmin(const TestCase& given, UOp (*replacement)(UOp),
                            const std::function<bool(const TestCase&)>& may_fail) {
  std::vector<TestCase> way{given};
  std::vector<UOp> kept = toposort(given.root);
  Replacements out;
  for (size_t parts = 2; !kept.empty();) {
    const size_t size = std::max<size_t>(1, kept.size() / parts);
    bool taken = false;
    for (size_t from = 0; from < kept.size() && !taken; from += size) {
      auto begin = kept.begin() + ptrdiff_t(from), end = kept.begin() + ptrdiff_t(std::min(from + size, kept.size()));
      Replacements more = out;
      std::vector<UOp> stay;
      for (auto it = begin; it != end; ++it)
        if (UOp other = replacement(*it)) more.emplace_back(*it, other);
        else stay.push_back(*it);
      if (more.size() == out.size()) continue;
      TestCase c = with_root(given, replaced(given.root, more, false));
      std::vector<UOp> left = toposort(c.root);
      auto is_left = [&](UOp u) { return u.is(Op::STORE) || std::ranges::find(left, u) != left.end(); };
      if (std::ranges::any_of(stay, is_left) || !(taken = may_fail(c))) continue;
      way.push_back(std::move(c)), out = std::move(more);
      kept.erase(begin, end);
    }
    if (!taken && size == 1) break;
    parts = taken ? std::max<size_t>(2, parts - 1) : std::min(kept.size(), 2 * parts);
  }
  return way;
}

}  // namespace tgc
