// Strategy: find the first stage and rewrite where tgc's compilation of a kernel differs from tinygrad's.
#pragma once
#include <memory>
#include <optional>

#include "lib/bisect/verdict.h"
#include "lib/driver/session.h"
#include "lib/replay/live_tinygrad.h"

namespace tgc {

// Compares the compilation of `in` with a golden record. The culprit is the first rewrite of the first differing stage
// that tinygrad does not make; if the record has no rewrites of that stage, the first one whose result remains in the
// graph and is not in the record's. It is confirmed if the stage is the record's without that rewrite, or by the
// record's own rewrites. If tinygrad makes a rewrite that tgc lacks, no rule is named, and the detail says which one.
// Returns nullopt if nothing differs.
std::optional<Verdict> find_divergence(const Session& session, const InputGraph& in, const GoldenRecord& record);

// The same for what a live tinygrad makes of the kernel, with its rewrites, up to `stage` (empty: all stages). `in` names
// its target. Throws Failure if tinygrad does not answer, or refuses a kernel that tgc accepts.
std::optional<Verdict> find_divergence(const Session& session, const InputGraph& in, Tinygrad& tinygrad,
                                       const std::string& stage);

// Returns the record of that id from the golden records of the INPUT `against`, or its only record.
Result<std::shared_ptr<const GoldenRecord>> record_against(const Session& session, const std::string& against,
                                                           const std::string& id);

// Whether the record's stages are expected of its graph: no option and no fault asks for another compilation.
bool is_as_recorded(const Session& session, const InputGraph& in);

}  // namespace tgc
