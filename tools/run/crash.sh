# shellcheck shell=bash
# Killing the program: the short form is part of ./run test, ./run crash is the long one.

# crash [--kills N] [--seed S]: until it has been killed N times (500), with checks after each life and at the end.
crash() {
  step "Killing build/eider and its workers"
  /usr/bin/python3 -B tests/crash/harness.py "$@" </dev/null ||
    fail "something was lost, done twice or done at once: what it is stands above, with the seed that made it."
}
