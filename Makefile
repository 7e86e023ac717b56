# SPDX-License-Identifier: GPL-2.0
# Nothing is needed before "make run" or "make test": each step fetches or builds what it lacks.

.PHONY: help run test test-long lint clean
.DEFAULT_GOAL := help

help:  ## list the targets
	@echo 'Usage: make TARGET'
	@awk -F ':.*## ' '/^[a-z-]*:.*## / {printf "  %-11s %s\n", $$1, $$2}' Makefile
	@echo 'The tool behind them: ./vswap --help'

run:  ## the demonstration: 256 MB of memory, no swap device, twice as much data
	@./vswap run

test:  ## all tests but the long ones
	@./vswap test

test-long:  ## all tests, the ones that take minutes included
	@./vswap test --long

lint:  ## ruff and mypy over the lab and the tests
	@python=$$(lab/bootstrap.sh) && $$python -m ruff check lab tests && $$python -m mypy

clean:  ## remove kernel builds and trees from the cache (not the source, not ccache)
	@./vswap build --clean
