// SPDX-License-Identifier: GPL-2.0
/*
 * A plugin of QEMU: how often each block of the kernel's code ran. At the end
 * it writes a line for each: address, instructions, how often.
 *
 * For one CPU. Debian has no package with QEMU's header: what is needed of it
 * is declared here. API_VERSION is 1 up to QEMU 8, 2 from 9 on.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct qemu_plugin_tb;

int qemu_plugin_version = API_VERSION;

int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv);
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, void (*cb)(uint64_t, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, void (*cb)(unsigned int, void *),
					  int flags, void *data);
void qemu_plugin_register_atexit_cb(uint64_t id, void (*cb)(uint64_t, void *), void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);

struct block {
	uint64_t address, instructions, count;
	struct block *next;
};

#define BUCKETS (1u << 16)
static struct block *blocks[BUCKETS];
static FILE *out;

static void ran(unsigned int cpu, void *block)
{
	(void)cpu;
	((struct block *)block)->count++;
}

/* Code that is translated again, after a flush, is the same block. */
static struct block *find(uint64_t address, uint64_t instructions)
{
	struct block **bucket = &blocks[(address >> 1) % BUCKETS], *block;

	for (block = *bucket; block; block = block->next)
		if (block->address == address && block->instructions == instructions)
			return block;
	block = calloc(1, sizeof(*block));
	if (!block)
		abort();
	block->address = address;
	block->instructions = instructions;
	block->next = *bucket;
	*bucket = block;
	return block;
}

static void translated(uint64_t id, struct qemu_plugin_tb *tb)
{
	uint64_t address = qemu_plugin_tb_vaddr(tb);

	(void)id;
	if (address >> 63) /* the kernel's half */
		qemu_plugin_register_vcpu_tb_exec_cb(tb, ran, 0,
						     find(address, qemu_plugin_tb_n_insns(tb)));
}

static void write_out(uint64_t id, void *data)
{
	(void)id;
	(void)data;
	for (unsigned int i = 0; i < BUCKETS; i++)
		for (struct block *block = blocks[i]; block; block = block->next)
			if (block->count)
				fprintf(out, "%" PRIx64 " %" PRIu64 " %" PRIu64 "\n", block->address,
					block->instructions, block->count);
	fclose(out);
}

int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv)
{
	(void)info;
	if (argc != 1 || strncmp(argv[0], "out=", 4) || !(out = fopen(argv[0] + 4, "w"))) {
		fprintf(stderr, "counts: expected out=FILE, which can be written\n");
		return 1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	qemu_plugin_register_atexit_cb(id, write_out, NULL);
	return 0;
}
