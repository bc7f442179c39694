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
#include "lib/uop/graph.h"
#include "passes/pipeline.h"
#include "passes/program.h"
#include "renderers/renderer.h"

namespace tgc::profile {

namespace {

constexpr double kMinAlignedShare = 0.7;

// Returns "E_4" for "E_4n1": a number distinguishes kernels with the same name.
std::string_view kernel_base_name(std::string_view name) {
  size_t digits = name.find_last_not_of("0123456789");
  bool has_number = digits != name.npos && digits > 0 && digits + 1 < name.size() && name[digits] == 'n';
  return has_number ? name.substr(0, digits) : name;
}

bool belongs_to_line(UOp u) {
  return !u.in({Op::CONST, Op::VCONST, Op::DEFINE_GLOBAL, Op::DEFINE_LOCAL, Op::DEFINE_REG, Op::DEFINE_VAR, Op::SPECIAL,
                Op::RANGE, Op::NOOP});
}

void add_line_nodes(const SourceMap& map, std::span<const UOp> list, uint32_t wave_size, CodeSource& out) {
  std::unordered_map<UOp, size_t> position;
  for (size_t n = 0; n < list.size(); n++) position[list[n]] = n;
  std::vector<std::set<size_t>> lines(list.size());
  for (size_t n = list.size(); n-- > 0;) {
    SourceLineRange own = map.lines_of_node[n];
    if (own.num_lines) lines[n].clear();  // the nodes that use it print only the name of its variable
    for (size_t k = 0; k < own.num_lines; k++) lines[n].insert(own.first_line + k);
    for (UOp s : list[n].src())
      if (auto at = position.find(s);
          at != position.end() && at->second < n && !map.lines_of_node[at->second].num_lines)
        lines[at->second].insert(lines[n].begin(), lines[n].end());
  }
  const auto sizes = group_sizes(list);
  out.line_nodes.resize(map.source_lines.size());
  for (bool prints_line : {true, false})
    for (size_t n = 0; n < list.size(); n++)
      if ((map.lines_of_node[n].num_lines > 0) == prints_line && (prints_line || belongs_to_line(list[n])))
        for (size_t line : lines[n]) {
          if (line == 0 || line > out.line_nodes.size()) continue;
          LinearNode node{n, std::string(name_of(list[n].op())), std::string(list[n].dtype().repr()), prints_line};
          if (line == *lines[n].begin() && list[n].in({Op::LOAD, Op::STORE})) {
            MemoryAccess access{.line = uint32_t(line), .node = node};
            access.lane_access = lane_access(list[n], wave_size, sizes);
            access.bank_access = bank_access(list[n], wave_size, sizes);
            if (UOp loop = loop_of_access(list[n])) {
              access.loop_step_bytes = loop_stride(list[n], loop);
              access.is_reduction = loop.arg().items().back().axis_type() == AxisType::REDUCE;
            }
            if (access.lane_access || access.bank_access) out.accesses.push_back(std::move(access));
          }
          out.line_nodes[line - 1].push_back(std::move(node));
        }
}

class SourceFinder {
 public:
  SourceFinder(const Session& session, const std::string& input, const Profile& profile)
      : session_(session), input_(input), profile_(profile) {
    for (size_t n = 0; n < profile.trace.runs.size(); n++) {
      const KernelRun& run = profile.trace.runs[n];
      if (!profile.is_run_chosen[n] || !run.program || sources_.contains(run.program)) continue;
      if (input.empty() && !profile.trace.kernel_asts.contains(run.kernel)) continue;
      CodeSource& made = sources_[run.program];
      if (!is_rdna(isa_of_arch(run.arch))) made.missing_reason = "tgc does not compile kernels for " + run.arch;
      else if (auto text = find_text(run.program->elf_bytes); !text) made.missing_reason = text.diag().message;
      else wanted_by_arch_[run.arch].push_back({run.program, *text, run.kernel, run.arch});
    }
  }

