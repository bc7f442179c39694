#include "lib/lint/jit_lint_internal.h"
#include "lib/uop/release.h"

namespace tgc {
namespace {

// Returns the beginning of the first line of an error.
std::string shorten_error(std::string text) {
  constexpr size_t kMost = 100;
  for (std::string_view end : {"\n", ": self.", " len("}) text = text.substr(0, text.find(end));
  return text.size() > kMost ? text.substr(0, kMost) + "..." : text;
}

std::string shape_text(const Json& fact) {
  std::string out;
  for (const Json& d : fact.value("shape", Json::array()))
    out += (out.empty() ? "" : ", ") + (d.is_string() ? d.get<std::string>() : d.dump());
  return "(" + out + ")";
}

}  // namespace

Status JitLinter::add_line(std::string_view line, std::string_view file, uint32_t number) {
  try {
    Json j = Json::parse(line);
    if (j.contains("format")) {
      const Release release = release_of(text_of_member(j, "producer"));
      has_input_copies_ = release >= Release::v0_13;
      if (text_of_member(j, "level") == "jit") return Unit{};
      return Diag{.message = "a recording of " + text_of_member(j, "level") + " records",
                  .file = std::string(file),
                  .expected = "one of TinyJits, as tinygrad_export.py writes it: NAME.jit.jsonl.gz"};
    }
    if (j.at("event") == "read") {
      check_buffer_use(j.at("jit").get<size_t>(), j.at("call").get<size_t>(), j.at("buffer").get<int64_t>(),
                       text_of_member(j, "place"));
      return Unit{};
    }
    if (j.at("event") == "unscheduled")
      return add_lost_store(text_of_member(j, "place"), j.at("count").get<size_t>()), Unit{};
    if (j.at("event") == "late")
      return check_late_tensor({j.at("jit"), j.at("call"), text_of_member(j, "place"), j.at("moved"), j.at("inputs")}),
             Unit{};
    if (j.at("event") == "lost")
      return add_lost_gradient(j.at("jit").get<size_t>(), text_of_member(j, "place"), text_of_member(j, "from")),
             Unit{};
    if (j.at("event") == "assign")
      return assigned_buffers_[j.at("buffer").get<int64_t>()] = text_of_member(j, "place"), Unit{};
    JitCall now;
    now.jit = j.at("jit"), now.call_number = j.at("call");
    now.function = text_of_member(j, "function"), now.definition_location = text_of_member(j, "place"),
    now.call_location = text_of_member(j, "from");
    now.phase = text_of_member(j, "phase"), now.error = text_of_member(j, "error");
    const Json none;
    auto of = [&](const char* key) -> const Json& { return j.contains(key) ? j[key] : none; };
    for (auto& [name, fact] : of("args").items()) now.args[name] = fact;
    for (auto& [name, value] : of("sees").items()) now.outer_values[name] = value.get<std::string>();
    for (const Json& name : of("changes")) now.changed_variables.push_back(name.get<std::string>());
    for (const Json& read : of("reads")) now.reading_locations.push_back(text_of_member(read, "place"));
    for (const Json& lost : of("pending")) now.pending_locations.push_back(text_of_member(lost, "place"));
    for (const Json& out : of("outputs")) {
      now.output_buffers.push_back(out.at("buffer").get<int64_t>());
      for (const Json& size : out.value("shape", none))
        if (size.is_string()) now.output_sizes.push_back(size.get<std::string>());
    }
    for (const Json& k : of("kernels"))
      now.kernels.push_back({text_of_member(k, "name"), text_of_member(k, "place"),
                             k.value("devices", std::vector<std::string>()), k.value("reads", std::vector<int64_t>()),
                             k.value("writes", std::vector<int64_t>())});
    for (const Json& r : of("rebinds"))
      now.rebinds.push_back({text_of_member(r, "name"), r.at("was"), r.at("is"), r.at("computed")});
    if (now.phase == "capture" && !j.contains("moved")) lacks_late_tensors_ = true;
    if (now.phase == "capture" && !j.contains("kernels") && !now.pending_locations.empty()) {
      lacks_kernels_ = true;  // a capture whose inputs are on several devices may have no kernels in the recording
      now.pending_locations.clear();
    }
    for (const Json& name : of("unread")) now.unread_arguments.push_back(name.get<std::string>());
    check_call(now);
    return Unit{};
  } catch (const Json::exception& e) {
    std::string_view what = e.what();
    return Diag{.message = "a line that is no event: " + std::string(what.substr(what.find("] ") + 2)),
                .file = std::string(file),
                .line = number,
                .expected = "a recording of TinyJits: NAME.jit.jsonl.gz"};
  }
}

JitFinding* JitLinter::add_finding(const JitState& jit, std::string_view kind, const std::string& where,
                                   std::string problem_text, std::string fix_text, const std::string& once) {
  if (!reported_keys_
      .insert(jit.function + "\n" + jit.definition_location + "\n" + std::string(kind) + "\n" +
              (once.empty() ? where : once))
      .second)
    return nullptr;
  findings_.push_back({std::string(kind), jit.function, where, std::move(problem_text), std::move(fix_text)});
  return &findings_.back();
}

void JitLinter::add_note(const JitState& jit, std::string_view kind, const std::string& where, std::string problem_text,
                         std::string fix_text) {
  if (reported_keys_.insert(jit.function + "\n" + jit.definition_location + "\n" + std::string(kind)).second)
    notes_.push_back({std::string(kind), jit.function, where, std::move(problem_text), std::move(fix_text)});
}

void JitLinter::check_call(const JitCall& now) {
  num_calls_++;
  auto& slot = jits_by_number_[now.jit];
  if (!slot) slot = std::make_shared<JitState>(JitState{now.function, now.definition_location, {}, {}, {}, {}, {}, 0});
  JitState& jit = *slot;
  if (!now.error.empty()) return add_error(jit, now);
  for (const std::string& place : now.reading_locations)
    add_finding(jit, "baked-value", place,
                "the value that is read when the function is traced is used in every later call",
                "read it outside of the function, and pass what depends on it");
  for (const std::string& name : now.changed_variables)
    add_finding(jit, "side-effect", now.definition_location,
                "'" + name + "' changes while the function is traced, and no more after that",
                "change it outside of the function", name);
  if (now.phase == "capture") {
    check_capture(jit, now);
    jit.capturing_call = now;
  }
  for (auto& [name, fact] : now.args)
    if (auto of = fact.find("of"); of != fact.end())
      check_buffer_use(of->at(0), of->at(1), fact.value("buffer", int64_t(-1)), now.shown_location());
  if (now.phase == "replay" && jit.capturing_call) check_replay(jit, now);
  check_outputs(jit, now);
}

// If the error is an args mismatch, the finding names the tensor arguments that differ from those of the capture in
// shape or dtype, and views that may differ in offset.
void JitLinter::add_error(const JitState& jit, const JitCall& now) {
  const JitRemedy* remedy = find_jit_remedy(now.error);
  std::string different;
  if (jit.capturing_call && now.error.find("args mismatch") != now.error.npos)
    for (auto& [name, fact] : now.args) {
      auto then = jit.capturing_call->args.find(name);
      if (then == jit.capturing_call->args.end() || text_of_member(fact, "kind") != "tensor") continue;
      std::string shape = shape_text(fact), before = shape_text(then->second);
      std::string dtype = text_of_member(fact, "dtype"), dtype_before = text_of_member(then->second, "dtype");
      if (shape != before) different += "; '" + name + "' has the shape " + shape + " here, and had " + before;
      else if (dtype != dtype_before) different += "; '" + name + "' is " + dtype + " here, and was " + dtype_before;
      else if (fact.value("view", false) && now.error.find("input_info") != now.error.npos)
        different += "; '" + name + "' is a view with another offset in its buffer than the captured one";
    }
  add_finding(jit, "refused", now.shown_location(),
              "call " + std::to_string(now.call_number) + " raises " + shorten_error(now.error) +
                  (remedy ? ": " + std::string(remedy->explanation) : std::string()) + different,
              remedy ? std::string(remedy->fix_text) : "see the message");
}

// Setting a variable to another tensor is correct only if replays compute the new tensor and no kernel reads the old
// tensor.
void JitLinter::check_rebinds(const JitState& jit, const JitCall& now) {
  for (const JitCall::VariableRebind& r : now.rebinds) {
    const std::string reader = now.kernel_of_buffer(r.old_buffer, &JitCall::Kernel::reads);
    const bool is_written = !now.kernel_of_buffer(r.new_buffer, &JitCall::Kernel::writes).empty();
    if (r.is_computed && is_written && reader.empty()) continue;
    const std::string why = !r.is_computed   ? "no captured kernel computes its new value"
                            : reader.empty() ? "no captured kernel writes it"
                                             : "each replay reads the value from before the capture";
    JitFinding* f = add_finding(jit, "side-effect", now.definition_location,
                                "'" + r.name + "' is bound to another tensor during the capture only: " + why,
                                "assign to it in place: " + r.name + ".assign(...).realize()", r.name);
    if (f) f->buffer = r.old_buffer, f->kernel = reader;
  }
}

void JitLinter::add_lost_gradient(size_t number, const std::string& place, const std::string& from) {
  if (auto jit = jits_by_number_.find(number); jit != jits_by_number_.end() && jit->second) {
    jit->second->lost_read_locations.insert(from);
    add_finding(
        *jit->second, "lost-assign", place,
        "no captured kernel adds to the gradient that " + from + " reads, so a replay adds nothing to it",
        "realize it inside the function: x.grad.realize(); or take x.grad = None (zero_grad) before backward()");
  }
}

void JitLinter::add_lost_store(const std::string& place, size_t count) {
  const std::string what = count == 1
                               ? "no schedule has the assignment that is made here, so that no kernel performs it"
                               : "no schedule has any of the " + std::to_string(count) +
                                     " assignments that are made here, so that no kernel performs them";
  const size_t colon = place.rfind(':');
  findings_.push_back({"lost-store", colon == place.npos ? place : place.substr(colon + 1), place, what,
                       "realize the tensor: x.assign(y).realize()"});
}

// Reports the use of a tensor that a capture made but did not compute, if its value may be wrong.
void JitLinter::check_late_tensor(const LateTensor& late) {
  auto known = jits_by_number_.find(late.jit);
  if (known == jits_by_number_.end() || !known->second->capturing_call) return;
  const JitState& jit = *known->second;
  const std::string what = "the tensor that is computed here was made in call " + std::to_string(late.call) +
                           ", the capture",
                    fix_text =
                        "compute it inside the function, so that each replay does: x.realize(), or x.grad.realize()";
  if (!late.moved_buffers.empty()) {
    JitFinding* f = add_finding(jit, "unwritten-buffer", late.place,
                                what +
                                    "; it reads a buffer that no kernel writes, because the memory planner of the "
                                    "jit gave the captured kernels another one",
                                fix_text);
    if (f) f->buffer = late.moved_buffers[0];
    return;
  }
  for (int64_t input : late.input_buffers) {
    if (!jit.replaced_buffers.contains(input) || jit.lost_read_locations.contains(late.place)) continue;
    JitFinding* f =
        add_finding(jit, "stale-tensor", late.place,
                    what + ", and is computed from the arguments of that call; later calls had others", fix_text);
    if (f) f->buffer = input;
    return;
  }
}

void JitLinter::check_capture(JitState& jit, const JitCall& now) {
  check_rebinds(jit, now);
  for (const std::string& place : now.pending_locations)
    add_finding(jit, "lost-assign", place, "no captured kernel performs the assignment, so a replay skips it",
                "realize it inside the function: x.assign(y).realize()");
  for (const std::string& name : now.unread_arguments)
    if (JitFinding* f = add_finding(
            jit, "unread-input", now.shown_location(),
            "none of the " + std::to_string(now.kernels.size()) + " captured kernels uses '" + name +
                "', so it does not affect the result",
            "use it in the function as a tensor (not by .item() or a Python branch), or do not pass it", name))
      if (auto arg = now.args.find(name); arg != now.args.end() && arg->second.contains("buffer"))
        f->buffer = arg->second.at("buffer").get<int64_t>();
  // Report batches that are split: only successive kernels on the same kind of device are launched together.
  auto kinds = [](const JitCall::Kernel& k) {
    std::set<std::string> out;
    for (const std::string& d : k.devices) out.insert(d.substr(0, d.find(':')));
    return out;
  };
  for (size_t i = 1; i + 1 < now.kernels.size(); i++) {
    const JitCall::Kernel& k = now.kernels[i];
    std::set<std::string> home = kinds(now.kernels[i - 1]);
    if (home.size() != 1 || kinds(k) == home) continue;
    size_t back = i + 1;
    while (back < now.kernels.size() && kinds(now.kernels[back]) != home) back++;
    if (back == now.kernels.size()) continue;
    std::string devices;
    for (const std::string& d : k.devices) devices += (devices.empty() ? "" : " and ") + d;
    if (JitFinding* f =
        add_finding(jit, "broken-batch", k.place.empty() ? now.shown_location() : k.place,
                    (k.name == "copy" ? "a copy between " + devices : "'" + k.name + "' on " + devices) +
                        " stands between kernels on " + *home.begin() +
                        ": they are launched in two batches, and each replay waits between them",
                    "keep what the function computes on one device, or move the copy before or after it"))
      f->kernel = k.name;
    i = back;
  }
}

}  // namespace tgc
