// Of a list that a device computes otherwise than REF does, though the list is right: the node with which that begins.
#pragma once
#include "lib/bisect/failure_repro.h"

namespace tgc {

// The list with all its values stored besides (observed_list.h) is run on the device and in REF. Of the values that
// differ the one that is computed first is right to be suspected, whatever goes wrong after it; what differs by
// rounding alone, or is of no consequence, is passed over: a node is named when the device makes of the list what REF
// does once the others take that node's value from an array. The empty UOp: no node is known to be to blame.
UOp first_wrong_node(FailureRepro& run, std::span<const UOp> list);

}  // namespace tgc
