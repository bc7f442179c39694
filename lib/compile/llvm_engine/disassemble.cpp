#include "lib/compile/llvm_engine/disassemble.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/DebugInfo/DWARF/DWARFContext.h>
#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstPrinter.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/raw_ostream.h>
#include <map>
#include <stdexcept>
#include <vector>

#include "lib/support/lines.h"

namespace tgc {

namespace {

template <class T>
T value_or_throw(llvm::Expected<T> made) {
  if (!made) throw std::runtime_error(llvm::toString(made.takeError()));
  return std::move(*made);
}

class Disassembler {
 public:
  explicit Disassembler(const llvm::TargetMachine& machine)
      : machine_(machine),
        context_(machine.getTargetTriple(), machine.getMCAsmInfo(), machine.getMCRegisterInfo(),
                 machine.getMCSubtargetInfo()),
        decoder_(machine.getTarget().createMCDisassembler(*machine.getMCSubtargetInfo(), context_)),
        printer_(machine.getTarget().createMCInstPrinter(
            machine.getTargetTriple(), machine.getMCAsmInfo()->getAssemblerDialect(), *machine.getMCAsmInfo(),
            *machine.getMCInstrInfo(), *machine.getMCRegisterInfo())) {
    if (!decoder_ || !printer_)
      throw std::runtime_error("LLVM has no disassembler for " + machine.getTargetTriple().str());
  }

  // Ignores damaged debug information.
  void load_line_table(const llvm::object::ObjectFile& file) {
    auto ignore = [](llvm::Error error) { llvm::consumeError(std::move(error)); };
    dwarf_context_ = llvm::DWARFContext::create(file, llvm::DWARFContext::ProcessDebugRelocations::Process, nullptr, "",
                                                ignore, ignore);
  }

  void section(const llvm::object::SectionRef& section, const std::map<uint64_t, std::string>& names,
               std::string& out) {
    llvm::StringRef bytes = value_or_throw(section.getContents());
    auto code = llvm::arrayRefFromStringRef(bytes);
    for (uint64_t at = 0; at < code.size();) {
      uint64_t address = section.getAddress() + at, size = 0;
      if (auto name = names.find(address); name != names.end()) out += (out.empty() ? "" : "\n") + name->second + ":\n";
      if (dwarf_context_) print_source_line({address, section.getIndex()}, out);
      llvm::MCInst instruction;
      bool decoded = decoder_->getInstruction(instruction, size, code.slice(at), address, llvm::nulls()) ==
                     llvm::MCDisassembler::Success;
      size = std::min<uint64_t>(std::max<uint64_t>(size, 1), code.size() - at);
      print_instruction(address, code.slice(at, size), decoded ? &instruction : nullptr, out);
      at += size;
    }
  }

 private:
  // Shows the line of the kernel itself, not that of a function that was inlined there.
  void print_source_line(llvm::object::SectionedAddress address, std::string& out) {
    auto calls = dwarf_context_->getInliningInfoForAddress(address);
    uint32_t line = calls.getNumberOfFrames() ? calls.getFrame(calls.getNumberOfFrames() - 1).Line : 0;
    if (line != printed_line_) out += "; line " + std::to_string(line) + "\n";
    printed_line_ = line;
  }
  void print_instruction(uint64_t address, llvm::ArrayRef<uint8_t> bytes, const llvm::MCInst* instruction,
                         std::string& out) {
    std::string hex = llvm::toHex(bytes, true);
    llvm::raw_string_ostream to(out);
    to << llvm::format("%6llx: %-22s", static_cast<unsigned long long>(address), hex.c_str());
    if (instruction) printer_->printInst(instruction, address, "", *machine_.getMCSubtargetInfo(), to);
    else to << "\t.byte";
    to << '\n';
  }

  const llvm::TargetMachine& machine_;
  llvm::MCContext context_;
  std::unique_ptr<llvm::MCDisassembler> decoder_;
  std::unique_ptr<llvm::MCInstPrinter> printer_;
  std::unique_ptr<llvm::DWARFContext> dwarf_context_;
  uint32_t printed_line_ = 0;
};

}  // namespace

std::string disassemble_object(std::string_view object, const llvm::TargetMachine& machine) {
  auto file = value_or_throw(llvm::object::ObjectFile::createELFObjectFile(
      llvm::MemoryBufferRef(llvm::StringRef(object.data(), object.size()), "object")));
  Disassembler disassembler(machine);
  for (const llvm::object::SectionRef& section : file->sections())
    if (value_or_throw(section.getName()) == ".debug_line") disassembler.load_line_table(*file);
  std::string out;
  for (const llvm::object::SectionRef& section : file->sections()) {
    if (!section.isText()) continue;
    std::map<uint64_t, std::string> names;
    for (const llvm::object::SymbolRef& symbol : file->symbols()) {
      if (value_or_throw(symbol.getType()) != llvm::object::SymbolRef::ST_Function ||
          value_or_throw(symbol.getSection()) != llvm::object::section_iterator(section))
        continue;
      names[value_or_throw(symbol.getAddress())] = value_or_throw(symbol.getName()).str();
    }
    disassembler.section(section, names, out);
  }
  return out;
}

namespace {

struct FunctionBody {
  unsigned define_line = 0;                  // line number of the function's "define"
  std::vector<unsigned> instruction_lines;
};

std::vector<FunctionBody> find_function_bodies(std::string_view text) {
  std::vector<FunctionBody> bodies;
  bool inside = false;
  unsigned number = 0;
  for (std::string_view whole : lines_of(text)) {
    std::string_view line = trimmed_line(whole);
    number++;
    if (line.starts_with("define ")) bodies.push_back({number, {}});
    if (line.starts_with("}")) inside = false;
    else if (inside && !line.empty() && line[0] != ';' && line.back() != ':')
      bodies.back().instruction_lines.push_back(number);
    if (!bodies.empty() && line.ends_with("{")) inside = true;
  }
  return bodies;
}

}  // namespace

void add_line_table(llvm::Module& module, std::string_view text) {
  std::vector<FunctionBody> bodies = find_function_bodies(text);
  std::vector<llvm::Function*> functions;
  for (llvm::Function& f : module)
    if (!f.isDeclaration()) functions.push_back(&f);
  if (bodies.size() != functions.size()) return;
  module.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  llvm::DIBuilder builder(module);
  llvm::DIFile* file = builder.createFile("source", "");
  builder.createCompileUnit(llvm::dwarf::DW_LANG_C, file, "tgc", true, "", 0, "", llvm::DICompileUnit::LineTablesOnly);
  auto* type = builder.createSubroutineType(builder.getOrCreateTypeArray({}));
  for (size_t i = 0; i < functions.size(); i++) {
    std::vector<llvm::Instruction*> instructions;
    for (llvm::Instruction& inst : llvm::instructions(functions[i])) instructions.push_back(&inst);
    if (instructions.size() != bodies[i].instruction_lines.size()) continue;
    auto* scope = builder.createFunction(file, functions[i]->getName(), functions[i]->getName(), file,
                                         bodies[i].define_line, type, bodies[i].define_line, llvm::DINode::FlagZero,
                                         llvm::DISubprogram::SPFlagDefinition | llvm::DISubprogram::SPFlagOptimized);
    functions[i]->setSubprogram(scope);
    for (size_t k = 0; k < instructions.size(); k++)
      instructions[k]->setDebugLoc(
          llvm::DILocation::get(module.getContext(), bodies[i].instruction_lines[k], 0, scope));
  }
  builder.finalize();
}

}  // namespace tgc
