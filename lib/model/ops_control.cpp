#include "lib/model/op.h"

namespace tgc {

std::span<const OpDef> control_ops() { return {}; }

}  // namespace tgc
