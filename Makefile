# SPDX-License-Identifier: Apache-2.0
# The commands of README.md. Each installs missing packages (tools/setup.sh) and calls CMake; `make help` lists them. Variables:
# PRESET (a preset of CMakePresets.json), CMAKE_FLAGS and JOBS; for tests TESTS and LEAVE_OUT (regular expressions of test
# names); for run RUN_FLAGS (tools/run_examples.py --help); for ci STEPS (.ci/run).
PRESET ?= release
CMAKE_FLAGS ?=
JOBS ?= $(shell nproc)
TESTS ?= .
LEAVE_OUT ?=
STEPS ?=
RUN_FLAGS ?=
# gcc 12's address sanitizer takes some addresses of a loaded library's thread-local memory for headers of the allocator, and its
# search for leaks then reads wild addresses. It does not look at calls of __tls_get_addr().
export ASAN_OPTIONS ?= intercept_tls_get_addr=0
BUILD := $(if $(filter release,$(PRESET)),build,build-$(PRESET))
# The words as they were given: a "$" in a regular expression is its end.
CTEST = ctest --test-dir $(BUILD) --output-on-failure --parallel 2 --no-tests=error -R '$(value TESTS)' \
  $(if $(value LEAVE_OUT),-E '$(value LEAVE_OUT)')
COMPILE := cmake --build $(BUILD) -j $(JOBS)
RUN := $(BUILD)/bin/myriarm

.PHONY: build run test test-gpu bench wheel format tidy ci clean help

build: ## build the library and the command line, build/bin/myriarm
	@tools/setup.sh build
	@tools/configure.sh $(PRESET) $(BUILD) $(CMAKE_FLAGS)
	@$(COMPILE) --target myriarm_cli

run: ## build, then run the example programs, and some of Debian's, over some thousand lanes
	@tools/setup.sh run
	@$(MAKE) --no-print-directory build
	@python3 tools/run_examples.py $(RUN) $(RUN_FLAGS)
	@python3 tools/run_debian.py $(RUN)

test: ## build and pass all tests
	@tools/setup.sh test
	@tools/configure.sh $(PRESET) $(BUILD) -DMYRIARM_BUILD_TESTS=ON $$(tools/setup.sh flags) $(CMAKE_FLAGS)
	@$(COMPILE)
	@$(CTEST)

test-gpu: ## the same tests on an NVIDIA GPU; fails with a message if there is none
	@tools/setup.sh test
	@tools/configure.sh $(PRESET) $(BUILD) -DMYRIARM_BUILD_TESTS=ON $$(tools/setup.sh flags) $(CMAKE_FLAGS)
	@$(COMPILE) --target myriarm_cli
	@tools/require_gpu.sh $(RUN)
	@$(COMPILE)
	@MYRIARM_TEST_DEVICE=cuda $(CTEST)

bench: ## build and run the benchmarks, compared with Unicorn and QEMU
	@tools/setup.sh bench
	@tools/configure.sh $(PRESET) $(BUILD) -DMYRIARM_BUILD_BENCHMARKS=ON $$(tools/setup.sh flags) $(CMAKE_FLAGS)
	@$(COMPILE)
	@bench/run.sh $(BUILD)

wheel: ## build the Python wheel, with CUDA if a toolkit is found, in dist/
	@tools/setup.sh wheel
	@python3 -m venv build/wheel
	@SKBUILD_BUILD_DIR=build/wheel/objects CMAKE_BUILD_PARALLEL_LEVEL=$(JOBS) CMAKE_ARGS="$(CMAKE_FLAGS)" \
	  build/wheel/bin/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .
	@ls -t dist/myriarm-*.whl | head -n 1

format: ## format the sources in place (tables are left alone)
	@tools/setup.sh format
	@git ls-files '*.h' '*.cpp' '*.cu' '*.cuh' | xargs -r clang-format -i

# Releases of clang-tidy before 21 look at the whole standard library with each file, and take five times as long.
tidy: ## run clang-tidy over the host sources that are built; a finding is an error
	@tools/setup.sh tidy
	@python3 -m venv build/tidy
	@build/tidy/bin/python -m pip install --quiet --disable-pip-version-check -r .ci/tidy.txt
	@tools/configure.sh $(PRESET) $(BUILD) $(CMAKE_FLAGS)
	@cmake $(BUILD) >/dev/null # finds new files
	@sed -n 's#^ *"file": "$(CURDIR)/\(\(src\|cli\)/.*\.cpp\)",*$$#\1#p' $(BUILD)/compile_commands.json | sort -u | \
	  xargs -n 1 -P $(JOBS) build/tidy/bin/clang-tidy --quiet --warnings-as-errors='*' -p $(BUILD)

ci: ## what continuous integration runs: every configuration, and the checks of style
	@.ci/run $(STEPS)

clean: ## remove everything that was built
	@rm -rf build build-* dist

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1|\2/p' Makefile | awk -F'|' '{printf "%-15s %s\n", $$1, $$2}'
