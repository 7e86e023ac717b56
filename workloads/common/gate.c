// SPDX-License-Identifier: GPL-2.0
/* Single-use gates: processes that share memory wait there for each other. */
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gate.h"

void gate_init(struct gate *gate, uint32_t expected)
{
	atomic_store(&gate->arrived, 0);
	atomic_store(&gate->open, 0);
	gate->expected = expected;
}

void gate_arrive(struct gate *gate)
{
	atomic_fetch_add(&gate->arrived, 1);
}

bool gate_complete(struct gate *gate)
{
	return atomic_load(&gate->open) ||
	       atomic_load(&gate->arrived) >= gate->expected;
}

void gate_open(struct gate *gate)
{
	atomic_store(&gate->open, 1);
	syscall(SYS_futex, &gate->open, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void gate_wait(struct gate *gate)
{
	while (!atomic_load(&gate->open))
		syscall(SYS_futex, &gate->open, FUTEX_WAIT, 0, NULL, NULL, 0);
}

void gate_pass(struct gate *gate)
{
	if (atomic_fetch_add(&gate->arrived, 1) + 1 >= gate->expected)
		gate_open(gate);
	else
		gate_wait(gate);
}
