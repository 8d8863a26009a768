// The store of a simulated life: a real one in memory, in front of which stand the faults of the moment, the power
// that may fail at every call, and the book that hears of each transaction that holds. One thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/fault.h"
#include "store/forwarding.h"
#include "workspace/load.h"

namespace eider::sim {

class Book;
class World;

class FaultyStore final : public store::ForwardingStore {
 public:
  FaultyStore(std::unique_ptr<store::Store> real, const Clock& clock, Faults& faults, Book& book, World& world,
              Mutation mutation)
      : ForwardingStore(std::move(real)),
        clock_(clock),
        faults_(faults),
        book_(book),
        world_(world),
        mutation_(mutation) {}

  Result<void> begin() override;
  Result<bool> apply(const model::ChangeSet& changes) override;
  Result<void> commit() override;
  void rollback() override;
  Result<store::OpenState> load_open() override;
  Result<std::vector<model::Run>> runs_of_schedule(const std::string& schedule, int limit) override;
  Result<std::vector<store::RecordedStart>> starts_after(Instant after) override;
  Result<std::optional<model::Run>> find_run(const std::string& id) override;

  /// From here on in the transaction, other files are in force; also when it does not hold.
  void switch_workspace(std::shared_ptr<const workspace::Workspace> workspace);
  /// The process that had it open is gone.
  void power_failed();
  /// What is open, without faults: to compare with the book.
  Result<store::OpenState> truth() { return behind().load_open(); }

 private:
  bool refuses(const model::ChangeSet& changes);
  Result<bool> apply_mutated(const model::ChangeSet& changes);

  const Clock& clock_;
  Faults& faults_;
  Book& book_;
  World& world_;
  const Mutation mutation_;
  std::vector<model::ChangeSet> transaction_;  ///< applied, not committed
  std::vector<std::pair<std::size_t, std::shared_ptr<const workspace::Workspace>>> switches_;  ///< place in it
  bool open_ = false;
  bool broken_ = false;
  bool after_a_crash_ = false;
  bool answer_was_lost_ = false;  ///< of the newest commit
};

}  // namespace eider::sim
