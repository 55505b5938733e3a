#!/bin/bash
# build.sh PRESET: configures and builds a preset of CMakePresets.json. The presets ask for Ninja;
# where it is missing CMake's Makefiles do as well.
set -eu
cd "$(dirname "$0")/.."
generator=()
command -v ninja >/dev/null || generator=(-G "Unix Makefiles")
cmake --preset "$1" "${generator[@]}"
cmake --build --preset "$1" --parallel "$(nproc)"
