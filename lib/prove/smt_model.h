#pragma once
#include <functional>
#include <span>

#include "lib/prove/side_evaluator.h"

namespace tgc {

// Calls visit(point) with Z3's models of the obligation that the sides `values` differ, until `visit` returns false.
// REF may compute equal values at such a point. `rlimit` limits the work of each question, in Z3's unit.
void for_each_smt_model(const ExprIsolator& isolator, const ComparedValues& values,
                        std::span<const SideEvaluator::PointInput> inputs, uint64_t rlimit,
                        const std::function<bool(const SideEvaluator::Point&)>& visit);

}  // namespace tgc
