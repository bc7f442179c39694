#include "lib/profile/code_source.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <vector>

#include "lib/compilation/input_graph.h"
#include "lib/compile/compile.h"
#include "lib/driver/source.h"
#include "lib/profile/profile.h"
#include "lib/runtime/compile_source.h"
#include "lib/support/counted.h"
#include "lib/support/lines.h"
#include "lib/support/result.h"
#include "lib/support/version.h"
#include "lib/target/target.h"
#include "lib/uop/exec_alu.h"
#include "lib/uop/graph.h"
#include "passes/pipeline.h"
#include "passes/program.h"
#include "renderers/renderer.h"

namespace tgc::profile {

namespace {

// Returns a function's name without the number that tells kernels of one name apart: "E_4" for "E_4n1".
std::string_view base_name(std::string_view name) {
  size_t digits = name.find_last_not_of("0123456789");
  bool has_number = digits != name.npos && digits > 0 && digits + 1 < name.size() && name[digits] == 'n';
  return has_number ? name.substr(0, digits) : name;
}

// Ops whose value is printed where it is used; a line's list of nodes leaves them out.
bool is_shown_inside(UOp u) {
  return !u.in({Op::CONST, Op::VCONST, Op::DEFINE_GLOBAL, Op::DEFINE_LOCAL, Op::DEFINE_REG, Op::DEFINE_VAR, Op::SPECIAL,
                Op::RANGE, Op::NOOP});
}

// Sets the nodes of each line of a source, and how the nodes access memory.
void add_nodes(const SourceMap& map, std::span<const UOp> list, uint32_t wave_size, CodeSource& out) {
  std::unordered_map<UOp, size_t> position;
  for (size_t n = 0; n < list.size(); n++) position[list[n]] = n;
  std::vector<std::set<size_t>> lines(list.size());  // by node: the lines that it is in
  for (size_t n = list.size(); n-- > 0;) {
    SourceLines own = map.of_node[n];
    if (own.count) lines[n].clear();  // its users name its variable
    for (size_t k = 0; k < own.count; k++) lines[n].insert(own.first + k);
    for (UOp s : list[n].src())
      if (auto at = position.find(s); at != position.end() && at->second < n && !map.of_node[at->second].count)
        lines[at->second].insert(lines[n].begin(), lines[n].end());
  }
  const auto sizes = group_sizes(list);
  out.nodes.resize(map.lines.size());
  for (bool prints_line : {true, false})
    for (size_t n = 0; n < list.size(); n++)
      if ((map.of_node[n].count > 0) == prints_line && (prints_line || is_shown_inside(list[n])))
        for (size_t line : lines[n]) {
          if (line == 0 || line > out.nodes.size()) continue;
          LinearNode node{n, std::string(name_of(list[n].op())), std::string(list[n].dtype().repr()), prints_line};
          if (line == *lines[n].begin())
            if (auto access = lane_access(list[n], wave_size, sizes))
              out.accesses.push_back({uint32_t(line), node, *access});
          out.nodes[line - 1].push_back(std::move(node));
        }
}

class SourceFinder {
 public:
  SourceFinder(const Session& session, const std::string& input, const Profile& profile)
      : session_(session), input_(input), profile_(profile) {
    for (size_t n = 0; n < profile.trace.kernels.size(); n++) {
      const KernelRun& run = profile.trace.kernels[n];
      if (!profile.chosen[n] || !run.program || out_.contains(run.program)) continue;
      if (input.empty() && !profile.trace.asts.contains(run.kernel)) continue;
      CodeSource& made = out_[run.program];
      if (isa_of(run.arch) == Isa::None) made.problem = "traces of this processor are not mapped to instructions";
      else if (auto text = find_text(run.program->lib); !text) made.problem = text.diag().message;
      else wanted_[run.arch].push_back({run.program, *text, run.kernel});
    }
  }

  CodeSources find() {
    const Settings settings = session_.settings_for().value_or_throw();
    if (const std::string& name = session_.over.target; !name.empty()) {
      const Target target = recorded_target(name, settings).value_or_throw();
      if (target.device != "AMD" && target.device != "HIP")
        throw Failure(Diag{.message = "the kernels of the profile are for AMD's GPUs, not for " + name,
                           .expected = "a target such as AMD:LLVM:gfx1100"});
    }
    for (auto& [arch, wanted] : wanted_) {
      std::vector<std::string> targets{session_.over.target};
      if (targets[0].empty()) targets = {"AMD:HIP:" + arch, "AMD:LLVM:" + arch};
      for (const std::string& target : targets) {
        if (input_.empty()) take_own(wanted, target);
        else take_input(wanted, target);
        std::erase_if(wanted, [&](const Wanted& w) { return !out_[w.program].lines.empty(); });
        if (wanted.empty()) break;
      }
      for (const Wanted& w : wanted) out_[w.program].problem = problem_of(w);
    }
    return std::move(out_);
  }

