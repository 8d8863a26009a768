// Named locks are declared nowhere: a lock is what pipelines call by the same name. So a name that only one of them has
// is most likely a slip (across.h).
#include <map>

#include <fmt/format.h>

#include "workspace/across.h"
#include "workspace/words.h"

namespace eider::workspace {

std::vector<CrossFinding> check_locks(const Workspace& workspace) {
  std::vector<CrossFinding> found;
  if (!workspace.broken.empty()) return found;  // it may be in a file that can't be read now
  std::map<std::string_view, std::vector<const model::Pipeline*>> users;
  for (const auto& [name, loaded] : workspace.pipelines) {
    for (const auto& [lock, mode] : loaded.pipeline->locks) users[lock].push_back(loaded.pipeline.get());
  }
  constexpr std::size_t most_suggestions = 20;  // each looks at every name
  std::vector<std::string_view> names;
  for (const auto& [lock, who] : users) names.push_back(lock);
  for (const auto& [lock, who] : users) {
    if (who.size() > 1) continue;
    CrossFinding finding;
    finding.kind = CrossFinding::Kind::unknown;
    finding.severity = Severity::warning;
    finding.pipeline = who.front()->name;
    finding.key = fmt::format("locks.{}", lock);
    finding.message = fmt::format("no other pipeline names the lock \"{}\"; a lock is for what several share", lock);
    if (found.size() < most_suggestions) {
      std::vector<std::string_view> others = names;
      std::erase(others, lock);
      finding.suggestion = std::string(closest(lock, others));
    }
    found.push_back(std::move(finding));
  }
  return found;
}

}  // namespace eider::workspace
