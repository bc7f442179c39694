#include "lib/model/op.h"

namespace tgc {

std::span<const OpDef> text_ops() { return {}; }

}  // namespace tgc
