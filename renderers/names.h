// Names are data. What an input calls its variables, indices, tensor cores and kernel goes into texts that are compiled
// and run, and so do its numbers of buffers and ranges: whatever the language, only C identifiers and numbers get
// there. Two ops are code by nature, CUSTOM and CUSTOMI: their texts are printed as they are, and compiled where
// that is allowed (check_custom in renderer.h).
#pragma once
#include <span>
#include <string_view>

#include "lib/uop/uop.h"

namespace tgc {

// Whether `name` is a C identifier: letters, digits and underscores, no digit first.
bool is_identifier(std::string_view name);

// Throws a Failure that names the node, and shows its name with control characters made visible, where one of `list`
// would print something else than an identifier or a number. Every renderer starts with it.
void check_names(std::span<const UOp> list);

// The same of a kernel's function, by the name that it has in the source.
void check_function_name(std::string_view function_name, UOp sink);

}  // namespace tgc
