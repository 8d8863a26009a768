#include "engine/inbox.h"

namespace eider::engine {

bool is_question(const Command& command) {
  return std::holds_alternative<AskLive>(command) || std::holds_alternative<AskPools>(command) ||
         std::holds_alternative<AskSchedules>(command) || std::holds_alternative<AskPipelines>(command) ||
         std::holds_alternative<AskWorkspace>(command) || std::holds_alternative<AskTriggers>(command) ||
         std::holds_alternative<AskStatus>(command);
}

bool Inbox::post(Command command) {
  {
    const std::lock_guard hold(mutex_);
    if (closed_ || commands_.size() >= limit) return false;
    commands_.push_back(std::move(command));
  }
  wake_();
  return true;
}

std::vector<Command> Inbox::take() {
  const std::lock_guard hold(mutex_);
  return std::exchange(commands_, {});
}

void Inbox::close() {
  const std::lock_guard hold(mutex_);
  closed_ = true;
}

}  // namespace eider::engine
