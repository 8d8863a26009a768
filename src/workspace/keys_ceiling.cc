// The rows of the ceiling file.
#include "workspace/ceiling.h"
#include "workspace/key_rows.h"

namespace eider::workspace {
namespace {

// One row a key, in a form that can be read as a table.
// clang-format off
constexpr Key kCeilingWorkersKeys[] = {
    {.name = "max", .type = Type::integer, .read = into<Ceiling, &Ceiling::max_workers>,
     .about = "The most that `workers.max` may be; also what it is where eider.yaml does not say and 16 is more.",
     .least = 1, .most = 1000},
};
constexpr Section kCeilingWorkers = {.name = "ceiling_workers", .title = "workers",
                                     .about = "The processes that execute runs.", .keys = kCeilingWorkersKeys};

constexpr Key kCeilingResourcesKeys[] = {
    {.name = "memory", .type = Type::size, .read = into<Ceiling, &Ceiling::memory_bytes>,
     .about = "The most that `resources.memory` may be, and what it is where eider.yaml does not say.",
     .least = 16 * kMiB},
    {.name = "temp", .type = Type::size, .read = into<Ceiling, &Ceiling::temp_bytes>,
     .about = "The most that `resources.temp` may be, and what it is where eider.yaml does not say.", .least = 0},
};
constexpr Section kCeilingResources = {.name = "ceiling_resources", .title = "resources",
                                       .about = "What all running runs of one server together may use.",
                                       .keys = kCeilingResourcesKeys};

constexpr Key kCeilingFileKeys[] = {
    {.name = "workers", .type = Type::section, .read = into_same, .about = "The processes that execute runs.",
     .of = &kCeilingWorkers},
    {.name = "resources", .type = Type::section, .read = into_same,
     .about = "What all running runs of one server together may use.", .of = &kCeilingResources},
};
constexpr Section kCeilingFile = {
    .name = "ceiling_file", .title = "The ceiling file",
    .about = "What each workspace of this machine may ask for at most: /etc/eider/ceiling.yaml, or the file that "
             "`eider serve --ceiling FILE` or EIDER_CEILING names. Only its owner may write it.",
    .keys = kCeilingFileKeys};

// clang-format on

}  // namespace

const Section& ceiling_section() { return kCeilingFile; }

std::vector<const Section*> ceiling_sections() { return {&kCeilingFile, &kCeilingWorkers, &kCeilingResources}; }

}  // namespace eider::workspace
