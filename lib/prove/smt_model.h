// Asks Z3 for values of leaves at which the two sides of a rewrite differ.
#pragma once
#include <functional>
#include <span>

#include "lib/prove/side_evaluator.h"

namespace tgc {

// Calls visit(point) with models of the obligation, in all senses that apply, until it returns false. A model may be
// wrong for REF, because a sense may leave out rounding, or wrapping. `rlimit` bounds the work of each question.
void for_each_model(const ExprIsolator& isolator, const ComparedValues& values,
                    std::span<const SideEvaluator::Input> inputs, uint64_t rlimit,
                    const std::function<bool(const SideEvaluator::Point&)>& visit);

}  // namespace tgc
