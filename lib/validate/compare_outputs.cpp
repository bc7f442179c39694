#include "lib/validate/compare_outputs.h"

#include <algorithm>
#include <cstring>

#include "lib/execute/placement.h"
#include "lib/runtime/ref/rounding.h"
#include "lib/uop/copy.h"
#include "lib/uop/graph.h"
#include "lib/validate/perturb_rounding.h"
#include "lib/validate/reference_sample.h"

namespace tgc {
namespace {

// What the graph stores in REF; nothing when REF cannot run it.
Arrays stored_by(UOp root, const CompareContext& kernel) {
  Placement ref = place_in_ref();
  auto program = Executable::for_ref(root);
  if (!program) return {};
  auto inputs = input_arrays(program->buffers(), kernel.inputs, "", std::nullopt);
  if (!inputs) return {};
  auto done = execute(*program, *ref.device, *inputs, kernel.variables, kernel.options);
  return done ? std::move(done->outputs) : Arrays();
}

// Which elements of which arrays become something else when steps are off.
class OpenElements {
 public:
  explicit OpenElements(const CompareContext& kernel) {
    Graph graph(kernel.root.graph().settings());
    UOp root = copy_into(graph, kernel.root);
    Arrays plain = stored_by(root, kernel);
    for (const NamedArray& a : plain) open_.emplace_back(a.name, std::vector<bool>(size_t(a.array.size())));
    for (int way = 0; way < kShakings; way++) {
      Arrays other = stored_by(perturb_rounding(root, way), kernel);
      for (size_t i = 0; i < other.size() && i < plain.size(); i++) note(i, other[i].array, plain[i].array, root);
    }
  }
  const std::vector<bool>* find(const std::string& name) const {
    auto found = std::ranges::find(open_, name, &std::pair<std::string, std::vector<bool>>::first);
    return found == open_.end() ? nullptr : &found->second;
  }

 private:
  void note(size_t array, const Array& other, const Array& plain, UOp root) {
    std::vector<bool> differs =
        std::move(differing_elements(other, plain, tolerance_for({}, root, plain)).value_or_throw());
    for (size_t i = 0; i < differs.size(); i++)
      if (differs[i]) open_[array].second[i] = true;
  }

  std::vector<std::pair<std::string, std::vector<bool>>> open_;
};

// `actual`, with the elements that are open as they are expected.
Array with_settled(const Array& actual, const Array& expected, const std::vector<bool>& open) {
  Array out = actual.copy();
  auto item = size_t(out.dtype().itemsize());
  for (size_t i = 0; i < open.size(); i++)
    if (open[i]) std::memcpy(out.data() + i * item, expected.data() + i * item, item);
  return out;
}

}  // namespace

ToleranceOptions tolerance_for(const ToleranceOptions& asked, UOp root, const Array& expected) {
  bool is_asked = asked.rtol || asked.atol || asked.ulp;
  return is_asked ? asked : tolerance_between_devices(expected, coarsest_rounding(root), adds_up(root));
}

Result<std::vector<Comparison>> judge(const CompareContext& kernel, const Arrays& actual, const Arrays& expected,
                                      const std::function<ToleranceOptions(const Array& expected)>& tolerance,
                                      Arrays* settled) {
  return catch_failures([&] {
    std::vector<Comparison> out;
    if (settled) *settled = copy_of(actual);
    for (const NamedArray& e : expected) {
      const Array* a = find_array(actual, e.name);
      if (!a) throw Failure("nothing stores " + e.name);
      out.push_back(std::move(compare_arrays(e.name, *a, e.array, tolerance(e.array)).value_or_throw()));
    }
    if (!kernel.root || std::ranges::all_of(out, &Comparison::passed)) return out;
    OpenElements open(kernel);
    for (size_t i = 0; i < out.size(); i++) {
      const Array& e = expected[i].array;
      auto* elements = open.find(expected[i].name);
      if (out[i].passed() || !elements) continue;
      Array rest = with_settled(*find_array(actual, expected[i].name), e, *elements);
      int64_t all = out[i].different;
      out[i] = std::move(compare_arrays(expected[i].name, rest, e, tolerance(e)).value_or_throw());
      out[i].left_out = all - out[i].different;
      if (!settled) continue;
      auto it = std::ranges::find(*settled, expected[i].name, &NamedArray::name);
      it->array = std::move(rest);
    }
    return out;
  });
}

bool is_worth_asking(UOp root, const std::vector<Comparison>& compared) {
  constexpr double kMoment = 1e6;  // evaluations of UOps
  bool few = std::ranges::all_of(compared, [](const Comparison& c) { return 10 * c.different <= c.size; });
  return root && (few || work_of(root) <= kMoment);
}

}  // namespace tgc
