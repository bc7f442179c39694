#include "lib/model/op.h"

namespace tgc {

std::span<const OpDef> movement_ops() { return {}; }

}  // namespace tgc