 private:
  struct Wanted {
    const Program* program;
    Section text;
    std::string kernel;
    std::string differs = {};  // how the code of a kernel of this name differs
  };

  // Compiles the ASTs of the profile itself.
  void take_own(std::vector<Wanted>& wanted, const std::string& target) {
    Session session = native_session(session_);
    std::set<std::string> names;
    for (const Wanted& w : wanted) names.insert(w.kernel);
    for (const std::string& name : names) {
      auto status = catch_failures([&] {
        take_graph(wanted, session, profile_ast(session, profile_.trace, name, target));
        return Unit{};
      });
      if (!status) last_error_ = status.diag().text();
    }
  }

  void take_input(std::vector<Wanted>& wanted, const std::string& target) {
    Session session = native_session(session_);
    auto source = Source::open(session, input_);
    for (;;) {
      auto in = source.value_or_throw().next();
      if (!in.value_or_throw()) return;
      (*in)->info.target = target;
      bool is_done = std::ranges::all_of(wanted, [&](const Wanted& w) { return !out_[w.program].lines.empty(); });
      if (is_done || session_.cancelled()) return;
      auto status = catch_failures([&] { return take_graph(wanted, session, std::move(**in)), Unit{}; });
      if (!status) last_error_ = status.diag().text();
    }
  }

  void take_graph(std::vector<Wanted>& wanted, const Session& session, InputGraph in) {
    const std::string shown = in.record ? InputName::parse(input_).shown() + "#" + in.record->id
                              : input_.empty() ? "the AST that the profile has" : input_;
    // 0.12.0's traces do not say the processor
    if (in.record && (in.info.target + ":").starts_with(in.record->target + ":"))
      take_recorded(wanted, *in.record, in.info.target, shown);
    Compilation c = std::move(session.begin(std::move(in)).value_or_throw());
    if (!c.is_tensor_graph()) return take_kernel(wanted, c, shown);
    for (size_t number : c.kernel_numbers()) {
      Compilation kernel = std::move(c.kernel(number).value_or_throw());
      take_kernel(wanted, kernel, shown + ", kernel " + std::to_string(number));
    }
  }

  // Takes the source that tinygrad itself rendered.
  void take_recorded(std::vector<Wanted>& wanted, const GoldenRecord& record, const std::string& target,
                     const std::string& shown) {
    if (!record.source || !record.program) return;
    const std::string& name = record.program->function_name;
    auto job = job_for({.name = name, .function_name = name, .target = target, .text = *record.source});
    if (job) compare(wanted, name, std::move(*job), {.input = shown, .target = target});
  }

  void take_kernel(std::vector<Wanted>& wanted, Compilation& c, const std::string& shown) {
    auto list = c.list();
    std::string name = program_info(list.value_or_throw()).value_or_throw().function_name;
    seen_.insert(name);
    if (std::ranges::none_of(wanted, [&](const Wanted& w) { return base_name(w.kernel) == base_name(name); })) return;
    for (const Wanted& w : wanted)
      if (CodeSource& own = out_[w.program]; base_name(w.kernel) == base_name(name) && !own.work)
        if (auto work = catch_failures([&] { return work_of(c, shown); })) own.work = std::move(*work);
    auto map = source_map(c.target(), *list);
    CodeSource made{.input = shown, .target = c.target().name()};
    const bool is_rdna = isa_of(c.target().arch) != Isa::None;
    if (map) add_nodes(*map, *list, is_rdna ? 32 : 64, made);
    compare(wanted, name, std::move(c.compile_job().value_or_throw()), made);
  }

  // Compiles a source. If the code is that of a wanted kernel, takes the source for this kernel.
  void compare(std::vector<Wanted>& wanted, std::string_view name, CompileJob job, const CodeSource& source) {
    job.lines = true;
    std::string binary;
    for (Wanted& w : wanted) {
      if (base_name(w.kernel) != base_name(name)) continue;
      if (binary.empty()) binary = compile(job, Artifact::Binary).value_or_throw();
      Section text = find_text(binary).value_or_throw();
      if (text.bytes != w.text.bytes) {
        auto [own, other] = std::ranges::mismatch(text.bytes, w.text.bytes);
        w.differs += formatted("%s%s: %zu bytes instead of %zu, different from byte %zu on",
                               w.differs.empty() ? "" : "; ", source.target.c_str(), text.bytes.size(),
                               w.text.bytes.size(), size_t(own - text.bytes.begin()));
        continue;
      }
      CodeSource& out = out_[w.program];
      if (!out.nodes.empty() || (!out.lines.empty() && source.nodes.empty())) continue;
      std::string listing = compile(job, Artifact::Disassembly).value_or_throw();
      auto work = std::move(out.work);
      out = source, out.work = std::move(work);
      for (std::string_view line : lines_of(job.source)) out.lines.emplace_back(line);
      for (auto [address, line] : source_lines(listing)) out.line_of[address - text.address + w.text.address] = line;
    }
  }

