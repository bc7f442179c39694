#include "lib/lint/jit_lint.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lib/uop/release.h"

namespace tgc {
namespace {

using Json = nlohmann::json;

std::string text_of(const Json& j, const char* key) {
  auto at = j.find(key);
  return at != j.end() && at->is_string() ? at->get<std::string>() : std::string();
}

bool is_list(const std::string& value) { return value.starts_with("list of "); }
bool is_tensor(const std::string& value) { return value.starts_with("buffer ") || value.starts_with("unrealized "); }
int64_t number_of(const std::string& value) { return std::strtoll(value.c_str() + value.find(' '), nullptr, 10); }

// Returns the beginning of the first line of an error, without tinygrad internals that may follow.
std::string shortened(std::string text) {
  constexpr size_t kMost = 100;
  for (std::string_view end : {"\n", ": self.", " len("}) text = text.substr(0, text.find(end));
  return text.size() > kMost ? text.substr(0, kMost) + "..." : text;
}

// Returns the shape of a recorded argument as text: "(20, 20)".
std::string shape_of(const Json& fact) {
  std::string out;
  for (const Json& d : fact.value("shape", Json::array()))
    out += (out.empty() ? "" : ", ") + (d.is_string() ? d.get<std::string>() : d.dump());
  return "(" + out + ")";
}

// Returns a bound variable, recorded as the repr of a BIND, as "size = 3"; "" for any other text.
std::string bound_variable(const std::string& dimension) {
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

// Returns whether `name` ("self.scale") is a member of an argument that was another object during the capture.
bool of_another_object(const std::string& name, const std::map<std::string, Json>& now,
                       const std::map<std::string, Json>& then) {
  size_t dot = name.find('.');
  if (dot == name.npos) return false;
  auto passed = now.find(name.substr(0, dot)), captured = then.find(name.substr(0, dot));
  return passed != now.end() && captured != then.end() &&
         passed->second.value("object", 0) != captured->second.value("object", 0);
}

// Returns whether tensors in nested containers differ. Ignores tensors of the outermost container, which are inputs.
bool differs_inside(const Json& a, const Json& b, int depth) {
  if (depth > 1 && text_of(a, "kind") == "tensor") return a.value("buffer", 0) != b.value("buffer", 0);
  if (text_of(a, "kind") != "several" || text_of(b, "kind") != "several") return false;
  const Json &x = a["items"], &y = b["items"];
  for (size_t i = 0; i < std::min(x.size(), y.size()); i++)
    if (differs_inside(x[i], y[i], depth + 1)) return true;
  return false;
}

}  // namespace

// A call of a jitted function, as recorded.
struct JitLint::Call {
  size_t jit = 0, number = 0;
  std::string function, place, from, phase, error;
  std::map<std::string, Json> args;
  std::map<std::string, std::string> sees;
  std::vector<std::string> changes, reads, pending;
  std::vector<int64_t> outputs;
  std::vector<std::string> output_sizes;  // the symbolic dimensions of the outputs
  struct Kernel {
    std::string name, place;
    std::vector<std::string> devices;
    std::vector<int64_t> reads, writes;
  };
  std::vector<Kernel> kernels;  // the kernels that the call captured
  struct Rebind {  // a variable that the captured call set to another tensor
    std::string name;
    int64_t was = -1, is = -1;  // numbers of the buffers of the old and the new tensor
    bool is_computed = false;  // the new tensor is computed, not constant
  };
  std::vector<Rebind> rebinds;
  std::vector<std::string> unread;

