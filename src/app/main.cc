// The program: every verb, and the worker (`eider worker`, which the server starts).
#include <cstdlib>

#include "app/serve.h"
#include "base/clock.h"
#include "cli/cli.h"
#include "worker/worker.h"

int main(int argc, char** argv) {
  eider::cli::Hooks hooks;
  hooks.serve = eider::app::serve;
  hooks.run_alone = eider::app::run_alone;
  hooks.worker = [] { return eider::worker::worker_main(3, eider::SystemClock()); };
  hooks.version = EIDER_VERSION;
  return eider::cli::run(argc, argv, hooks);
}
