// Checks the names and numbers that a renderer copies from the input into its source, so that they contain no code.
// CUSTOM and CUSTOMI contain code on purpose: check_custom_nodes (renderer.h) decides whether it may be compiled.
#pragma once
#include <span>
#include <string_view>

#include "lib/uop/uop.h"

namespace tgc {

// Returns true if `name` is a C identifier: letters, digits and underscores, not beginning with a digit.
bool is_identifier(std::string_view name);

// Throws Failure if a node of `list` would print a name that is neither an identifier nor a number, or if the name of a
// SPECIAL does not end in 0, 1 or 2.
void check_names(std::span<const UOp> list);

// Throws Failure, which shows `sink`, if a kernel's function name is not an identifier.
void check_function_name(std::string_view function_name, UOp sink);

}  // namespace tgc
