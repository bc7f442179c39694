#include "lib/text/pyrender_places.h"

#include <algorithm>

#include "lib/text/pyrender_open.h"
#include "lib/text/pyrender_writer.h"

namespace tgc {
namespace {

class PlacesWriter : public PyrenderWriter {
 public:
  explicit PlacesWriter(UOp root) : PyrenderWriter(root) { keeps_lines_ = true; }

  PlacedText write_placed() {
    PlacedText out{write(), {}};
    size_t counted = 0;
    uint32_t line = 0;
    for (auto [u, begin] : line_begins_) {
      size_t at = kernels_text_.size() + begin;
      line += uint32_t(std::count(out.text.begin() + long(counted), out.text.begin() + long(at), '\n'));
      counted = at;
      out.lines.emplace_back(u, line);
    }
    return out;
  }
};

}  // namespace

Result<PlacedText> pyrender_with_places(UOp root) {
  if (root.graph().is_foreign()) {
    OpenText open = pyrender_open(root);
    PlacedText out{std::move(open.text), {}};
    for (UOp u : open.lines) out.lines.emplace_back(u, uint32_t(out.lines.size()));
    return out;
  }
  return catch_failures([&] { return PlacesWriter(root).write_placed(); });
}

}  // namespace tgc
