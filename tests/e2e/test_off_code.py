# SPDX-License-Identifier: GPL-2.0
"""Without CONFIG_VSWAP the edited files compile to mainline's code, but for the functions listed here.

``./vswap codediff`` lists them, ``./vswap codediff FUNCTION`` shows how the code of one differs.
"""

import pytest

from vswaplab.build import disasm, edited

REQUEST = "the allocator takes a request, which names the folio, instead of the folio"
STATIC = "no longer static, so that it is not compiled into its callers"
ZSTD = "a fix: contexts are set up with the stream, not for each request"
ENTRY = "takes or passes the swap entry, where mainline takes the folio"
COMPACTS = "pages are counted when their size class is done; busy is not 0, but what the shrinker made of 0"
EVICT = "a fix: an inode is not freed while a folio is between its page cache and the swap cache"

DIFFERS: dict[str, str] = {  # function: why
    "__mem_cgroup_try_charge_swap": STATIC + " (mem_cgroup_private_id_put)",
    "__mem_cgroup_uncharge_swap": STATIC + " (mem_cgroup_private_id_put)",
    "mem_cgroup_css_offline": STATIC + " (mem_cgroup_private_id_put)",
    "mem_cgroup_private_id_put": STATIC,
    "folio_blkg_can_merge": STATIC,
    "swap_bdev_can_merge": STATIC + " (folio_blkg_can_merge); swap_folio_sector() is compiled into it",
    "swap_bdev_submit_read": ENTRY,
    "swap_bdev_submit_write": ENTRY,
    "swap_fs_write_complete": ENTRY,
    "swap_entry_sector": ENTRY,
    "swap_folio_sector": ENTRY,
    "__se_sys_swapon": STATIC + " (alloc_swap_info)",
    "sys_swapon": STATIC + " (alloc_swap_info)",
    "alloc_swap_info": STATIC,
    "alloc_swap_scan_cluster": REQUEST,
    "folio_alloc_swap": REQUEST,
    "isolate_lock_cluster": "a fix: a cluster that was used meanwhile, by an outdated hint, is given up",
    "relocate_cluster": "a fix: an empty cluster without a table is left alone: it may be getting one",
    "shmem_evict_inode": EVICT,
    "shmem_writeout": EVICT,
    "shmem_swapin_folio": "a fix: shmem_replace_folio(), compiled into it, passes the dirty bit on",
    "swap_cluster_alloc_table": "a fix: the table of ids is there before the table that makes the cluster usable",
    "swap_cluster_free_table": "called where no table is yet as well: it is no longer compiled into its callers",
    "swap_reclaim_full_clusters": "what is only cached is asked, and freed, by a function of its own",
    "swap_do_scheduled_discard": "registers: the functions it is compiled with have changed",
    "swap_usage_in_pages": STATIC,
    "swap_read_folio": "the warning of a folio that is zero-filled in part is given in a branch of its own",
    "swap_writeout": "the lock of the cluster is not taken to clear marks of zero pages that are not set",
    "balance_pgdat": "reads once more whether memcg is disabled, for an argument that is not used",
    "shrink_lruvec": "reads once more whether memcg is disabled, for an argument that is not used",
    "__zs_compact": COMPACTS,
    "zs_compact": COMPACTS,
    "zs_shrinker_scan": COMPACTS + " (zs_compact, compiled into it)",
    "zs_free_many": "used by virtual swap alone",
    "zstd_alloc_stream": ZSTD,
    "zstd_compress": ZSTD,
    "zstd_decompress": ZSTD,
    "zswap_compress": STATIC,
    "zswap_decompress": "takes the page that the data goes to, where mainline takes the folio",
    "sg_assign_page": "compiled into zswap_decompress",
    "zswap_max_pages": STATIC,
    "zswap_store": STATIC + " (zswap_compress)",
}

ON_X86 = {  # what User-Mode Linux has not, or compiles otherwise
    "do_swap_page": "a large folio's entry is decoded before zswap is asked, and its order is at most a cluster's",
    "cluster_alloc_swap_entry": REQUEST,
    "swap_alloc_hibernation_slot": REQUEST,
    "__x64_sys_swapon": STATIC + " (alloc_swap_info)",
}
NOT_ON_X86 = {"__se_sys_swapon", "sys_swapon", "sg_assign_page", "swap_do_scheduled_discard", "zswap_decompress"}
DIFFERS_X86 = {**ON_X86, **{name: why for name, why in DIFFERS.items() if name not in NOT_ON_X86}}


def kernels(arch: str) -> list[pytest.MarkDecorator]:
    """The marks of a test that compares both: of ours the objects do."""
    return [
        pytest.mark.kernel("mainline", arch, "release"),
        pytest.mark.kernel("vswap-off", arch, "release", objects=True),
    ]


@pytest.mark.parametrize(
    ("arch", "reasons"),
    [
        pytest.param("um", DIFFERS, marks=kernels("um")),
        pytest.param("x86_64", DIFFERS_X86, marks=[pytest.mark.long, *kernels("x86_64")]),
    ],
)
def test_code_is_mainlines(arch: str, reasons: dict[str, str]) -> None:
    names, ours, base = edited.objects("vswap-off", arch)
    assert len(names) > 5, names
    found = {item.function: item.source for item in disasm.differences(names, ours, base)}
    unexplained = sorted(f"{source}: {name}" for name, source in found.items() if name not in reasons)
    assert unexplained == []
    assert sorted(reasons.keys() - found.keys()) == [], "these do not differ (any longer)"
