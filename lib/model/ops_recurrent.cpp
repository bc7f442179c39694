#include <algorithm>

#include "lib/model/op.h"

namespace tgc {
namespace {

std::string lower_case(std::string_view name) {
  std::string out(name);
  for (char& c : out) c = char(std::tolower(uint8_t(c)));
  return out;
}

Tensor apply_activation(const std::string& name, std::optional<double> alpha, std::optional<double> beta,
                        const Tensor& x) {
  if (name == "tanh") return x.tanh();
  if (name == "sigmoid") return x.sigmoid();
  if (name == "relu") return x.relu();
  if (name == "affine") return x * alpha.value_or(1.0) + beta.value_or(0.0);
  if (name == "leakyrelu") return x.leaky_relu(alpha.value_or(0.01));
  if (name == "thresholdedrelu") return x.gt(Const(alpha.value_or(1.0))).where(x, Const(0.0));
  if (name == "scaledtanh") return (x * beta.value_or(1.0)).tanh() * alpha.value_or(1.0);
  if (name == "hardsigmoid") return (x * alpha.value_or(0.2) + beta.value_or(0.5)).clamp(Const(0.0), Const(1.0));
  if (name == "elu") return x.elu(alpha.value_or(1.0));
  if (name == "softsign") return x.softsign();
  if (name == "softplus") return x.softplus();
  throw Failure("no activation is called '" + name + "'");
}

// The node's first inputs are X, W, R, B, sequence_lens and initial_h. W and R have a block of rows for each gate.
class RecurrentOp {
 public:
  RecurrentOp(OpCall& c, int64_t gates, std::vector<std::string> default_activations)
      : op_call_(c), num_gates_(gates), default_activations_(std::move(default_activations)) {
    std::string direction = c.attribute_choice("direction", "forward", {"forward", "reverse", "bidirectional"});
    num_directions_ = direction == "bidirectional" ? 2 : 1;
    is_reversed_ = direction == "reverse";
    is_batch_first_ = c.attribute_flag("layout", false);
    input_ = c.tensor(0);
    if (input_.ndim() != 3) throw Failure("its input has " + std::to_string(input_.ndim()) + " axes, three are needed");
    if (is_batch_first_) input_ = input_.transpose(0, 1);
    num_steps_ = input_.size(0), batch_size_ = input_.size(1), hidden_size_ = c.tensor(2).size(-1);
    if (c.op_attribute("hidden_size") && c.attribute_int("hidden_size") != hidden_size_)
      throw Failure("its hidden_size is not that of its weights");
    if (num_steps_ == 0) throw Failure("a sequence of no steps");
    if (c.has_input(4)) {
      c.check_range(4, 0, num_steps_, "length");
      lengths_ = c.ints(4);
      if (int64_t(lengths_.size()) != batch_size_)
        throw Failure(std::to_string(lengths_.size()) + " lengths for a batch of " + std::to_string(batch_size_));
    }
    bool all = std::ranges::all_of(lengths_, [&](int64_t n) { return n == num_steps_; });
    if (all) lengths_.clear();
  }

  // cell(step, state) returns the next `states` state tensors, of which the first is the output of the step.
  template <class Cell>
  Values run(size_t states, Cell cell) {
    std::vector<Tensors> outputs(static_cast<size_t>(num_steps_)), last(states);
    for (direction_index_ = 0; direction_index_ < num_directions_; direction_index_++) {
      Tensors state = initial_states(states);
      bool backward = direction_index_ == 1 || is_reversed_;
      Tensors of_step(static_cast<size_t>(num_steps_));
      Tensor w = direction_slice(1), r = direction_slice(2), b = op_call_.has_input(3) ? direction_slice(3) : Tensor();
      for (int64_t i = 0; i < num_steps_; i++) {
        int64_t t = backward ? num_steps_ - 1 - i : i;
        Tensor x = input_.slice_axis(0, {t, t + 1}).squeeze(0);
        Tensors next = cell(CellStep{*this, x, w, r, b}, state);
        of_step[size_t(t)] = next[0];
        if (!lengths_.empty()) hold_finished(t, state, next, of_step[size_t(t)]);
        state = next;
      }
      for (int64_t t = 0; t < num_steps_; t++) outputs[size_t(t)].push_back(of_step[size_t(t)]);
      for (size_t s = 0; s < states; s++) last[s].push_back(state[s]);
    }
    Tensors stacked;
    for (auto& o : outputs) stacked.push_back(Tensor::stack(o));
    Tensor y = Tensor::stack(stacked);  // shape: steps, directions, batch, hidden
    Values out{is_batch_first_ ? y.permute({2, 0, 1, 3}) : y};
    for (auto& s : last) {
      Tensor t = Tensor::stack(s);
      out.push_back(is_batch_first_ ? t.transpose(0, 1) : t);
    }
    return out;
  }

