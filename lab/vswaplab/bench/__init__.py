# SPDX-License-Identifier: GPL-2.0
"""Benchmarks: two or more kernels, the same work, side by side in one run.

suite       what a workload is; suites/ has them
setup       where swapped pages go: zswap, disks, zram
case        one comparison (suite, set-up, pressure), and a kernel's turn in a round of it
selection   the cases that a user asks for
kernels     what is compared: the lab's kernels, patches, trees, images
check       what can be known before anything runs
plan        everything decided beforehand: the turns in order, and what makes them what they are
round       the guest of a turn; script is its shell text
outcome     what came of it; counters are those of its kernel
engine      the plan, run
state       finished rounds, kept when a run is interrupted
stats, permutation, judge   medians, ratios, and whether a difference is one among many
results     every metric of every case
against     comparison of set-ups with one of them
document    all of it as JSON; compare: two of these as one
html        and as a page; plots are its figures, display is the terminal's table
"""
