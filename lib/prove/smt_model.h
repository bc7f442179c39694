// for_each_model: asks Z3 for values of leaves for which the two sides of a rewrite differ.
#pragma once
#include <functional>
#include <span>

#include "lib/prove/side_evaluator.h"

namespace tgc {

// Calls visit(point) with Z3's models of the obligation, in all senses that apply, until it returns false. The sides
// may be equal at a point in REF, because a sense may ignore rounding or wrapping. `rlimit` limits the work of each
// question.
void for_each_model(const ExprIsolator& isolator, const ComparedValues& values,
                    std::span<const SideEvaluator::Input> inputs, uint64_t rlimit,
                    const std::function<bool(const SideEvaluator::Point&)>& visit);

}  // namespace tgc
