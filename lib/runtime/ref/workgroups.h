// Lanes of kernels with workgroups. Internal to ref/.
#pragma once
#include <span>

#include "lib/runtime/ref/values.h"

namespace tgc::ref {

// Returns the threads per workgroup: the product of the "lidx" SPECIALs' sizes. Throws Failure if one is not constant.
int64_t workgroup_size(std::span<const UOp> specials);

// Turns the SPECIALs and `ranges` into lanes and sets the values of these nodes. The first local index varies fastest.
void open_workgroups(Builder& builder, Values& values, std::span<const UOp> specials, std::span<const UOp> ranges);

}  // namespace tgc::ref