  std::string problem_of(const Wanted& w) const {
    const std::string input = input_.empty() ? "the profile's AST" : "'" + InputName::parse(input_).shown() + "'";
    if (w.differs.empty()) {
      if (input_.empty() && !last_error_.empty()) return "tgc cannot compile " + input + ": " + last_error_;
      std::string names;
      for (const std::string& name : seen_)
        if (names.size() < 100) names += (names.empty() ? "" : ", ") + name;
      return input + " has no kernel '" + w.kernel + "'" + (names.empty() ? "" : ", but " + names) +
             (last_error_.empty() ? "" : "; " + last_error_);
    }
    auto comment = find_section(w.program->lib, ".comment");
    std::string compiler;
    for (char c : comment ? comment->bytes : std::string_view()) compiler += c ? c : '\n';
    for (std::string_view line : lines_of(compiler))
      if (line.find("clang") != line.npos) compiler = line.substr(0, line.find(" ("));
    return "the code that tgc compiles of " + input + " by clang " + std::string(llvm_version()) +
           " is not the profile's (" + w.differs + ")" +
           (compiler.empty() ? "" : ", which was compiled by " + compiler);
  }

  const Session& session_;
  std::string input_;
  const Profile& profile_;
  CodeSources out_;
  std::map<std::string, std::vector<Wanted>> wanted_;  // by processor
  std::set<std::string> seen_;                         // names of the input's kernels
  std::string last_error_;
};

}  // namespace

uint32_t CodeSource::line_at(uint64_t address) const {
  auto found = line_of.find(address);
  return found == line_of.end() || found->second > lines.size() ? 0 : found->second;
}

std::string_view CodeSource::text_of(uint32_t line) const { return line ? trimmed(lines[line - 1]) : ""; }

const std::vector<LinearNode>& CodeSource::nodes_of(uint32_t line) const {
  static const std::vector<LinearNode> none;
  return line && line <= nodes.size() ? nodes[line - 1] : none;
}

std::string nodes_text(const std::vector<LinearNode>& nodes) {
  std::string out, inside;
  for (size_t n = 0; n < nodes.size(); n++) {
    const LinearNode& node = nodes[n];
    std::string_view dtype = node.dtype;
    if (dtype.starts_with("dtypes.")) dtype.remove_prefix(7);
    std::string number = std::to_string(node.number);
    if (node.prints_line) {
      out += (out.empty() ? "" : ", ") + number + " " + node.op;
      if (dtype != "void") out += " " + std::string(dtype);
      continue;
    }
    constexpr std::string_view kPlumbing[] = {"INDEX", "GEP", "VECTORIZE", "CAST", "AFTER"};
    if (std::ranges::find(kPlumbing, node.op) != std::end(kPlumbing)) continue;
    size_t last = n;  // of nodes with the same op
    while (last + 1 < nodes.size() && nodes[last + 1].op == node.op && nodes[last + 1].number == nodes[last].number + 1)
      last++;
    if (last > n) number += ".." + std::to_string(nodes[last].number);
    inside += (inside.empty() ? "" : ", ") + number + " " + node.op;
    n = last;
  }
  return inside.empty() ? out : out + (out.empty() ? "(" : " (") + inside + ")";
}

Result<CodeSources> find_sources(const Session& session, const std::string& input, const Profile& profile) {
  return catch_failures([&] { return SourceFinder(session, input, profile).find(); });
}

namespace {

constexpr size_t kMostNodes = 10000;  // of an index expression

// Returns 0 to 2 for the number of a thread in its work group along an axis.
std::optional<size_t> local_axis(UOp u) {
  if (!u.is(Op::SPECIAL) || !u.arg().is_str() || u.num_src() != 1) return {};
  std::string_view name = u.arg().text();
  bool is_local = name.starts_with("lidx") && name.size() == 5 && name[4] >= '0' && name[4] <= '2';
  return is_local ? std::optional(size_t(name[4] - '0')) : std::nullopt;
}

// Evaluates index expressions for one lane.
class Lane {
 public:
  // `sizes`: of the work group in x, y and z. Lanes are numbered along x first.
  Lane(uint32_t lane, const std::array<int64_t, 3>& sizes)
      : ids_{lane % sizes[0], lane / sizes[0] % sizes[1], lane / sizes[0] / sizes[1]} {}
  // The first thread, in the second iteration of `loop`.
  explicit Lane(UOp loop) : ids_{}, second_(loop) {}

  // Returns the value; empty if it depends on memory.
  std::optional<Arg> value(UOp root) {
    for (UOp u : toposort(root)) {
      if (values_.size() > kMostNodes) return {};
      if (auto made = evaluate(u)) values_[u] = *made;
      else if (u == root) return {};
    }
    return values_.at(root);
  }

