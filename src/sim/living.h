// The inside of live(): one life, its server that comes and goes, and its files. One thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/loop.h"
#include "sim/book.h"
#include "sim/faulty_store.h"
#include "sim/life.h"
#include "sim/world.h"

namespace eider::sim {

/// The workspace's files: what a reload finds.
class Files {
 public:
  explicit Files(const Plan& plan);

  /// As workspace/reload.h has it: a broken file's pipeline stays as it was, if it was.
  std::shared_ptr<const workspace::Workspace> read(const workspace::Workspace* in_force) const;
  /// Changes one of them.
  std::string change(std::uint64_t a, std::uint64_t b, Instant now);
  void mend_all();
  /// Of a mutation: the pools shrink by what a crash has left behind.
  void leak(const std::map<std::string, int>& slots);
  const std::map<std::string, int>& leaked() const { return leaked_; }

 private:
  enum class State { good, broken, gone };
  struct File {
    model::Pipeline pipeline;
    workspace::LoadedPipeline loaded;
    State state = State::good;
  };
  static void load(File& file);

  model::Settings settings_;
  std::map<std::string, File> files_;
  std::map<std::string, int> leaked_;
};

class Life {
 public:
  Life(const Plan& plan, Mutation mutation, bool traced);
  Report live();

 private:
  // life.cc: time.
  void boot();
  void live_until(Micros until);
  void crank();
  void go_to(Micros boottime);
  Micros next_stop(Micros until) const;
  void crashed(Micros down_for);
  void left(Micros down_for);
  void check(bool settled);
  void calm_end();
  std::shared_ptr<const workspace::Workspace> read_workspace(const workspace::Workspace* in_force);
  bool over() const { return book_.finding().has_value(); }
  Micros age() const { return clock_.boottime() - born_; }
  void say(const std::string& line);

  // deeds.cc: what is done to it.
  void act(const Action& action);
  void act_on_store(const Action& action);
  void act_on_machine(const Action& action);
  void act_on_files(const Action& action);
  void act_as_person(const Action& action);
  void act_on_data(const Action& action);
  void ask_for_run(const std::string& pipeline, bool queue, const std::string& key, std::uint64_t choice);
  void post(engine::Command command);
  std::string some_pipeline(std::uint64_t choice) const;
  std::string some_schedule(std::uint64_t choice, bool paused) const;
  void pause_all(bool paused);

  const Plan& plan_;
  const Mutation mutation_;
  FakeClock clock_;
  SeededRandom random_;
  Faults faults_;
  World world_;
  Book book_;
  FaultyStore store_;
  Files files_;
  const Micros born_;
  std::unique_ptr<engine::Inbox> inbox_;
  std::unique_ptr<engine::Loop> loop_;  ///< none: the server is down
  engine::Loop::Next next_;
  Micros up_at_{};       ///< the server comes back, on the boot clock
  Micros down_for_{};    ///< after the crash that is to come
  Micros checked_at_{};  ///< on the boot clock
  int commands_ = 0;
  bool draining_ = false;
  Report report_;
};

}  // namespace eider::sim