  CodeSources find() {
    const Settings settings = session_.merge_settings().value_or_throw();
    if (const std::string& name = session_.overrides.target; !name.empty()) {
      const Target target = parse_recorded_target(name, settings).value_or_throw();
      if (target.device != "AMD" && target.device != "HIP")
        throw Failure(Diag{.message = "the kernels of the profile are for AMD's GPUs, not for " + name,
                           .expected = "a target such as AMD:LLVM:gfx1100"});
    }
    for (auto& [arch, wanted] : wanted_by_arch_) {
      std::vector<std::string> targets{session_.overrides.target};
      if (targets[0].empty()) targets = {"AMD:HIP:" + arch, "AMD:LLVM:" + arch};
      for (const std::string& target : targets) {
        if (input_.empty()) match_profile_asts(wanted, target);
        else match_input(wanted, target);
        std::erase_if(wanted, [&](const WantedProgram& w) { return !sources_[w.program].lines.empty(); });
        if (wanted.empty()) break;
      }
      for (WantedProgram& w : wanted) {
        if (w.similar_source) set_source(std::move(*w.similar_source), sources_[w.program]);
        else sources_[w.program].missing_reason = missing_reason_of(w);
      }
    }
    return std::move(sources_);
  }

 private:
  struct WantedProgram {
    const GpuProgram* program;
    ElfSection text;
    std::string kernel;
    std::string arch;
    std::string mismatch_text = {};
    std::vector<ListedInstruction> listing = {};
    std::optional<CodeSource> similar_source = {};
    size_t num_matched = 0;
  };

  void match_profile_asts(std::vector<WantedProgram>& wanted, const std::string& target) {
    Session session = make_native_session(session_);
    std::set<std::string> names;
    for (const WantedProgram& w : wanted) names.insert(w.kernel);
    for (const std::string& name : names) {
      auto status = catch_failures([&] {
        match_graph(wanted, session, load_profile_ast(session, profile_.trace, name, target));
        return Unit{};
      });
      if (!status) last_error_ = status.diag().text();
    }
  }

  void match_input(std::vector<WantedProgram>& wanted, const std::string& target) {
    Session session = make_native_session(session_);
    auto source = GraphSource::open(session, input_);
    for (;;) {
      auto in = source.value_or_throw().next_graph();
      if (!in.value_or_throw()) return;
      (*in)->info.target = target;
      bool is_done =
          std::ranges::all_of(wanted, [&](const WantedProgram& w) { return !sources_[w.program].lines.empty(); });
      if (is_done || session_.is_cancelled()) return;
      auto status = catch_failures([&] { return match_graph(wanted, session, std::move(**in)), Unit{}; });
      if (!status) last_error_ = status.diag().text();
    }
  }

  void match_graph(std::vector<WantedProgram>& wanted, const Session& session, InputGraph in) {
    const std::string shown = in.record ? InputName::parse(input_).display_name() + "#" + in.record->id
                              : input_.empty() ? "the AST that the profile has" : input_;
    // the recorded target may lack the processor, as in recordings of tinygrad 0.12.0
    if (in.record && (in.info.target + ":").starts_with(in.record->target + ":"))
      match_recorded_kernel(wanted, *in.record, in.info.target, shown);
    Compilation c = std::move(session.begin(std::move(in)).value_or_throw());
    if (!c.is_tensor_graph()) return match_kernel(wanted, c, shown);
    for (size_t number : c.kernel_numbers()) {
      Compilation kernel = std::move(c.kernel(number).value_or_throw());
      match_kernel(wanted, kernel, shown + ", kernel " + std::to_string(number));
    }
  }

  void match_recorded_kernel(std::vector<WantedProgram>& wanted, const GoldenRecord& record, const std::string& target,
                             const std::string& shown) {
    if (!record.source || !record.program) return;
    const std::string& name = record.program->function_name;
    auto job = compile_job_for({.name = name, .function_name = name, .target = target, .text = *record.source});
    if (job) match_code(wanted, name, std::move(*job), {.input = shown, .target = target});
  }

