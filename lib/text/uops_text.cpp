#include "lib/text/uops_text.h"

#include "lib/support/pytext.h"
#include "lib/uop/graph.h"
#include "lib/uop/render.h"

namespace tgc {
namespace {

// Python's f"{text:WIDTHs}", which counts code points.
void append_padded(std::string& out, std::string_view text, size_t width) {
  out += text;
  size_t length = utf8_length(text);
  if (length < width) out.append(width - length, ' ');
}

}  // namespace

std::string print_uops(std::span<const UOp> list, bool color) {
  std::string out;
  if (list.empty()) return out;
  UOpMap<size_t> index(list[0].graph());
  for (size_t i = 0; i < list.size(); i++) index[list[i]] = i;
  std::string sources;
  for (size_t i = 0; i < list.size(); i++) {
    UOp u = list[i];
    std::string number = std::to_string(i);
    out.append(number.size() < 4 ? 4 - number.size() : 0, ' ').append(number) += ' ';
    append_padded(out, "Ops." + std::string(name_of(u.op())), 20);
    out.append(": ").append(multirange_str(u.ranges(), color, 10)) += ' ';
    append_padded(out, u.dtype().repr(), 40);
    sources = "[";
    for (UOp s : u.src()) {
      if (sources.size() > 1) sources += ", ";
      const size_t* at = index.find(s);
      sources += !at ? "'--'" : s.is_const() ? py_repr(s.arg().str()) : std::to_string(*at);
    }
    sources += ']';
    append_padded(out += ' ', sources, 32);
    out.append(" ").append(u.arg().str()) += '\n';
  }
  return out;
}

}  // namespace tgc
