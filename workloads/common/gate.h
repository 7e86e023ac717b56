/* SPDX-License-Identifier: GPL-2.0 */
/* Single-use gates: processes that share memory wait there for each other. */
#ifndef WORKLOADS_GATE_H
#define WORKLOADS_GATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Must lie in memory shared by all who use it. */
struct gate {
	_Atomic uint32_t arrived;
	_Atomic uint32_t open;
	uint32_t expected;
};

void gate_init(struct gate *gate, uint32_t expected);
/* Count the caller without waiting. */
void gate_arrive(struct gate *gate);
/* True when all expected have arrived, or somebody opened the gate for good. */
bool gate_complete(struct gate *gate);
/* Let everybody through, now and later: also how a dead process is not waited for. */
void gate_open(struct gate *gate);
/* Wait until the gate is opened. */
void gate_wait(struct gate *gate);
/* Arrive, and wait for all others; the last one opens the gate. */
void gate_pass(struct gate *gate);

#endif
