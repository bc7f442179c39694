#include <algorithm>

#include "lib/uop/graph.h"
#include "lib/uop/wellformed.h"

namespace tgc {

std::optional<MalformedNode> first_unordered_node(std::span<const UOp> list) {
  if (list.empty()) return std::nullopt;
  // a list of machine instructions is in the order after register allocation, which moves and repeats instructions
  if (std::ranges::any_of(list, [](UOp u) { return u.is(Op::INS); })) return std::nullopt;
  auto name = [](UOp u) { return "Ops." + std::string(name_of(u.op())); };
  UOpSet before(list[0].graph()), open(list[0].graph());
  for (UOp u : list) {
    for (size_t i = 0; i < u.num_src(); i++)
      if (!before.contains(u.src(i)) && !u.src(i).is(Op::NOOP))
        return MalformedNode{u, name(u) + " comes before its source " + std::to_string(i) + ", " +
                                name(u.src(i)) + ", or that is missing"};
    const bool is_first = before.insert(u);
    // two conditional stores with the same condition and address share an IF and an ENDIF, which then occur twice
    const bool is_again = u.is(Op::IF) ? !open.contains(u) : u.is(Op::ENDIF) && u.num_src() && open.contains(u.src(0));
    if (!is_first && !is_again) return MalformedNode{u, name(u) + " occurs twice in the list"};
    if (u.is(Op::IF)) open.insert(u);
    if (u.is(Op::ENDIF) && u.num_src()) open.erase(u.src(0));
  }
  return std::nullopt;
}

}  // namespace tgc
