// Finds the first misprinted node of a linear list that is right in REF and wrong on the device.
#pragma once
#include "lib/bisect/executor.h"

namespace tgc {

// Runs the list with every value stored to an array of its own (observed_list.h), on the device and in REF. The first
// value in time that differs is the suspect. It is the culprit if the device computes what REF does once all users of
// the node read its right value from an array. Returns the empty UOp if no node is proven to be the culprit.
UOp first_wrong_node(Executor& executor, std::span<const UOp> list);

}  // namespace tgc
