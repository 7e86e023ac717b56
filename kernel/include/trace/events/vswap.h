/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM vswap

#if !defined(_TRACE_VSWAP_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_VSWAP_H

#include <linux/swapops.h>
#include <linux/tracepoint.h>

#ifndef _VSWAP_REASON
#define _VSWAP_REASON
/**
 * enum vswap_reason - why the backing of a slot changes
 * @VSWAP_WRITTEN:   the folio was written out
 * @VSWAP_ZEROED:    it was written out as zero-filled
 * @VSWAP_IN_MEMORY: it was read in, or nothing could store it
 * @VSWAP_FREED:     the slot was freed
 * @VSWAP_EVACUATED: the device is about to be taken away
 */
enum vswap_reason {
	VSWAP_WRITTEN,
	VSWAP_ZEROED,
	VSWAP_IN_MEMORY,
	VSWAP_FREED,
	VSWAP_EVACUATED,
};
#endif

TRACE_DEFINE_ENUM(VSWAP_WRITTEN);
TRACE_DEFINE_ENUM(VSWAP_ZEROED);
TRACE_DEFINE_ENUM(VSWAP_IN_MEMORY);
TRACE_DEFINE_ENUM(VSWAP_FREED);
TRACE_DEFINE_ENUM(VSWAP_EVACUATED);

#define show_vswap_tag(tag)				\
	__print_symbolic(tag,				\
		{ 0,			"none" },	\
		{ 1,			"zswap" },	\
		{ 2,			"slot" },	\
		{ 3,			"lost" },	\
		{ 4,			"flight" },	\
		{ 5,			"refused" })

#define show_vswap_reason(reason)			\
	__print_symbolic(reason,			\
		{ VSWAP_WRITTEN,	"written" },	\
		{ VSWAP_ZEROED,		"zeroed" },	\
		{ VSWAP_IN_MEMORY,	"in_memory" },	\
		{ VSWAP_FREED,		"freed" },	\
		{ VSWAP_EVACUATED,	"evacuated" })

DECLARE_EVENT_CLASS(vswap_range,

	TP_PROTO(swp_entry_t swp, unsigned int nr),

	TP_ARGS(swp, nr),

	TP_STRUCT__entry(
		__field(unsigned long, slot)
		__field(unsigned int, nr)
	),

	TP_fast_assign(
		__entry->slot = swp_offset(swp);
		__entry->nr = nr;
	),

	TP_printk("slot=%lx nr=%u", __entry->slot, __entry->nr)
);

DEFINE_EVENT(vswap_range, vswap_alloc,
	TP_PROTO(swp_entry_t swp, unsigned int nr),
	TP_ARGS(swp, nr)
);

DEFINE_EVENT(vswap_range, vswap_free,
	TP_PROTO(swp_entry_t swp, unsigned int nr),
	TP_ARGS(swp, nr)
);

TRACE_EVENT(vswap_backing,

	TP_PROTO(swp_entry_t swp, unsigned int nr, unsigned int from,
		 unsigned int to, unsigned int reason),

	TP_ARGS(swp, nr, from, to, reason),

	TP_STRUCT__entry(
		__field(unsigned long, slot)
		__field(unsigned int, nr)
		__field(unsigned char, from)
		__field(unsigned char, to)
		__field(unsigned char, reason)
	),

	TP_fast_assign(
		__entry->slot = swp_offset(swp);
		__entry->nr = nr;
		__entry->from = from;
		__entry->to = to;
		__entry->reason = reason;
	),

	TP_printk("slot=%lx nr=%u from=%s to=%s reason=%s",
		  __entry->slot, __entry->nr, show_vswap_tag(__entry->from),
		  show_vswap_tag(__entry->to),
		  show_vswap_reason(__entry->reason))
);

TRACE_EVENT(vswap_grow,

	TP_PROTO(unsigned int nr_pages, unsigned int nr_clusters),

	TP_ARGS(nr_pages, nr_clusters),

	TP_STRUCT__entry(
		__field(unsigned int, nr_pages)
		__field(unsigned int, nr_clusters)
	),

	TP_fast_assign(
		__entry->nr_pages = nr_pages;
		__entry->nr_clusters = nr_clusters;
	),

	TP_printk("nr_pages=%u nr_clusters=%u", __entry->nr_pages,
		  __entry->nr_clusters)
);

TRACE_EVENT(vswap_evacuate,

	TP_PROTO(unsigned int type, unsigned int offset, unsigned int nr,
		 unsigned int stored),

	TP_ARGS(type, offset, nr, stored),

	TP_STRUCT__entry(
		__field(unsigned int, type)
		__field(unsigned int, offset)
		__field(unsigned int, nr)
		__field(unsigned int, stored)
	),

	TP_fast_assign(
		__entry->type = type;
		__entry->offset = offset;
		__entry->nr = nr;
		__entry->stored = stored;
	),

	TP_printk("type=%u offset=%x nr=%u stored=%u", __entry->type,
		  __entry->offset, __entry->nr, __entry->stored)
);

#endif /* _TRACE_VSWAP_H */

/* This part must be outside protection */
#include <trace/define_trace.h>
