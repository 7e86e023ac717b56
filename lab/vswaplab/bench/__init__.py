# SPDX-License-Identifier: GPL-2.0
"""Benchmarks: two or more kernels, the same work, side by side in one run.

suite    what a workload is; suites/ has them
setup    where swapped pages go: zswap, disks, zram
kernel   what is compared: the lab's kernels, patches, trees, images
plan     cases (suite, set-up, pressure), rounds, and their identity
check    what can be known before anything runs
round    one guest from boot to figures
state    finished rounds, kept when a run is interrupted
stats    means, medians, ratios and their confidence
permutation, judge   whether a difference is one, among as many as a report has
results  all of it as JSON
against  comparison of set-ups with one of them
html     and as a page
"""
