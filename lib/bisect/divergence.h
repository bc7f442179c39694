// Where tgc begins to make something else of a kernel than tinygrad made, as a golden record tells.
#pragma once
#include "lib/bisect/bisect.h"
#include "lib/driver/session.h"
#include "lib/live/tinygrad_process.h"

namespace tgc {

// The first stage that is not the record's, and the first rewrite of it that tinygrad does not make. Where the record
// has no rewrites of that stage, that is the first that makes a node which stays and which the record's graph does not
// have. Whether it differs at all; then the verdict is `divergence`. `in` is lowered as the record says. It is
// confirmed when without that rewrite the stage is the record's, or the record's own rewrites show it. Where tinygrad
// makes one that does not come here, there is no rule to name, and the detail says where tinygrad's stands.
bool blame_divergence(const Session& session, const InputGraph& in, const GoldenRecord& record, BisectReport& report);

// The same of what tinygrad makes of it now, with its rewrites: of no stage after `stage`, unless that is empty. `in`
// names its target. Throws Failure when tinygrad does not answer, or alone refuses it.
bool blame_divergence(const Session& session, const InputGraph& in, TinygradProcess& tinygrad, const std::string& stage,
                      BisectReport& report);

// The record of that id among golden records, `against` an INPUT; the only one where there is but one.
Result<std::shared_ptr<const GoldenRecord>> record_against(const Session& session, const std::string& against,
                                                           const std::string& id);

// Whether a record's own stages are to be expected of its graph: nothing makes it another compilation.
bool is_as_recorded(const Session& session, const InputGraph& in);

}  // namespace tgc
