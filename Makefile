# Windlass. `make` builds, `make demo` shows it, `make test` runs everything a change must pass.

SHELL := /bin/sh
# rustup installs here; a shell that was opened before does not know it yet.
export PATH := $(PATH):$(HOME)/.cargo/bin

# Arguments for the demo (`make demo ARGS=--once`) and the benchmarks (`make bench ARGS="small-io --seconds 10"`).
ARGS ?=

.DEFAULT_GOAL := build
.PHONY: build console console-check release package demo demo-once test test-vm bench deps clean help

build:      ## build the program: target/release/windlass
	@scripts/need build
	cargo build --release --package windlass

console:    ## build the web console again: console/dist, which the program contains
	@scripts/need console
	@scripts/console build

console-check: ## the web console: is console/dist what console/src builds; lints, unit tests, tests in a browser
	@scripts/need console-check
	cargo build --package windlass
	@scripts/console check

demo:       ## install what is missing, build, and show the array at work; it then waits for Ctrl-C
	@scripts/need demo
	cargo build --profile demo --package windlass
	@$${CARGO_TARGET_DIR:-target}/demo/windlass demo $(ARGS)

release:    ## target/dist: the stripped program, its debug symbols, and an archive with unit and configuration
	@scripts/need build
	cargo build --release --package windlass
	@scripts/release

demo-once:  ## the same, ending after the table
	@$(MAKE) --no-print-directory demo ARGS=--once

package:    ## target/dist: Debian and RPM packages; `make package ARGS=image` a container image; `ARGS=check`, `ARGS="image check"` also try them
	@scripts/need $(if $(filter image,$(ARGS)),image,package)$(if $(filter check,$(ARGS)),-check)
	@$(if $(and $(filter image,$(ARGS)),$(filter deb rpm,$(ARGS))),scripts/need package$(if $(filter check,$(ARGS)),-check))
	cargo build --release --package windlass
	@scripts/package $(ARGS)

test:       ## install what is missing and run everything that a change must pass
	@scripts/need test
	@# All at once, the steps' own program among it: built by itself, it would have half of the crates built a second time.
	@cargo test --quiet --workspace --lib --bins --tests --no-run
	@$${CARGO_TARGET_DIR:-target}/debug/xtask ci $(ARGS)

test-vm:    ## the Linux kernel as a host, in a virtual machine: multipath, reservations, file systems, LIO beside the array; its NFS client
	@scripts/need build
	cargo build --release --package windlass
	@cargo xtask vm $(ARGS)
	@$(if $(ARGS),,cargo xtask vm nfs)

bench:      ## measure, side by side with tgt where it has the feature; docs/benchmarks.md says more
	@scripts/need bench
	cargo build --release --package windlass
	@cargo run --quiet --release --package xtask -- bench $(ARGS)

deps:       ## install the programs of others that demo, test and bench use
	@scripts/need demo
	@scripts/need test
	@scripts/need bench

clean:      ## remove everything that was built
	cargo clean

help:       ## this list
	@grep -E '^[a-z-]+:.*##' Makefile | sed 's/:[^#]*## */\t/' | awk -F'\t' '{ printf "make %-13s %s\n", $$1, $$2 }'
