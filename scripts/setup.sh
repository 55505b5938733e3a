#!/bin/sh
# Installs what the build, the tests and the demo need, once: system packages by apt (as root, on Debian or Ubuntu) and,
# under .deps/, ONNX Runtime (library and headers) and the ONNX schema. Runs again in a second when all of it is there.
#
# `setup.sh fuzz` also installs Clang with libFuzzer, for scripts/fuzz.sh.
#
# Without root: install the packages listed below by other means; the rest needs no root.
# With an own ONNX Runtime: set SAM3_ONNXRUNTIME_ROOT to a folder with include/ and lib/, and this script fetches none.
set -eu
cd "$(dirname "$0")/.."
deps=$PWD/.deps
ort_version=1.32.0
onnx_version=1.23.2

packages="build-essential cmake ninja-build pkg-config git unzip python3 python3-pip
  libvips-dev libhwy-dev libpng-dev libprotobuf-dev protobuf-compiler libutf8proc-dev libcurl4-openssl-dev nlohmann-json3-dev libcli11-dev
  libgtest-dev libgmock-dev libbenchmark-dev clang-format locales fonts-dejavu-core"

say() { printf '%s\n' "$*" >&2; }

install_packages() {
  command -v dpkg-query >/dev/null 2>&1 || return 0
  missing=
  for package in $packages; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
  done
  [ -n "$missing" ] || return 0
  if [ "$(id -u)" -ne 0 ]; then
    say "setup: these packages are missing and only root can install them:$missing"
    exit 1
  fi
  say "setup: installing$missing"
  export DEBIAN_FRONTEND=noninteractive
  # shellcheck disable=SC2086
  apt-get -q update >&2 && apt-get -q install -y --no-install-recommends $missing >&2
}

# Debian has the run-time libraries of Clang's sanitizers in a package of their own, Ubuntu 22.04 has them with Clang.
install_fuzzing() {
  packages=clang
  install_packages
  packages=libclang-rt-$(clang++ -dumpversion | cut -d. -f1)-dev
  if apt-cache show "$packages" >/dev/null 2>&1; then install_packages; fi
}

# fetch_wheel NAME==VERSION PLATFORM_INDEPENDENT_FOLDER: the wheel's path, by pip as it is set up on this machine
fetch_wheel() {
  rm -rf "$deps/wheels"
  mkdir -p "$deps/wheels"
  python3 -m pip download -q --no-deps --only-binary=:all: -d "$deps/wheels" "$1" >&2
  ls "$deps"/wheels/*.whl
}

fetch_onnxruntime() {
  [ -z "${SAM3_ONNXRUNTIME_ROOT:-}" ] || return 0
  lib=$deps/onnxruntime/lib
  if [ ! -e "$lib/libonnxruntime.so.$ort_version" ]; then
    say "setup: fetching ONNX Runtime $ort_version"
    wheel=$(fetch_wheel "onnxruntime==$ort_version")
    mkdir -p "$lib"
    # By way of a temporary place, so that an interrupted run leaves no half of a library.
    unzip -q -j -o "$wheel" "onnxruntime/capi/libonnxruntime.so.$ort_version" -d "$deps/wheels"
    mv "$deps/wheels/libonnxruntime.so.$ort_version" "$lib/"
    ln -sf "libonnxruntime.so.$ort_version" "$lib/libonnxruntime.so.1"
    ln -sf libonnxruntime.so.1 "$lib/libonnxruntime.so"
    rm -rf "$deps/wheels"
  fi
  include=$deps/onnxruntime/include
  if [ ! -e "$include/onnxruntime_cxx_api.h" ]; then
    say "setup: fetching the headers of ONNX Runtime"
    fetch_headers "$include"
  fi
}

find_mirror() {
  codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
  apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' "Codename: $codename" | head -n 1
}

# The wheel has no headers; a newer Debian suite's development package has. Only that one package is unpacked, here.
fetch_headers() {
  work=$deps/headers
  rm -rf "$work"
  mkdir -p "$work/sources" "$work/lists/partial"
  mirror=$(find_mirror)
  if [ -z "$mirror" ]; then  # apt knows none before its first update
    apt-get -q update >&2 || true
    mirror=$(find_mirror)
  fi
  [ -n "$mirror" ] || { say "setup: no Debian mirror in apt's sources; give SAM3_ONNXRUNTIME_ROOT instead"; exit 1; }
  cat >"$work/sources/headers.sources" <<SOURCES
Types: deb
URIs: $mirror
Suites: forky
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
SOURCES
  apt="apt-get -q -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts=$work/sources -o Dir::State::Lists=$work/lists
    -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o APT::Sandbox::User=root -o APT::Architecture=amd64"
  $apt update >&2
  (cd "$work" && $apt download libonnxruntime-dev/forky >&2 && dpkg -x libonnxruntime-dev_*.deb unpacked)
  mkdir -p "$1"
  cp "$work"/unpacked/usr/include/onnxruntime/*.h "$1/"
  rm -rf "$work"
}

fetch_schema() {
  [ ! -e "$deps/onnx/onnx-ml.proto" ] || return 0
  say "setup: fetching the ONNX schema $onnx_version"
  wheel=$(fetch_wheel "onnx==$onnx_version")
  mkdir -p "$deps/onnx"
  unzip -q -j -o "$wheel" onnx/onnx-ml.proto -d "$deps/onnx"
  rm -rf "$deps/wheels"
}

install_packages
fetch_onnxruntime
fetch_schema
[ "${1:-}" != fuzz ] || install_fuzzing
