// Loss functions.
#include <cmath>

#include "lib/model/op.h"
#include "lib/model/realize.h"

namespace tgc {
namespace {

// Negative log likelihood loss (tensor.py:nll_loss). A label equal to ignore_index has weight 0 and need not be the
// number of a class.
Tensor nll_loss(OpCall& c, const Tensor& log_probabilities, Tensor labels, const Tensor& weight) {
  if (labels.ndim() < 1 || log_probabilities.ndim() != labels.ndim() + 1)
    throw Failure("its labels do not fit its scores");
  if (plain_value(labels)) {
    int64_t classes = log_probabilities.size(1);
    for (int64_t label : c.ints(1))
      if ((label < 0 || label >= classes) && !(c.attr("ignore_index") && label == c.attr_int("ignore_index")))
        throw Failure("label " + std::to_string(label) + " of " + std::to_string(classes) + " classes");
  }
  Tensor weights =
      weight ? weight.getitem({labels}) : Tensor::full(c.graph(), labels.shape(), 1.0, log_probabilities.dtype());
  if (c.attr("ignore_index")) weights = weights * labels.ne(Const(c.attr_int("ignore_index")));
  Tensor loss = -log_probabilities.gather(1, labels.unsqueeze(1)).squeeze(1) * weights;
  std::string reduction = c.attr_choice("reduction", "mean", {"mean", "sum", "none"});
  if (reduction == "none") return loss;
  if (reduction == "sum") return loss.sum();
  Tensor total = weights.sum();  // 0, and the mean NaN, if all labels are ignored; tinygrad simplifies w / w to 1
  return total.eq(Const(0)).where(Const(NAN), loss.sum() / total);
}

Values softmax_cross_entropy(OpCall& c) {
  Tensor log_probabilities = c.tensor(0).log_softmax(1);
  return {nll_loss(c, log_probabilities, c.tensor(1), c.tensor_or_none(2)), log_probabilities};
}

}  // namespace

std::span<const OpDef> loss_ops() {
  // clang-format off
  static const OpDef kOps[] = {
    {"NegativeLogLikelihoodLoss", 12, "ignore_index reduction", [](OpCall& c) -> Values { return {nll_loss(c, c.tensor(0), c.tensor(1), c.tensor_or_none(2))}; }},
    {"SoftmaxCrossEntropyLoss", 12, "ignore_index reduction", softmax_cross_entropy},
  };
  // clang-format on
  return kOps;
}

}  // namespace tgc
