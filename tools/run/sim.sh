# shellcheck shell=bash
# Lives of the engine in simulated worlds: 1,000 of them are part of ./run test, ./run sim lives as many as are asked for.

# simulate [--jobs J] [--seeds N] [--seed S] [--trace] [--mistake M] | --mistakes | --days N
simulate() {
  step "Living"
  build/eider_lives "$@" || fail "a law did not hold: the seed that shows it stands above, with its shortest trace."
}
