#include "lib/text/print_uops.h"

#include "lib/support/pytext.h"
#include "lib/text/open_args.h"
#include "lib/uop/facts.h"
#include "lib/uop/graph.h"
#include "lib/uop/render.h"

namespace tgc {
namespace {

void pad_to(std::string& out, size_t start, size_t width) {
  size_t length = out.size() - start;
  if (length < width) out.append(width - length, ' ');
}

// Appends the sources of `u` as Python prints a list of integers and strings.
void append_sources(std::string& out, UOp u, const UOpMap<size_t>& positions) {
  out += '[';
  for (size_t i = 0; i < u.num_src(); i++) {
    UOp s = u.src(i);
    if (i) out += ", ";
    const size_t* at = positions.find(s);
    if (!at) out += "'--'";
    else if (s.is_const()) out += py_repr(s.arg().str());
    else out += std::to_string(*at);
  }
  out += ']';
}

}  // namespace

std::string print_uops(std::span<const UOp> list) {
  std::string out;
  if (list.empty()) return out;
  UOpMap<size_t> positions(list.front().graph());
  for (size_t i = 0; i < list.size(); i++) positions[list[i]] = i;  // a node listed twice gets its last position
  for (size_t i = 0; i < list.size(); i++) {
    UOp u = list[i];
    std::string number = std::to_string(i);
    if (number.size() < 4) out.append(4 - number.size(), ' ');
    out += number + " ";
    size_t start = out.size();
    out.append("Ops.").append(shown_op(u));
    pad_to(out, start, 20);
    out += ": " + multirange_str(ranges_of(u), true, 10) + " ";
    start = out.size();
    out += u.dtype().repr();
    pad_to(out, start, 40);
    out += ' ';
    start = out.size();
    append_sources(out, u, positions);
    pad_to(out, start, 32);
    out += ' ' + (u.graph().is_foreign() ? open_arg_str(u) : u.arg().str()) + '\n';
  }
  return out;
}

}  // namespace tgc
