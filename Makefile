# The few commands of every day; what they do stands in CMakePresets.json and scripts/.
PREFIX ?= /usr/local

.NOTPARALLEL:
.PHONY: build setup demo test check format tidy bench install clean

build:
	@scripts/build.sh release

setup:
	@scripts/setup.sh

demo: setup build
	@mkdir -p out
	build/bin/sam3 segment examples/pictures/circles.jpg "red circle" "purple cross" \
	  --model models/demo --out out/demo.png
	@echo "The picture with its masks drawn in: out/demo.png"

test:
	@scripts/test.sh

check: build
	@scripts/check.sh

format:
	@python3 tools/checks/format.py --write

tidy: build
	@run-clang-tidy -quiet -p build -j $$(nproc) "$(CURDIR)/(src|apps)/"

bench: build
	@benchmarks/run.sh

install: build
	cmake --install build --prefix $(PREFIX)

clean:
	rm -rf build build-asan build-dev build-fuzz out
