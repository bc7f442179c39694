// Lanes of kernels with workgroups. Internal to ref/.
#pragma once
#include <span>

#include "lib/runtime/ref/values.h"

namespace tgc::ref {

// Threads per workgroup: the product of the sizes of the "lidx" SPECIALs. Throws Failure if one is not constant.
int64_t workgroup_size(std::span<const UOp> specials);

// Opens lanes over all workgroups and `ranges` in them and sets both's values. The first local index varies fastest.
void open_workgroups(Builder& builder, Values& values, std::span<const UOp> specials, std::span<const UOp> ranges);

}  // namespace tgc::ref