  const std::string& where() const { return from.empty() ? place : from; }
  // Returns the name of the first kernel that has the buffer in the list `which` (its reads or writes); "" if none has.
  std::string kernel_of(int64_t buffer, std::vector<int64_t> Kernel::*which) const {
    for (const Kernel& k : kernels)
      if (std::find((k.*which).begin(), (k.*which).end(), buffer) != (k.*which).end()) return k.name;
    return {};
  }
};

// The event "late": a tensor that the capture made is computed outside of all jits.
struct JitLint::Late {
  size_t jit, call;
  std::string place;
  std::vector<int64_t> moved, inputs;  // numbers of the buffers that the tensor reads: moved ones, and arguments
};

struct JitLint::Jit {
  std::string function, place;
  std::optional<Call> captured;
  std::map<int64_t, std::set<size_t>> outputs;  // by buffer: the calls that returned it
  std::set<int64_t> replaced;  // buffers of the capture's arguments for which a replay had other buffers
  std::set<std::string> lost_reads;  // lines that read a gradient whose addition was lost
  std::set<std::string> aliased;  // arguments of the first replay whose buffer is an output of the capture
  size_t replays = 0;
};

Status JitLint::add(std::string_view line, std::string_view file, uint32_t number) {
  try {
    Json j = Json::parse(line);
    if (j.contains("format")) {
      const Release release = release_of(text_of(j, "producer"));
      copies_inputs_ = release >= Release::v0_13;
      if (text_of(j, "level") == "jit") return Unit{};
      return Diag{.message = "a recording of " + text_of(j, "level") + " records",
                  .file = std::string(file),
                  .expected = "one of TinyJits, as tinygrad_export.py writes it: NAME.jit.jsonl.gz"};
    }
    if (j.at("event") == "read") {
      check_use(j.at("jit").get<size_t>(), j.at("call").get<size_t>(), j.at("buffer").get<int64_t>(),
                text_of(j, "place"));
      return Unit{};
    }
    if (j.at("event") == "unscheduled") return add_lost_store(text_of(j, "place"), j.at("count").get<size_t>()), Unit{};
    if (j.at("event") == "late")
      return check_late({j.at("jit"), j.at("call"), text_of(j, "place"), j.at("moved"), j.at("inputs")}), Unit{};
    if (j.at("event") == "lost")
      return add_lost_gradient(j.at("jit").get<size_t>(), text_of(j, "place"), text_of(j, "from")), Unit{};
    if (j.at("event") == "assign") return assigned_[j.at("buffer").get<int64_t>()] = text_of(j, "place"), Unit{};
    Call now;
    now.jit = j.at("jit"), now.number = j.at("call");
    now.function = text_of(j, "function"), now.place = text_of(j, "place"), now.from = text_of(j, "from");
    now.phase = text_of(j, "phase"), now.error = text_of(j, "error");
    const Json none;  // used for a missing member: has no items
    auto of = [&](const char* key) -> const Json& { return j.contains(key) ? j[key] : none; };
    for (auto& [name, fact] : of("args").items()) now.args[name] = fact;
    for (auto& [name, value] : of("sees").items()) now.sees[name] = value.get<std::string>();
    for (const Json& name : of("changes")) now.changes.push_back(name.get<std::string>());
    for (const Json& read : of("reads")) now.reads.push_back(text_of(read, "place"));
    for (const Json& lost : of("pending")) now.pending.push_back(text_of(lost, "place"));
    for (const Json& out : of("outputs")) {
      now.outputs.push_back(out.at("buffer").get<int64_t>());
      for (const Json& size : out.value("shape", none))
        if (size.is_string()) now.output_sizes.push_back(size.get<std::string>());
    }
    for (const Json& k : of("kernels"))
      now.kernels.push_back({text_of(k, "name"), text_of(k, "place"), k.value("devices", std::vector<std::string>()),
                             k.value("reads", std::vector<int64_t>()), k.value("writes", std::vector<int64_t>())});
    for (const Json& r : of("rebinds"))
      now.rebinds.push_back({text_of(r, "name"), r.at("was"), r.at("is"), r.at("computed")});
    if (now.phase == "capture" && !j.contains("moved")) lacks_late_tensors_ = true;
    if (now.phase == "capture" && !j.contains("kernels") && !now.pending.empty()) {
      lacks_kernels_ = true;  // of a capture whose inputs are on several devices
      now.pending.clear();
    }
    for (const Json& name : of("unread")) now.unread.push_back(name.get<std::string>());
    check_call(now);
    return Unit{};
  } catch (const Json::exception& e) {
    std::string_view what = e.what();  // for example "[json.exception.parse_error.101] parse error at line 1, ..."
    return Diag{.message = "a line that is no event: " + std::string(what.substr(what.find("] ") + 2)),
                .file = std::string(file),
                .line = number,
                .expected = "a recording of TinyJits: NAME.jit.jsonl.gz"};
  }
}

JitFinding* JitLint::add_finding(const Jit& jit, std::string_view what, const std::string& where, std::string happens,
                                 std::string mend, const std::string& once) {
  if (!reported_
           .insert(jit.function + "\n" + jit.place + "\n" + std::string(what) + "\n" + (once.empty() ? where : once))
           .second)
    return nullptr;
  findings_.push_back({std::string(what), jit.function, where, std::move(happens), std::move(mend)});
  return &findings_.back();
}

void JitLint::add_note(const Jit& jit, std::string_view what, const std::string& where, std::string happens,
                       std::string mend) {
  if (reported_.insert(jit.function + "\n" + jit.place + "\n" + std::string(what)).second)
    notes_.push_back({std::string(what), jit.function, where, std::move(happens), std::move(mend)});
}

void JitLint::check_call(const Call& now) {
  calls_++;
  auto& slot = jits_[now.jit];
  if (!slot) slot = std::make_shared<Jit>(Jit{now.function, now.place, {}, {}, {}, {}, {}, 0});
  Jit& jit = *slot;
  if (!now.error.empty()) return add_error(jit, now);
  for (const std::string& place : now.reads)
    add_finding(jit, "baked-value", place,
                "the value that is read when the function is traced is used in every later call",
                "read it outside of the function, and pass what depends on it");
  for (const std::string& name : now.changes)
    add_finding(jit, "side-effect", now.place,
                "'" + name + "' changes while the function is traced, and no more after that",
                "change it outside of the function", name);
  if (now.phase == "capture") {
    check_capture(jit, now);
    jit.captured = now;
  }
  for (auto& [name, fact] : now.args)
    if (fact.contains("of")) check_use(fact["of"][0], fact["of"][1], fact.value("buffer", int64_t(-1)), now.where());
  if (now.phase == "replay" && jit.captured) check_replay(jit, now);
  check_outputs(jit, now);
}

// Adds a finding for an error. It names the arguments that differ from those of the capture.
void JitLint::add_error(const Jit& jit, const Call& now) {
  const JitRemedy* remedy = jit_remedy(now.error);
  std::string different;
  if (jit.captured && now.error.find("args mismatch") != now.error.npos)
    for (auto& [name, fact] : now.args) {
      auto then = jit.captured->args.find(name);
      if (then == jit.captured->args.end() || text_of(fact, "kind") != "tensor") continue;
      std::string shape = shape_of(fact), before = shape_of(then->second);
      std::string dtype = text_of(fact, "dtype"), dtype_before = text_of(then->second, "dtype");
      if (shape != before) different += "; '" + name + "' has the shape " + shape + " here, and had " + before;
      else if (dtype != dtype_before) different += "; '" + name + "' is " + dtype + " here, and was " + dtype_before;
      else if (fact.value("view", false) && now.error.find("input_info") != now.error.npos)
        different += "; '" + name + "' is a view with another offset in its buffer than the captured one";
    }
  add_finding(jit, "refused", now.where(),
              "call " + std::to_string(now.number) + " raises " + shortened(now.error) +
                  (remedy ? ": " + std::string(remedy->means) : std::string()) + different,
              remedy ? std::string(remedy->mend) : "see the message");
}

// Reports variables that the function sets to another tensor. This is correct only if replays compute the new tensor
// and no kernel reads the old one: the variable then always has the latest result.
void JitLint::check_rebinds(const Jit& jit, const Call& now) {
  for (const Call::Rebind& r : now.rebinds) {
    const std::string reader = now.kernel_of(r.was, &Call::Kernel::reads);
    const bool is_written = !now.kernel_of(r.is, &Call::Kernel::writes).empty();
    if (r.is_computed && is_written && reader.empty()) continue;
    const std::string why = !r.is_computed   ? "no captured kernel computes its new value"
                            : reader.empty() ? "no captured kernel writes it"
                                             : "each replay reads the value from before the capture";
    JitFinding* f = add_finding(jit, "side-effect", now.place,
                                "'" + r.name + "' is bound to another tensor during the capture only: " + why,
                                "assign to it in place: " + r.name + ".assign(...).realize()", r.name);
    if (f) f->buffer = r.was, f->kernel = reader;
  }
}

void JitLint::add_lost_gradient(size_t number, const std::string& place, const std::string& from) {
  if (auto jit = jits_.find(number); jit != jits_.end() && jit->second) {
    jit->second->lost_reads.insert(from);
    add_finding(
        *jit->second, "lost-assign", place,
        "no captured kernel adds to the gradient that " + from + " reads, so a replay adds nothing to it",
        "realize it inside the function: x.grad.realize(); or take x.grad = None (zero_grad) before backward()");
  }
}

void JitLint::add_lost_store(const std::string& place, size_t count) {
  const std::string what = count == 1
                               ? "no schedule has the assignment that is made here, so that no kernel performs it"
                               : "no schedule has any of the " + std::to_string(count) +
                                     " assignments that are made here, so that no kernel performs them";
  const size_t colon = place.rfind(':');
  findings_.push_back({"lost-store", colon == place.npos ? place : place.substr(colon + 1), place, what,
                       "realize the tensor: x.assign(y).realize()"});
}

// Reports the use of a tensor that a capture made but did not compute, if its value is wrong.
void JitLint::check_late(const Late& late) {
  auto known = jits_.find(late.jit);
  if (known == jits_.end() || !known->second->captured) return;
  const Jit& jit = *known->second;
  const std::string what = "the tensor that is computed here was made in call " + std::to_string(late.call) +
                           ", the capture",
                    mend = "compute it inside the function, so that each replay does: x.realize(), or x.grad.realize()";
  if (!late.moved.empty()) {
    JitFinding* f = add_finding(jit, "unwritten-buffer", late.place,
                                what +
                                    "; it reads a buffer that no kernel writes, because the memory planner of the "
                                    "jit gave the captured kernels another one",
                                mend);
    if (f) f->buffer = late.moved[0];
    return;
  }
  for (int64_t input : late.inputs) {
    if (!jit.replaced.contains(input) || jit.lost_reads.contains(late.place)) continue;
    JitFinding* f =
        add_finding(jit, "stale-tensor", late.place,
                    what + ", and is computed from the arguments of that call; later calls had others", mend);
    if (f) f->buffer = input;
    return;
  }
}

void JitLint::check_capture(Jit& jit, const Call& now) {
  check_rebinds(jit, now);
  for (const std::string& place : now.pending)
    add_finding(jit, "lost-assign", place, "no captured kernel performs the assignment, so a replay skips it",
                "realize it inside the function: x.assign(y).realize()");
  for (const std::string& name : now.unread)
    if (JitFinding* f = add_finding(
            jit, "unread-input", now.where(),
            "none of the " + std::to_string(now.kernels.size()) + " captured kernels uses '" + name +
                "', so it does not affect the result",
            "use it in the function as a tensor (not by .item() or a Python branch), or do not pass it", name))
      if (auto arg = now.args.find(name); arg != now.args.end() && arg->second.contains("buffer"))
        f->buffer = arg->second["buffer"].get<int64_t>();
  // Report batches that are split: only successive kernels on the same kind of device are launched together.
  auto kinds = [](const Call::Kernel& k) {
    std::set<std::string> out;
    for (const std::string& d : k.devices) out.insert(d.substr(0, d.find(':')));
    return out;
  };
  for (size_t i = 1; i + 1 < now.kernels.size(); i++) {
    const Call::Kernel& k = now.kernels[i];
    std::set<std::string> home = kinds(now.kernels[i - 1]);
    if (home.size() != 1 || kinds(k) == home) continue;
    size_t back = i + 1;
    while (back < now.kernels.size() && kinds(now.kernels[back]) != home) back++;
    if (back == now.kernels.size()) continue;
    std::string devices;
    for (const std::string& d : k.devices) devices += (devices.empty() ? "" : " and ") + d;
    if (JitFinding* f =
            add_finding(jit, "broken-batch", k.place.empty() ? now.where() : k.place,
                        (k.name == "copy" ? "a copy between " + devices : "'" + k.name + "' on " + devices) +
                            " stands between kernels on " + *home.begin() +
                            ": they are launched in two batches, and each replay waits between them",
                        "keep what the function computes on one device, or move the copy before or after it"))
      f->kernel = k.name;
    i = back;
  }
}

void JitLint::check_replay(Jit& jit, const Call& now) {
  const Call& then = *jit.captured;
  const std::string& where = now.where();
  for (auto& [name, value] : now.sees) {
    auto before = then.sees.find(name);
    if (before == then.sees.end() || before->second == value) continue;
    const bool is_side_effect =
        std::ranges::count(then.changes, name) || std::ranges::count(then.rebinds, name, &Call::Rebind::name);
    if (is_side_effect || of_another_object(name, now.args, then.args)) continue;  // other checks report these changes
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
      found->buffer = number_of(before->second);
      found->kernel = then.kernel_of(*found->buffer, &Call::Kernel::reads);
    }
  }
  for (auto& [name, value] : now.sees)
    if (auto at = value.starts_with("buffer ") ? assigned_.find(number_of(value)) : assigned_.end();
        at != assigned_.end())
      add_note(jit, "implicit-input", where,
               "'" + name + "' is not passed, and is assigned to at " + at->second +
                   ": a replay reads what its buffer holds",
               "realize each assignment before the call, as here, or pass the tensor");
  jit.replays++;
  for (auto& [name, fact] : now.args) {
    auto before = then.args.find(name);
    if (before == then.args.end()) continue;
    std::string kind = text_of(fact, "kind");
    if (kind == "several")
      for (const Json& item : fact["items"])
        if (text_of(item, "kind") == "tensor")
          add_note(jit, "contained-input", where,
                   "tensors in '" + name + "' are inputs; in a container inside it they would not be",
                   "a flat container, as here");
    if (kind == "value" && before->second != fact)
      add_finding(jit, "frozen-value", where,
                  "the argument '" + name + "' is " + text_of(fact, "value") + " here, and stays " +
                      text_of(before->second, "value") + ", as captured, in the kernels and in Python branches",
                  "pass it as a tensor, or jit a function for each value", name);
    if (kind == "object" && before->second.value("object", 0) != fact.value("object", 0))
      add_finding(jit, "frozen-object", where,
                  "'" + name + "' is another " + text_of(fact, "type") +
                      " than in the capture; the tensors of the captured one are used",
                  "make a TinyJit for each object: self.step = TinyJit(self.step)", name);
    if (kind == "several" && differs_inside(fact, before->second, 0))
      add_finding(
          jit, "frozen-tensor", where,
          "'" + name + "' holds other tensors than were captured, in a container inside it; the captured ones are used",
          "pass them in one list, or as arguments of their own", name);
    if (kind != "tensor") continue;
    if (const Json& old = before->second; old.contains("buffer") && old["buffer"] != fact.value("buffer", Json()))
      jit.replaced.insert(old["buffer"].get<int64_t>());
    const bool is_output =
        std::find(then.outputs.begin(), then.outputs.end(), fact.value("buffer", int64_t(-1))) != then.outputs.end();
    if (jit.replays == 1 && is_output) jit.aliased.insert(name);
    if (jit.replays > 1 && !is_output && jit.aliased.contains(name))
      if (JitFinding* aliased = add_finding(jit, "aliased-input", where,
                                            "'" + name + "' was the captured output in the first replay and is not "
                                            "here: a graph that was made in the first replay omits that buffer",
                                            "pass a copy in the first replay: x.clone().realize()", name))
        aliased->buffer = fact.value("buffer", int64_t(-1));
    check_feedback(jit, now, name);
    check_bound_shape(jit, now, name);
  }
}

// Reports that the argument `name` is a captured output, and that a replay writes this output before its last read of
// the argument. Since 0.13, a replay copies such an argument.
void JitLint::check_feedback(const Jit& jit, const Call& now, const std::string& name) {
  const std::vector<Call::Kernel>& kernels = jit.captured->kernels;
  const int64_t passed = now.args.at(name).value("buffer", int64_t(-1)),
                captured = jit.captured->args.at(name).value("buffer", int64_t(-1));
  if (copies_inputs_ || passed < 0 || passed == captured) return;
  auto writer = std::ranges::find_if(kernels, [&](auto& k) { return std::ranges::count(k.writes, passed) > 0; });
  auto reader = writer == kernels.end() ? writer : std::find_if(writer + 1, kernels.end(), [&](auto& k) {
    return std::ranges::count(k.reads, captured) > 0;
  });
  if (reader == kernels.end()) return;
  JitFinding* f = add_finding(jit, "overwritten-input", now.where(),
                              "'" + name + "' is a result of an earlier call; the kernel " + writer->name +
                                  " overwrites it before the kernel " + reader->name + " reads it",
                              "pass a copy: " + name + ".clone().realize()", name);
  if (f) f->buffer = passed, f->kernel = reader->name;
}

// Reports a result whose shape has a variable that the argument `name` binds to another value than in the capture.
void JitLint::check_bound_shape(const Jit& jit, const Call& now, const std::string& name) {
  const Json none = Json::array();
  const Json is = now.args.at(name).value("shape", none), was = jit.captured->args.at(name).value("shape", none);
  for (size_t i = 0; i < std::min(is.size(), was.size()); i++) {
    if (!was[i].is_string() || is[i] == was[i]) continue;
    const std::string before = was[i].get<std::string>(), bound = bound_variable(before);
    if (bound.empty() || !std::ranges::count(now.output_sizes, before)) continue;
    const std::string here = is[i].is_string() ? bound_variable(is[i].get<std::string>()) : is[i].dump();
    add_finding(jit, "bound-shape", now.where(),
                "the result has the shape of the capture, with " + bound + "; '" + name + "' has " + here + " here",
                "return a tensor of constant shape, and slice it outside of the function", name);
  }
}

// Records the buffers that a call returns. Reports a note if an earlier call returned the same buffer.
void JitLint::check_outputs(Jit& jit, const Call& now) {
  for (int64_t buffer : now.outputs) {
    auto passed = [&](auto& arg) { return arg.second.value("buffer", int64_t(-1)) == buffer; };  // assigned in place
    if (std::any_of(now.args.begin(), now.args.end(), passed)) continue;
    auto& calls = jit.outputs[buffer];
    // a tensor that the function found, such as a state that it updates, is no result of its own
    auto is_found = [&](auto& seen) { return seen.second == "buffer " + std::to_string(buffer); };
    if (calls.empty() && std::ranges::any_of(now.sees, is_found) &&
        !std::ranges::count(now.rebinds, buffer, &Call::Rebind::is))
      continue;
    if (!calls.empty() && *calls.begin() < now.number)
      add_note(jit, "shared-output", now.where(), "the next call overwrites what a call returns",
               "use the result before the next call, or copy it: f(x).clone().realize()");
    calls.insert(now.number);
  }
}

void JitLint::check_use(size_t number, size_t call, int64_t buffer, const std::string& where) {
  auto known = jits_.find(number);
  if (known == jits_.end()) return;
  auto calls = known->second->outputs.find(buffer);
  if (calls == known->second->outputs.end()) return;
  auto later = calls->second.upper_bound(call);
  if (later == calls->second.end()) return;
  JitFinding* f = add_finding(
      *known->second, "overwritten-output", where,
      "the result of call " + std::to_string(call) + " was overwritten by call " + std::to_string(*later),
      "keep a copy: f(x).clone().realize()");
  if (!f) return;
  std::erase_if(notes_, [&](const JitFinding& n) {
    return n.what == "shared-output" && n.function == known->second->function;
  });
  f->buffer = buffer;
  if (known->second->captured) f->kernel = known->second->captured->kernel_of(buffer, &Call::Kernel::writes);
}

}  // namespace tgc
