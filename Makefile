# SPDX-License-Identifier: GPL-2.0
# Nothing is needed before "make run" or "make test": each step fetches or builds what it lacks.

.PHONY: help run test test-long bench bench-full deb deb-tools diagrams lint clean
.DEFAULT_GOAL := help

help:  ## list the targets
	@echo 'Usage: make TARGET'
	@awk -F ':.*## ' '/^[a-z-]*:.*## / {printf "  %-11s %s\n", $$1, $$2}' Makefile
	@echo 'The tool behind them: ./vswap --help'

run:  ## the demonstration: 256 MB of memory, no swap device, twice as much data
	@./vswap run

test:  ## all tests but the long ones
	@lab/bootstrap.sh tests >/dev/null && ./vswap test

test-long:  ## all tests, the ones that take minutes included
	@lab/bootstrap.sh tests >/dev/null && ./vswap test --long

bench:  ## the quick benchmarks, mainline against virtual swap, with page-cluster 3 and 0: bench.json, bench.html
	@./vswap bench --quick --json bench.json --html bench.html

bench-full:  ## all benchmarks in all their set-ups: hours; goes on where it was interrupted
	@./vswap bench --json bench-full.json --html bench-full.html

OUT = build-deb

CONFIG = running

deb:  ## kernel packages: CONFIG=running (this machine's, with loaded modules), small or FILE; into OUT=build-deb
	@packaging/kernel/build $(OUT) $(CONFIG)

deb-tools:  ## the Debian package vswap-tools (vswapctl, and a service that sets zswap up) into OUT=build-deb
	@packaging/vswap-tools/build $(OUT)

diagrams:  ## the pictures of docs/page-life.md, from docs/diagrams/*.dot (needs Graphviz)
	@docs/diagrams/render

lint:  ## ruff and mypy over the lab, the tools and the tests
	@python=$$(lab/bootstrap.sh) && $$python -m ruff check lab tools tests && $$python -m mypy

clean:  ## remove kernel builds and trees from the cache (not the source, not ccache)
	@./vswap build --clean