  struct CellStep {
    RecurrentOp& recurrent_op;
    Tensor x, w, r, b;
    Tensor input_term(int64_t gate) const { return plus_bias(x.matmul(rows(w, gate).transpose()), gate); }
    Tensor recurrent_term(const Tensor& h, int64_t gate) const {
      return plus_bias(h.matmul(rows(r, gate).transpose()), recurrent_op.num_gates_ + gate);
    }
    Tensor gate_sum(const Tensor& h, int64_t gate) const { return input_term(gate) + recurrent_term(h, gate); }
    Tensor activate(size_t which, const Tensor& v) const {
      return recurrent_op.activate_gate(which, recurrent_op.clip(v));
    }
    Tensor activate_unclipped(size_t which, const Tensor& v) const { return recurrent_op.activate_gate(which, v); }
    Tensor weight_block(size_t input, int64_t which) const { return rows(recurrent_op.direction_slice(input), which); }

   private:
    Tensor rows(const Tensor& m, int64_t block) const {
      return m.slice_axis(0, {block * recurrent_op.hidden_size_, (block + 1) * recurrent_op.hidden_size_});
    }
    Tensor plus_bias(const Tensor& v, int64_t block) const { return b ? v + rows(b, block) : v; }
  };

 private:
  friend struct CellStep;

  // Returns the slice of an input for the current direction.
  Tensor direction_slice(size_t input) const {
    Tensor t = op_call_.tensor(input);
    if (t.size(0) != num_directions_)
      throw Failure("input " + std::to_string(input) + " is for " + std::to_string(t.size(0)) + " directions, not " +
                    std::to_string(num_directions_));
    return t.slice_axis(0, {direction_index_, direction_index_ + 1}).squeeze(0);
  }

  Tensors initial_states(size_t states) const {
    Tensors out;
    for (size_t s = 0; s < states; s++) {
      Tensor given = op_call_.tensor_or_none(5 + s);
      if (given && is_batch_first_) given = given.transpose(0, 1);
      out.push_back(given ? given.slice_axis(0, {direction_index_, direction_index_ + 1}).squeeze(0)
                    : Tensor::full(op_call_.graph(), {batch_size_, hidden_size_}, 0.0, input_.dtype()));
    }
    return out;
  }

  // Sequences that have ended before step `t` keep their state; their output is 0.
  void hold_finished(int64_t t, const Tensors& before, Tensors& after, Tensor& output) const {
    Ints running;
    for (int64_t n : lengths_) running.push_back(t < n);
    Tensor runs = Tensor::from_values(op_call_.graph(), running, dtypes::bool_).reshape({batch_size_, 1});
    for (size_t s = 0; s < after.size(); s++) after[s] = runs.where(after[s], before[s]);
    output = runs.where(output, Const(0.0));
  }

  Tensor clip(const Tensor& v) const {
    double most = op_call_.attribute_float("clip", 0);
    return op_call_.op_attribute("clip") ? v.clamp(Const(-most), Const(most)) : v;
  }

