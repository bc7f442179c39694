// Inputs: the rate R, the step T, all tensors, all gradients, and all tensors of each kind of state. Outputs: the new
// tensors and states in that order.
#include <cmath>

#include "lib/model/op.h"

namespace tgc {
namespace {

// `update` takes a tensor, its gradient and its states, and returns the new tensor and states.
template <class Update>
Values for_each_tensor_group(OpCall& c, size_t kinds, Update update) {
  if (c.num_inputs() < 2 + kinds || (c.num_inputs() - 2) % kinds)
    throw Failure("its inputs do not form groups of " + std::to_string(kinds));
  size_t groups = (c.num_inputs() - 2) / kinds;
  std::vector<Tensors> made(kinds - 1);
  for (size_t g = 0; g < groups; g++) {
    Tensors group;
    for (size_t k = 0; k < kinds; k++) group.push_back(c.tensor(2 + k * groups + g));
    Tensors out = update(group);
    for (size_t k = 0; k < out.size(); k++) made[k].push_back(out[k]);
  }
  Values values;
  for (auto& kind : made) values.insert(values.end(), kind.begin(), kind.end());
  return values;
}

Values adagrad(OpCall& c) {
  Tensor rate = c.tensor(0) / (1 + double(c.integer(1)) * c.attribute_float("decay_factor", 0));
  double norm = c.attribute_float("norm_coefficient", 0), epsilon = c.attribute_float("epsilon", 1e-6);
  return for_each_tensor_group(c, 3, [&](const Tensors& in) -> Tensors {
    Tensor grad = norm * in[0] + in[1], squares = in[2] + grad.square();
    return {in[0] - rate * (grad / (squares.sqrt() + epsilon)), squares};
  });
}

Values adam(OpCall& c) {
  if (!c.op_attribute("epsilon"))
    throw Failure(
        "the attribute epsilon is missing, and its default is ambiguous: the schema says 1e-6, tinygrad 0, the "
        "conformance suite 0.01");
  auto step = double(c.integer(1));
  double alpha = c.attribute_float("alpha", 0.9), beta = c.attribute_float("beta", 0.999),
         epsilon = c.attribute_float("epsilon", 0);
  double norm = c.attribute_float("norm_coefficient", 0), norm_post = c.attribute_float("norm_coefficient_post", 0);
  Tensor rate = c.tensor(0);
  if (step > 0) rate = rate * (std::sqrt(1 - std::pow(beta, step)) / (1 - std::pow(alpha, step)));
  return for_each_tensor_group(c, 4, [&](const Tensors& in) -> Tensors {
    Tensor grad = norm * in[0] + in[1], mean = alpha * in[2] + (1 - alpha) * grad,
           squares = beta * in[3] + (1 - beta) * grad.square();
    return {(1 - norm_post) * (in[0] - rate * mean / (squares.sqrt() + epsilon)), mean, squares};
  });
}

Values momentum(OpCall& c) {
  double alpha = c.attribute_float("alpha", 0), norm = c.attribute_float("norm_coefficient", 0);
  double beta = c.integer(1) > 0 ? c.attribute_float("beta", 0) : 1;
  std::string mode = c.attribute_string("mode", "");
  if (mode != "standard" && mode != "nesterov") throw Failure("its mode is '" + mode + "', not standard or nesterov");
  Tensor rate = c.tensor(0);
  return for_each_tensor_group(c, 3, [&](const Tensors& in) -> Tensors {
    Tensor grad = norm * in[0] + in[1], velocity = alpha * in[2] + beta * grad;
    return {in[0] - rate * (mode == "standard" ? velocity : grad + alpha * velocity), velocity};
  });
}

constexpr std::string_view kTraining = "ai.onnx.preview.training";

}  // namespace

std::span<const OpDef> training_ops() {
  // clang-format off
  static const OpDef kOps[] = {
    {"Adagrad", 1, "decay_factor epsilon norm_coefficient", adagrad, kTraining},
    {"Adam", 1, "alpha beta epsilon norm_coefficient norm_coefficient_post", adam, kTraining},
    {"Momentum", 1, "alpha beta mode norm_coefficient", momentum, kTraining},
  };
  // clang-format on
  return kOps;
}

}  // namespace tgc
