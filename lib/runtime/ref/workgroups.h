// The lanes of kernels that have workgroups. Inside: for ref/ alone.
#pragma once
#include <span>

#include "lib/runtime/ref/values.h"

namespace tgc::ref {

// The lanes of one workgroup: the sizes of its "lidx" SPECIALs together. Throws Failure when they are not constant.
int64_t workgroup_size(std::span<const UOp> specials);

// Opens lanes over all workgroups, and over `ranges` within, and sets the values of both.
// The first local index runs fastest.
void open_workgroups(Builder& builder, Values& values, std::span<const UOp> specials, std::span<const UOp> ranges);

}  // namespace tgc::ref
