// How the process handles failures, SIGINT and SIGTERM.
#pragma once

namespace tgc {

class CancelRequest;

// Call this before anything else. Replaces closed standard streams by /dev/null; turns a closed pipe and an exceeded
// file size limit into errors of write(); turns an uncaught exception, exhausted memory and stack overflow into one
// line of text and exit code 2.
void prepare_process();

// Returns true if an allocation of C++ has failed in this process. String streams hide such failures.
bool has_memory_run_out();

// Returns a cancellation request that SIGINT sets, from the first call of this function on. A second SIGINT ends the
// process at once.
CancelRequest& interrupt_request();
// Makes SIGTERM set the request too. Call this before writing a file.
void handle_termination();

}  // namespace tgc
