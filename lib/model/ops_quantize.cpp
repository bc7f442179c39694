#include "lib/model/op.h"

namespace tgc {

std::span<const OpDef> quantize_ops() { return {}; }

}  // namespace tgc
