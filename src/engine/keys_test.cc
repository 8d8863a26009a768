// An idempotency key stands for one request: the same again has the same answer, another is refused.
#include <gtest/gtest.h>

#include "engine/test_bench.h"

namespace eider::engine {
namespace {

using namespace std::chrono_literals;

TEST(IdempotencyKey, StandsForOneRequest) {
  TestBench bench;
  for (const char* name : {"p", "q"}) {
    bench.add_pipeline(name, [](model::Pipeline& p) { p.max_active_runs = 0; });
  }
  bench.boot();
  const auto ask = [&](const char* pipeline, const char* partition, const char* params) {
    StartRun command;
    command.pipeline = pipeline;
    command.partition = partition;
    command.params = params;
    command.queue = true;
    command.idempotency_key = "2026-03-29";
    return bench.start(std::move(command));
  };
  const std::string first = ask("p", "a", "{\"x\":1}").value();
  const auto check = [&](const char* when) {
    EXPECT_EQ(ask("p", "a", "{\"x\":1}").value(), first) << when;
    const auto refused = [&](const char* pipeline, const char* partition, const char* params) {
      const auto answer = ask(pipeline, partition, params);
      ASSERT_FALSE(answer.ok()) << when;
      EXPECT_EQ(answer.error().code, ErrorCode::invalid) << when;
      EXPECT_NE(answer.error().message.find(first), std::string::npos) << "it names the run";
    };
    refused("q", "a", "{\"x\":1}");
    refused("p", "b", "{\"x\":1}");
    refused("p", "a", "{\"x\":2}");
    EXPECT_EQ(bench.runs().size(), 1u) << when;
  };
  check("while it is open");
  bench.workers->over(first, model::Outcome::succeeded);
  bench.settle();
  check("when it has ended");
  bench.crash_and_boot();
  check("for the next server");
}

}  // namespace
}  // namespace eider::engine
