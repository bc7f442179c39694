#include <algorithm>
#include <vector>

#include "lib/compilation/fusion.h"
#include "lib/support/counted.h"

namespace tgc {
namespace {

// Returns true if the two buffers surely share memory. Offsets are in bytes. Sizes are in elements, and count as bytes,
// because an element has at least one byte.
bool share_memory(const GoldenBuffer& a, const GoldenBuffer& b) {
  return a.base == b.base && (a.offset == b.offset || (a.offset < b.offset + b.size && b.offset < a.offset + a.size));
}

// Returns the numbers of the kernels that read the result of kernel `i` before another kernel overwrites it.
std::vector<size_t> reading_kernels(const std::vector<GoldenKernel>& kernels, size_t i) {
  std::vector<size_t> out;
  if (kernels[i].buffer_args.empty()) return out;
  const GoldenBuffer& stored = kernels[i].buffer_args[0];
  for (size_t k = i + 1; k < kernels.size(); k++) {
    const auto& bufs = kernels[k].buffer_args;
    if (std::any_of(bufs.begin() + !bufs.empty(), bufs.end(), [&](auto& b) { return share_memory(stored, b); }))
      out.push_back(k);
    if (!bufs.empty() && share_memory(stored, bufs[0])) break;
  }
  return out;
}

bool is_copy_kernel(const GoldenKernel& k) {
  return k.stored_value && k.stored_value->node_text.starts_with("Ops.COPY ");
}

// Returns the reason for a CONTIGUOUS that a rule of the scheduler added for `op`.
StorageReason added_contiguous_reason(const std::string& op) {
  if (op.starts_with("REDUCE")) return explain_storage("split", "", "");
  if (op == "COPY") return {"a copy needs its source in memory, in one piece", "no operation before the copy", true};
  return {"the store's value reads the buffer that the store writes, in another order", "no such read", true};
}

std::string kernel_text(const std::vector<GoldenKernel>& kernels, size_t i) {
  const GoldenKernel& k = kernels[i];
  const GoldenStoredValue& stored = *k.stored_value;
  const std::vector<size_t> readers = reading_kernels(kernels, i);
  const bool is_copied = std::ranges::any_of(readers, [&](size_t r) { return is_copy_kernel(kernels[r]); });
  const std::string user_operation = methods_text(k.metadata), made_by = methods_text(stored.made_by);
  std::string out = "\nkernel " + std::to_string(i) + (k.id.empty() ? "" : " (" + k.id + ")") +
                    (user_operation.empty() ? "" : ": " + user_operation) + "\n",
              why, remedy;
  if (!stored.node_text.empty()) out += "  stores " + stored.node_text + (made_by.empty() ? "" : ", " + made_by) + "\n";
  const std::string op = stored.node_text.substr(0, stored.node_text.find(' '));
  for (const auto& r : stored.reasons) {
    const std::string by = r.requiring_op.empty() ? "" : "Ops." + r.requiring_op;
    const std::string added = is_copied && !stored.added_for_op.empty() ? "COPY" : stored.added_for_op;
    StorageReason reason = added.empty() ? explain_storage(r.reason, op, by) : added_contiguous_reason(added);
    if (&r == &stored.reasons.back()) add_storage_cost(reason, size_t(stored.num_buffers), stored.has_buffer_reduction);
    if (r.reason == "assign" && !made_by.empty()) reason.reason_text += ", " + made_by;
    why += (why.empty() ? "" : "; and ") + reason.reason_text +
           (r.decision_place.empty() ? "" : " (" + r.decision_place + ")");
    if (!reason.remedy.empty()) remedy += (remedy.empty() ? "" : "; and ") + reason.remedy;
  }
  out += "  stored since: " + why + "\n";
  if (!remedy.empty()) out += "  it would not be stored with: " + remedy + "\n";
  if (k.metadata.size() > 1)
    out += "  its operations are in one kernel since no value between them is stored: all users of such a value index "
           "it with the same loops, or computing it again is cheaper than a buffer\n";
  for (size_t r : readers) out += (r == readers[0] ? "  read by kernel " : ", ") + std::to_string(r);
  if (!readers.empty()) out += "\n";
  return out;
}

}  // namespace

std::string recorded_fusion_text(const GoldenRecord& record) {
  std::string out = record.id + ": " + count_text(record.kernels.size(), "kernel");
  if (!record.kernels[0].stored_value)
    return out +
           "; the reasons are not recorded: tinygrad had the schedule in its cache, or an older exporter was used\n";
  out += "\n";
  for (size_t i = 0; i < record.kernels.size(); i++)
    if (record.kernels[i].stored_value) out += kernel_text(record.kernels, i);
  return out;
}

}  // namespace tgc