  Tensor activate_gate(size_t which, const Tensor& v) const {
    const onnx::Attribute* names = op_call_.op_attribute("activations");
    size_t at = names ? size_t(direction_index_) * default_activations_.size() + which : which;
    if (names && at >= names->strings.size())
      throw Failure("it names " + std::to_string(names->strings.size()) + " activations");
    // The attribute has elements only for activations with this parameter (`takers`).
    auto parameter = [&](std::string_view attribute, std::initializer_list<std::string_view> takers) {
      const onnx::Attribute* list = op_call_.op_attribute(attribute);
      size_t index = 0;
      for (size_t i = 0; names && i < at; i++)
        index += size_t(std::ranges::count(takers, lower_case(names->strings[i])));
      return list && index < list->floats.size() ? std::optional(list->floats[index]) : std::nullopt;
    };
    return apply_activation(
        names ? lower_case(names->strings[at]) : default_activations_[which],
        parameter("activation_alpha", {"affine", "elu", "hardsigmoid", "leakyrelu", "scaledtanh", "thresholdedrelu"}),
        parameter("activation_beta", {"affine", "hardsigmoid", "scaledtanh"}), v);
  }

  OpCall& op_call_;
  int64_t num_gates_;
  std::vector<std::string> default_activations_;
  int64_t num_directions_ = 1, direction_index_ = 0, num_steps_ = 0, batch_size_ = 0, hidden_size_ = 0;
  bool is_reversed_ = false, is_batch_first_ = false;
  Tensor input_;
  Ints lengths_;  // empty if all sequences have the full length
};

using CellStep = RecurrentOp::CellStep;

Values rnn(OpCall& c) {
  return RecurrentOp(c, 1, {"tanh"}).run(1, [](const CellStep& s, const Tensors& state) -> Tensors {
    return {s.activate(0, s.gate_sum(state[0], 0))};
  });
}

// The gates of the weights are update, reset and hidden.
Values gru(OpCall& c) {
  bool reset_after = c.attribute_flag("linear_before_reset", false);
  return RecurrentOp(c, 3, {"sigmoid", "tanh"}).run(1, [&](const CellStep& s, const Tensors& state) -> Tensors {
    const Tensor& h = state[0];
    Tensor update = s.activate(0, s.gate_sum(h, 0)), reset = s.activate(0, s.gate_sum(h, 1));
    Tensor hidden = s.activate(1, reset_after ? s.input_term(2) + reset * s.recurrent_term(h, 2)
                                              : s.input_term(2) + s.recurrent_term(reset * h, 2));
    return {(1.0 - update) * hidden + update * h};
  });
}

// The gates of the weights are input, output, forget and cell.
Values lstm(OpCall& c) {
  bool coupled = c.attribute_flag("input_forget", false), peepholes = c.has_input(7);
  return RecurrentOp(c, 4, {"sigmoid", "tanh", "tanh"}).run(2, [&](const CellStep& s, const Tensors& state) -> Tensors {
    const Tensor &h = state[0], &cell = state[1];
    auto peep = [&](const Tensor& gate, int64_t which, const Tensor& at) {
      return peepholes ? gate + s.weight_block(7, which) * at : gate;
    };
    Tensor input = s.activate(0, peep(s.gate_sum(h, 0), 0, cell)),
           forget = coupled ? 1.0 - input : s.activate(0, peep(s.gate_sum(h, 2), 2, cell));
    Tensor next = forget * cell + input * s.activate(1, s.gate_sum(h, 3));
    Tensor output = s.activate(0, peep(s.gate_sum(h, 1), 1, next));
    return {output * s.activate_unclipped(2, next), next};  // like onnxruntime, clip only the inputs of gates
  });
}

constexpr std::string_view kShared = "activation_alpha activation_beta activations clip direction hidden_size layout";

}  // namespace

std::span<const OpDef> recurrent_ops() {
  static const std::string kGru = std::string(kShared) + " linear_before_reset",
                           kLstm = std::string(kShared) + " input_forget";
  // clang-format off
  static const OpDef kOps[] = {
    {"RNN", 7, kShared, rnn},
    {"GRU", 7, kGru, gru},
    {"LSTM", 7, kLstm, lstm},
  };
  // clang-format on
  return kOps;
}

}  // namespace tgc
