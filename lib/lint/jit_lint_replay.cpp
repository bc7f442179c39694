// The checks of replays, and of how the program uses the results of calls.
#include "lib/lint/jit_lint_internal.h"

namespace tgc {
namespace {

bool is_list(const std::string& value) { return value.starts_with("list of "); }
bool is_tensor(const std::string& value) { return value.starts_with("buffer ") || value.starts_with("unrealized "); }
int64_t buffer_number_of(const std::string& value) {
  return std::strtoll(value.c_str() + value.find(' '), nullptr, 10);
}

// Returns a bound variable, recorded as the repr of a BIND, as "size = 3"; "" for any other text.
std::string bound_variable_text(const std::string& dimension) {
  auto text_after = [&](std::string_view word, size_t at) {
    if (at == dimension.npos) return std::string();
    const size_t begin = at + word.size();
    return dimension.substr(begin, dimension.find_first_of("',)", begin) - begin);
  };
  constexpr std::string_view kOld = "arg=('", kNew = "name='", kValue = "arg=";
  if (dimension.find("Ops.BIND") == dimension.npos) return {};
  std::string name = text_after(kOld, dimension.find(kOld));
  if (name.empty()) name = text_after(kNew, dimension.find(kNew));
  return name + " = " + text_after(kValue, dimension.rfind(kValue));
}

// Returns true if `name` ("self.scale") is a member of an argument that was another object during the capture.
bool is_of_other_object(const std::string& name, const std::map<std::string, Json>& now,
                        const std::map<std::string, Json>& then) {
  size_t dot = name.find('.');
  if (dot == name.npos) return false;
  auto passed = now.find(name.substr(0, dot)), captured = then.find(name.substr(0, dot));
  return passed != now.end() && captured != then.end() &&
         passed->second.value("object", 0) != captured->second.value("object", 0);
}

// Returns true if a tensor in a nested container of `a` has another buffer than what `b` has at this place. Ignores the
// tensors of the outermost container, which are inputs.
bool nested_tensors_differ(const Json& a, const Json& b, int depth) {
  if (depth > 1 && text_of_member(a, "kind") == "tensor") return a.value("buffer", 0) != b.value("buffer", 0);
  if (text_of_member(a, "kind") != "several" || text_of_member(b, "kind") != "several") return false;
  const Json &x = a.at("items"), &y = b.at("items");
  for (size_t i = 0; i < std::min(x.size(), y.size()); i++)
    if (nested_tensors_differ(x.at(i), y.at(i), depth + 1)) return true;
  return false;
}

}  // namespace

void JitLinter::check_replay(JitState& jit, const JitCall& now) {
  const JitCall& then = *jit.capturing_call;
  const std::string& where = now.shown_location();
  for (auto& [name, value] : now.outer_values) {
    auto before = then.outer_values.find(name);
    if (before == then.outer_values.end() || before->second == value) continue;
    const bool is_side_effect = std::ranges::count(then.changed_variables, name) ||
                                std::ranges::count(then.rebinds, name, &JitCall::VariableRebind::name);
    if (is_side_effect || is_of_other_object(name, now.args, then.args)) continue;  // other checks report these changes
    JitFinding* found = nullptr;
    if (value.starts_with("unrealized "))
      found = add_finding(
          jit, "unrealized-tensor", where,
          "'" + name + "' has a new value that is not computed yet; a replay reads the old value from its buffer",
          "compute it before the call: " + name + ".assign(...).realize()", name);
    else if (is_tensor(value))
      found = add_finding(jit, "frozen-tensor", where,
                          "'" + name + "' is another tensor than was captured; the captured one is used",
                          "pass it as an argument, or assign to it in place: " + name + ".assign(...).realize()", name);
    else if (is_list(value))
      add_finding(jit, "frozen-list", where,
                  "'" + name + "' is a " + value + " here; the " + before->second + " that was captured is used",
                  "capture again after the list changed: " + jit.function + ".reset()", name);
    else
      add_finding(jit, "frozen-value", where,
                  "'" + name + "' is " + value + " here, and stays " + before->second + ", as captured",
                  "pass it as a tensor, or as a Variable", name);
    if (found && is_tensor(before->second)) {
      found->buffer = buffer_number_of(before->second);
      found->kernel = then.kernel_of_buffer(*found->buffer, &JitCall::Kernel::reads);
    }
  }
  for (auto& [name, value] : now.outer_values)
    if (auto at =
            value.starts_with("buffer ") ? assigned_buffers_.find(buffer_number_of(value)) : assigned_buffers_.end();
        at != assigned_buffers_.end())
      add_note(jit, "implicit-input", where,
               "'" + name + "' is not passed, and is assigned to at " + at->second +
                   ": a replay reads what its buffer holds",
               "realize each assignment before the call, as here, or pass the tensor");
  jit.num_replays++;
  for (auto& [name, fact] : now.args) {
    auto before = then.args.find(name);
    if (before == then.args.end()) continue;
    std::string kind = text_of_member(fact, "kind");
    if (kind == "several")
      for (const Json& item : fact.at("items"))
        if (text_of_member(item, "kind") == "tensor")
          add_note(jit, "contained-input", where,
                   "tensors in '" + name + "' are inputs; in a container inside it they would not be",
                   "a flat container, as here");
    if (kind == "value" && before->second != fact)
      add_finding(jit, "frozen-value", where,
                  "the argument '" + name + "' is " + text_of_member(fact, "value") + " here, and stays " +
                      text_of_member(before->second, "value") + ", as captured, in the kernels and in Python branches",
                  "pass it as a tensor, or jit a function for each value", name);
    if (kind == "object" && before->second.value("object", 0) != fact.value("object", 0))
      add_finding(jit, "frozen-object", where,
                  "'" + name + "' is another " + text_of_member(fact, "type") +
                      " than in the capture; the tensors of the captured one are used",
                  "make a TinyJit for each object: self.step = TinyJit(self.step)", name);
    if (kind == "several" && nested_tensors_differ(fact, before->second, 0))
      add_finding(
          jit, "frozen-tensor", where,
          "'" + name + "' holds other tensors than were captured, in a container inside it; the captured ones are used",
          "pass them in one list, or as arguments of their own", name);
    if (kind != "tensor") continue;
    if (const Json& old = before->second; old.contains("buffer") && old.at("buffer") != fact.value("buffer", Json()))
      jit.replaced_buffers.insert(old.at("buffer").get<int64_t>());
    const bool is_output = std::find(then.output_buffers.begin(), then.output_buffers.end(),
                                     fact.value("buffer", int64_t(-1))) != then.output_buffers.end();
    if (jit.num_replays == 1 && is_output) jit.aliased_arguments.insert(name);
    if (jit.num_replays > 1 && !is_output && jit.aliased_arguments.contains(name))
      if (JitFinding* aliased = add_finding(jit, "aliased-input", where,
                                            "'" + name + "' was the captured output in the first replay and is not "
                                            "here: a graph that was made in the first replay omits that buffer",
                                            "pass a copy in the first replay: x.clone().realize()", name))
        aliased->buffer = fact.value("buffer", int64_t(-1));
    check_overwritten_input(jit, now, name);
    check_bound_shape(jit, now, name);
  }
}

// Reports an argument `name` with another buffer than in the capture, if a captured kernel writes this buffer before a
// later one reads the argument. Does nothing for tinygrad 0.13 and later, whose replays copy such an argument.
void JitLinter::check_overwritten_input(const JitState& jit, const JitCall& now, const std::string& name) {
  const std::vector<JitCall::Kernel>& kernels = jit.capturing_call->kernels;
  const int64_t passed = now.args.at(name).value("buffer", int64_t(-1)),
                captured = jit.capturing_call->args.at(name).value("buffer", int64_t(-1));
  if (has_input_copies_ || passed < 0 || passed == captured) return;
  auto writer = std::ranges::find_if(kernels, [&](auto& k) { return std::ranges::count(k.writes, passed) > 0; });
  auto reader = writer == kernels.end() ? writer : std::find_if(writer + 1, kernels.end(), [&](auto& k) {
    return std::ranges::count(k.reads, captured) > 0;
  });
  if (reader == kernels.end()) return;
  JitFinding* f = add_finding(jit, "overwritten-input", now.shown_location(),
                              "'" + name + "' is a result of an earlier call; the kernel " + writer->name +
                                  " overwrites it before the kernel " + reader->name + " reads it",
                              "pass a copy: " + name + ".clone().realize()", name);
  if (f) f->buffer = passed, f->kernel = reader->name;
}

// Reports a result whose shape has a variable that the argument `name` binds to another value than in the capture.
void JitLinter::check_bound_shape(const JitState& jit, const JitCall& now, const std::string& name) {
  const Json none = Json::array();
  const Json is = now.args.at(name).value("shape", none), was = jit.capturing_call->args.at(name).value("shape", none);
  for (size_t i = 0; i < std::min(is.size(), was.size()); i++) {
    if (!was[i].is_string() || is[i] == was[i]) continue;
    const std::string before = was[i].get<std::string>(), bound = bound_variable_text(before);
    if (bound.empty() || !std::ranges::count(now.output_sizes, before)) continue;
    const std::string here = is[i].is_string() ? bound_variable_text(is[i].get<std::string>()) : is[i].dump();
    add_finding(jit, "bound-shape", now.shown_location(),
                "the result has the shape of the capture, with " + bound + "; '" + name + "' has " + here + " here",
                "return a tensor of constant shape, and slice it outside of the function", name);
  }
}

// Records the new buffers that a call returns. Reports a note if an earlier call returned one of them.
void JitLinter::check_outputs(JitState& jit, const JitCall& now) {
  for (int64_t buffer : now.output_buffers) {
    auto passed = [&](auto& arg) { return arg.second.value("buffer", int64_t(-1)) == buffer; };
    if (std::any_of(now.args.begin(), now.args.end(), passed)) continue;
    auto& calls = jit.calls_by_output[buffer];
    // skip a tensor that existed before the call, such as a state that the function updates: it is no new result
    auto is_found = [&](auto& seen) { return seen.second == "buffer " + std::to_string(buffer); };
    if (calls.empty() && std::ranges::any_of(now.outer_values, is_found) &&
        !std::ranges::count(now.rebinds, buffer, &JitCall::VariableRebind::new_buffer))
      continue;
    if (!calls.empty() && *calls.begin() < now.call_number)
      add_note(jit, "shared-output", now.shown_location(), "the next call overwrites what a call returns",
               "use the result before the next call, or copy it: f(x).clone().realize()");
    calls.insert(now.call_number);
  }
}

void JitLinter::check_buffer_use(size_t number, size_t call, int64_t buffer, const std::string& where) {
  auto known = jits_by_number_.find(number);
  if (known == jits_by_number_.end()) return;
  auto calls = known->second->calls_by_output.find(buffer);
  if (calls == known->second->calls_by_output.end()) return;
  auto later = calls->second.upper_bound(call);
  if (later == calls->second.end()) return;
  JitFinding* f = add_finding(
      *known->second, "overwritten-output", where,
      "the result of call " + std::to_string(call) + " was overwritten by call " + std::to_string(*later),
      "keep a copy: f(x).clone().realize()");
  if (!f) return;
  std::erase_if(notes_, [&](const JitFinding& n) {
    return n.kind == "shared-output" && n.function == known->second->function;
  });
  f->buffer = buffer;
  if (known->second->capturing_call)
    f->kernel = known->second->capturing_call->kernel_of_buffer(buffer, &JitCall::Kernel::writes);
}

}  // namespace tgc