  void match_kernel(std::vector<WantedProgram>& wanted, Compilation& c, const std::string& shown) {
    auto list = c.list();
    const ProgramInfo info = make_program_info(list.value_or_throw()).value_or_throw();
    const std::string& name = info.function_name;
    compiled_names_.insert(name);
    if (std::ranges::none_of(
            wanted, [&](const WantedProgram& w) { return kernel_base_name(w.kernel) == kernel_base_name(name); }))
      return;
    for (const WantedProgram& w : wanted)
      if (CodeSource& own = sources_[w.program];
          kernel_base_name(w.kernel) == kernel_base_name(name) && !own.kernel_work)
        if (auto work = catch_failures([&] { return work_of_kernel(c, shown); })) own.kernel_work = std::move(*work);
    auto map = make_source_map(c.target(), *list);
    CodeSource made{.input = shown, .target = c.target().name()};
    const uint32_t wave_size = is_rdna(isa_of_arch(c.target().arch)) ? 32 : 64;
    if (map) add_line_nodes(*map, *list, wave_size, made), made.opts = info.applied_opts.repr();
    match_code(wanted, name, std::move(c.make_compile_job().value_or_throw()), made);
  }

  // Takes the source for the wanted kernels of this name (kernel_base_name()) that have the same code and no better
  // source. For the others of this name, keeps it if its code is similar enough, and more similar than that of earlier
  // sources.
  void match_code(std::vector<WantedProgram>& wanted, std::string_view name, CompileJob job, const CodeSource& source) {
    job.annotates_lines = true;
    std::string binary;
    std::vector<ListedInstruction> own;
    for (WantedProgram& w : wanted) {
      if (kernel_base_name(w.kernel) != kernel_base_name(name)) continue;
      if (binary.empty()) binary = compile(job, Artifact::Binary).value_or_throw();
      ElfSection text = find_text(binary).value_or_throw();
      const bool is_same = text.bytes == w.text.bytes;
      const CodeSource& known = sources_[w.program];
      if (is_same && (!known.line_nodes.empty() || (!known.lines.empty() && source.line_nodes.empty()))) continue;
      if (own.empty()) own = parse_instructions(compile(job, Artifact::Disassembly).value_or_throw());
      CodeSource made = source;
      for (std::string_view line : lines_of(job.source)) made.lines.emplace_back(line);
      if (is_same) {
        for (const ListedInstruction& i : own)
          made.line_by_address[i.address - text.address + w.text.address] = {i.line};
        set_source(std::move(made), sources_[w.program]);
        continue;
      }
      auto [byte, other] = std::ranges::mismatch(text.bytes, w.text.bytes);
      w.mismatch_text += formatted("%s%s: %zu bytes instead of %zu, different from byte %zu on",
                                   w.mismatch_text.empty() ? "" : "; ", source.target.c_str(), text.bytes.size(),
                                   w.text.bytes.size(), size_t(byte - text.bytes.begin()));
      keep_if_similar(w, own, std::move(made));
    }
  }

  static void set_source(CodeSource source, CodeSource& out) {
    source.kernel_work = std::move(out.kernel_work);
    out = std::move(source);
  }

  void keep_if_similar(WantedProgram& w, std::vector<ListedInstruction> own, CodeSource source) {
    if (w.listing.empty())
      for (auto& [address, text] : disassemble_program(*w.program, w.arch)) w.listing.push_back({address, text});
    constexpr auto is_padding = [](const ListedInstruction& i) { return i.text == "s_code_end"; };
    std::erase_if(w.listing, is_padding), std::erase_if(own, is_padding);
    AlignedLines made = align_lines(w.listing, own);
    if (double(made.num_matched) < kMinAlignedShare * double(w.listing.size()) || made.num_matched <= w.num_matched)
      return;
    for (size_t n = 0; n < w.listing.size(); n++)
      source.line_by_address[w.listing[n].address] = made.instruction_lines[n];
    const std::string compiler = compiler_of(w);
    source.difference_text = "clang " + std::string(llvm_version()) + " makes other code than " +
                     (compiler.empty() ? "that of the profile" : compiler) + made.difference_text;
    w.num_matched = made.num_matched, w.similar_source = std::move(source);
  }

