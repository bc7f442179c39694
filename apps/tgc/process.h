// How the process handles failures, SIGINT and SIGTERM.
#pragma once

namespace tgc {

class CancelRequest;

// Call this before anything else. Replaces closed standard streams by /dev/null. Turns a closed pipe and an exceeded
// file size limit into errors of write(), and a stack overflow into one line of text and exit code 2. Makes failed
// allocations known to has_memory_run_out().
void prepare_process();

// Returns true if an allocation by `new` has failed in this process. String streams hide such failures.
bool has_memory_run_out();

// Returns a cancellation request that SIGINT sets, from the first call of this function on. A second SIGINT ends the
// process at once. If the process was started with SIGINT ignored, SIGINT has no effect.
CancelRequest& interrupt_request();
// Makes SIGTERM set the request of interrupt_request(), too, unless the process ignores SIGTERM.
void handle_termination();

}  // namespace tgc