 private:
  std::optional<Arg> evaluate(UOp u) {
    if (u.is(Op::CONST)) return u.arg();
    if (u.is(Op::RANGE) || u.is(Op::DEFINE_VAR)) return Arg(int64_t(second_ && u == second_));
    if (u.is(Op::SPECIAL)) {
      auto axis = local_axis(u);
      return Arg(axis ? ids_[*axis] : int64_t(0));
    }
    std::vector<Arg> sources;
    for (UOp s : u.src()) {
      auto known = values_.find(s);
      if (known == values_.end()) return {};
      sources.push_back(known->second);
    }
    if (u.is(Op::CAST)) return sources[0].is_integral() ? std::optional(sources[0]) : std::nullopt;
    if (!ops::ALU.contains(u.op())) return {};
    auto made = catch_failures([&] { return exec_alu(u.graph(), u.op(), u.dtype(), sources); });
    return made ? std::optional(*made) : std::nullopt;
  }

  std::array<int64_t, 3> ids_;
  UOp second_;
  std::unordered_map<UOp, Arg> values_;
};

// Returns the INDEX of an access to global memory, or an empty UOp.
UOp global_index(UOp access) {
  if (!access.in({Op::LOAD, Op::STORE}) || access.num_src() == 0) return {};
  UOp index = access.src(0);
  while (index.is(Op::CAST)) index = index.src(0);
  return index.is(Op::INDEX) && index.num_src() > 1 && index.src(0).is(Op::DEFINE_GLOBAL) ? index : UOp();
}

}  // namespace

std::array<int64_t, 3> group_sizes(std::span<const UOp> list) {
  std::array<int64_t, 3> out{1, 1, 1};
  for (UOp u : list)
    if (auto axis = local_axis(u); axis && u.src(0).is(Op::CONST) && u.src(0).arg().kind() == Arg::Kind::Int)
      out[*axis] = std::max<int64_t>(1, u.src(0).arg().small_int());
  return out;
}

std::optional<LaneAccess> lane_access(UOp access, uint32_t wave_size, const std::array<int64_t, 3>& sizes) {
  const UOp index = global_index(access);
  if (!index) return {};
  DType dtype = access.is(Op::LOAD) ? access.dtype() : access.src(1).dtype();
  const int64_t item = index.src(0).dtype().base().itemsize(), bytes = dtype.itemsize();
  LaneAccess out{.bytes = uint32_t(bytes)};
  std::set<int64_t> lines;
  std::vector<int64_t> addresses;
  const int64_t threads = sizes[0] * sizes[1] * sizes[2];
  for (uint32_t lane = 0; lane < std::min<int64_t>(wave_size, threads); lane++) {
    Lane evaluator(lane, sizes);
    if (index.num_src() > 2 && index.src(2).dtype() == dtypes::bool_)
      if (auto gate = evaluator.value(index.src(2)); gate && gate->is_integral() && !gate->to_const().truthy())
        continue;
    auto value = evaluator.value(index.src(1));
    if (!value || value->kind() != Arg::Kind::Int) return {};
    int64_t address = value->small_int() * item;
    addresses.push_back(address);
    for (int64_t at = address / kCacheLine; at <= (address + bytes - 1) / kCacheLine; at++) lines.insert(at);
  }
  out.lanes = uint32_t(addresses.size());
  if (out.lanes < 2) return {};
  out.lines = uint32_t(lines.size());
  std::vector<int64_t> distinct = addresses;
  std::ranges::sort(distinct);
  distinct.erase(std::ranges::unique(distinct).begin(), distinct.end());
  out.fewest_lines = uint32_t((int64_t(distinct.size()) * bytes + kCacheLine - 1) / kCacheLine);
  out.stride = addresses[1] - addresses[0];
  for (size_t n = 2; n < addresses.size(); n++)
    if (addresses[n] - addresses[n - 1] != out.stride) out.stride = 0;
  return out;
}

std::optional<int64_t> loop_stride(UOp access, UOp loop) {
  const UOp index = global_index(access);
  if (!index) return {};
  auto first = Lane(0, {1, 1, 1}).value(index.src(1)), second = Lane(loop).value(index.src(1));
  if (!first || !second || !first->is_integral() || !second->is_integral()) return {};
  return (second->small_int() - first->small_int()) * index.src(0).dtype().base().itemsize();
}

std::optional<int64_t> first_address(UOp access) {
  const UOp index = global_index(access);
  if (!index) return {};
  const auto first = Lane(0, {1, 1, 1}).value(index.src(1));
  if (!first || !first->is_integral()) return {};
  return first->small_int() * index.src(0).dtype().base().itemsize();
}

}  // namespace tgc::profile