  std::string missing_reason_of(const WantedProgram& w) const {
    const std::string input =
        input_.empty() ? "the profile's AST" : "'" + InputName::parse(input_).display_name() + "'";
    if (w.mismatch_text.empty()) {
      if (input_.empty() && !last_error_.empty()) return "tgc cannot compile " + input + ": " + last_error_;
      std::string names;
      for (const std::string& name : compiled_names_)
        if (names.size() < 100) names += (names.empty() ? "" : ", ") + name;
      return input + " has no kernel '" + w.kernel + "'" + (names.empty() ? "" : ", but " + names) +
             (last_error_.empty() ? "" : "; " + last_error_);
    }
    return "the code that tgc compiles of " + input + " by clang " + std::string(llvm_version()) +
           " is not the profile's (" + w.mismatch_text + ")" +
           (compiler_of(w).empty() ? "" : ", which was compiled by " + compiler_of(w));
  }

  static std::string compiler_of(const WantedProgram& w) {
    auto comment = find_section(w.program->elf_bytes, ".comment");
    std::string text;
    for (char c : comment ? comment->bytes : std::string_view()) text += c ? c : '\n';
    for (std::string_view line : lines_of(text))
      if (line.find("clang") != line.npos) return std::string(line.substr(0, line.find(" (")));
    return "";
  }

  const Session& session_;
  std::string input_;
  const Profile& profile_;
  CodeSources sources_;
  std::map<std::string, std::vector<WantedProgram>> wanted_by_arch_;
  std::set<std::string> compiled_names_;
  std::string last_error_;
};

}  // namespace

uint32_t CodeSource::line_at_address(uint64_t address) const {
  auto found = line_by_address.find(address);
  return found == line_by_address.end() || found->second.line > lines.size() ? 0 : found->second.line;
}

bool CodeSource::is_exact_at_address(uint64_t address) const {
  auto found = line_by_address.find(address);
  return found != line_by_address.end() && found->second.is_exact;
}

std::string_view CodeSource::text_of_line(uint32_t line) const { return line ? trimmed_line(lines[line - 1]) : ""; }

const std::vector<LinearNode>& CodeSource::nodes_of_line(uint32_t line) const {
  static const std::vector<LinearNode> none;
  return line && line <= line_nodes.size() ? line_nodes[line - 1] : none;
}

std::string nodes_text(const std::vector<LinearNode>& nodes) {
  std::string out, inside;
  for (size_t n = 0; n < nodes.size(); n++) {
    const LinearNode& node = nodes[n];
    std::string_view dtype = node.dtype;
    if (dtype.starts_with("dtypes.")) dtype.remove_prefix(7);
    std::string number = std::to_string(node.list_index);
    if (node.has_own_line) {
      out += (out.empty() ? "" : ", ") + number + " " + node.op;
      if (dtype != "void") out += " " + std::string(dtype);
      continue;
    }
    constexpr std::string_view kPlumbing[] = {"INDEX", "GEP", "VECTORIZE", "CAST", "AFTER"};
    if (std::ranges::find(kPlumbing, node.op) != std::end(kPlumbing)) continue;
    size_t last = n;
    while (last + 1 < nodes.size() && nodes[last + 1].op == node.op &&
           nodes[last + 1].list_index == nodes[last].list_index + 1)
      last++;
    if (last > n) number += ".." + std::to_string(nodes[last].list_index);
    inside += (inside.empty() ? "" : ", ") + number + " " + node.op;
    n = last;
  }
  return inside.empty() ? out : out + (out.empty() ? "(" : " (") + inside + ")";
}

Result<CodeSources> find_sources(const Session& session, const std::string& input, const Profile& profile) {
  return catch_failures([&] { return SourceFinder(session, input, profile).find(); });
}

}  // namespace tgc::profile
