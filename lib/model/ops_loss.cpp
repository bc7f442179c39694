// Loss functions.
#include "lib/model/op.h"

namespace tgc {
namespace {

// Negative log likelihood loss (tensor.py:nll_loss). A label equal to ignore_index has weight 0 and need not be the
// number of a class.
Tensor nll_loss(OpCall& c, const Tensor& log_probabilities, Tensor labels, const Tensor& weight) {
  Tensor weights =
      weight ? weight.getitem({labels}) : Tensor::full(c.graph(), labels.shape(), 1.0, log_probabilities.dtype());
  if (c.attr("ignore_index")) weights = weights * labels.ne(Const(c.attr_int("ignore_index")));
  Tensor loss = -log_probabilities.gather(1, labels.unsqueeze(1)).squeeze(1) * weights;
  std::string reduction = c.attr_string("reduction", "mean");
  if (reduction == "mean") return loss.sum() / weights.sum();
  if (reduction == "sum") return loss.sum();
  if (reduction != "none") throw Failure("no reduction is called '" + reduction + "'");
  return loss;
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
