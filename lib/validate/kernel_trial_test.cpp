#include "lib/validate/kernel_trial.h"

#include <doctest/doctest.h>

#include "lib/compilation/input_graph.h"

namespace tgc {
namespace {

// Returns a kernel that computes data0[i] = data1[i] + n for i < 8, where the variable n is in 0..30.
InputGraph kernel_with_variable() {
  const std::string global = "UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(8), (), ";
  return std::move(load_graph_text({}, InputKind::Pyrender,
                                   "i = UOp.range(8, 0, AxisType.LOOP)\nn = UOp.variable('n', 0, 30)\nast = " + global +
                                       "0).index(i, ptr=True).store(" + global +
                                       "1).index(i)+n.cast(dtypes.int)).end(i).sink()\n",
                                   "test")
                       .value_or_throw());
}

KernelTrial begun(const InputGraph& in, TrialInputs given) {
  KernelTrial trial(in.root, {}, std::move(given), {.should_run_in_process = true});
  trial.begin_trial(Executable::make_for_ref(in.root).value_or_throw()).value_or_throw();
  return trial;
}

Arrays integer(const char* name, std::vector<int32_t> values) {
  Arrays out;
  out.push_back({name, Array(dtypes::int32, {int64_t(values.size())})});
  std::ranges::copy(values, out[0].array.as<int32_t>().begin());
  return out;
}

}  // namespace

TEST_CASE("KernelTrial takes a variable from --var, else from the arrays, else from the record, else draws it") {
  const InputGraph in = kernel_with_variable();
  auto chosen = [&](TrialInputs given) { return chosen_values_text(begun(in, std::move(given)).chosen_variables()); };
  CHECK(chosen({.arrays = integer("n", {4}), .variables = {{"n", 5}}, .recorded_variables = {{"n", 3}}}) ==
        "n=5, --var");
  CHECK(chosen({.arrays = integer("n", {4}), .recorded_variables = {{"n", 3}}}) == "n=4, --inputs");
  CHECK(chosen({.recorded_variables = {{"n", 3}}}) == "n=3, recorded");
  CHECK(chosen({}).ends_with(", drawn"));
  KernelTrial trial(in.root, {}, {.arrays = integer("data1", {1, 2, 3, 4, 5, 6, 7, 8}), .seed = {}});
  const Status begun = trial.begin_trial(Executable::make_for_ref(in.root).value_or_throw());
  REQUIRE_FALSE(begun.ok());
  CHECK(begun.diag().message == "the variable 'n' has no value");
}

TEST_CASE("KernelTrial tries the smallest and the largest value of each variable that --var does not set") {
  const InputGraph in = kernel_with_variable();
  const Executable kernel = std::move(Executable::make_for_ref(in.root).value_or_throw());
  auto bounds = variables_at_bounds(kernel, begun(in, {.recorded_variables = {{"n", 3}}}).chosen_variables());
  REQUIRE(bounds.size() == 2);
  CHECK(chosen_values_text(bounds[0]) == "n=0, the smallest");
  CHECK(chosen_values_text(bounds[1]) == "n=30, the largest");
  bounds = variables_at_bounds(kernel, begun(in, {.recorded_variables = {{"n", 30}}}).chosen_variables());
  REQUIRE(bounds.size() == 1);
  CHECK(chosen_values_text(bounds[0]) == "n=0, the smallest");
  CHECK(variables_at_bounds(kernel, begun(in, {.variables = {{"n", 3}}}).chosen_variables()).empty());
}

TEST_CASE("KernelTrial compares a candidate with what REF computes for the same variables and arrays") {
  const InputGraph in = kernel_with_variable();
  const KernelTrial trial = begun(in, {.variables = {{"n", 7}}});
  ExecutionResult expected = std::move(trial.run_reference().value_or_throw());
  const auto data1 = find_array(trial.inputs(), "data1")->as<int32_t>();
  CHECK(find_array(expected.outputs, "data0")->as<int32_t>()[2] == data1[2] + 7);
  Arrays stored = copy_arrays(expected.outputs);
  CHECK(trial.compare_arrays(stored, expected.outputs).value_or_throw()[0].has_passed());
  stored[0].array.as<int32_t>()[2]++;
  CHECK(trial.compare_arrays(stored, expected.outputs).value_or_throw()[0].num_different == 1);
}

TEST_CASE("take_expected refuses arrays that the kernel does not store, and files that lack one") {
  const InputGraph in = kernel_with_variable();
  const Executable kernel = std::move(Executable::make_for_ref(in.root).value_or_throw());
  Arrays right = integer("data0", {0, 0, 0, 0, 0, 0, 0, 0}), other = integer("data1", {1}), none;
  CHECK(take_expected_arrays(right, kernel, "f.npz").ok());
  CHECK(take_expected_arrays(other, kernel, "f.npz").diag().message == "the kernel stores no array 'data1'");
  CHECK_FALSE(take_expected_arrays(none, kernel, "f.npz").ok());
}

TEST_CASE("input_distribution draws no negative numbers for arrays on which roots and logarithms depend") {
  // Returns the arrays of FloatKind::Unit of a kernel that stores `value` of a, b and c, the elements of data1 to
  // data3.
  auto unit_arrays = [](const std::string& value, const std::string& stored_to = "0") {
    std::string text = "i = UOp.range(8, 0, AxisType.LOOP)\n";
    for (const std::string slot : {"0", "1", "2", "3"})
      text += "d" + slot + " = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(8), (), " + slot + ")\n";
    text += "a = d1.index(i)\nb = d2.index(i)\nc = d3.index(i)\nzero = UOp.const(dtypes.float, 0.0)\nv = " + value +
            "\nast = d" + stored_to + ".index(i, ptr=True).store(v).end(i).sink()\n";
    const InputGraph in = std::move(load_graph_text({}, InputKind::Pyrender, text, "test").value_or_throw());
    const InputDistribution draw = make_input_distribution(in.root);
    std::string out = draw.floats == FloatKind::Unit ? "all" : "";
    for (const std::string& name : draw.unit_inputs) out += (out.empty() ? "" : " ") + name;
    return out;
  };
  CHECK(unit_arrays("a+b*c") == "");
  CHECK(unit_arrays("a.sqrt()+b") == "data1");
  CHECK(unit_arrays("(b*b+a).sqrt()*c") == "data1");
  CHECK(unit_arrays("(a*a+b.exp2()).sqrt()*c") == "");
  CHECK(unit_arrays("(a*a*UOp.const(dtypes.float, -1.0)+b.exp2()).sqrt()*c") == "data1 data2");
  CHECK(unit_arrays("(zero<a).where(a, b).log2()+c") == "data1 data2");
  CHECK(unit_arrays("c.sqrt().log2()+a") == "data3");
  CHECK(unit_arrays("(a+b*b).sqrt()", "1") == "data1");
  CHECK(unit_arrays("a.sqrt()*b", "1") == "data1 data2");
}

}  // namespace tgc
