# SPDX-License-Identifier: GPL-2.0
"""QEMU: an x86-64 PC.

Always emulated: the same everywhere, and KVM inside a virtual machine is not to be relied on.
"""

from collections.abc import Sequence
from pathlib import Path

from vswaplab.guest.machine import Files, Launch, common_cmdline
from vswaplab.guest.spec import GuestSpec

PROGRAM = "qemu-system-x86_64"
# Larger requests save round trips; 9p's own default is 128 KB.
ROOT_FLAGS = "trans=virtio,version=9p2000.L,cache=loose,msize=262144"


def _value(text: Path | str) -> str:
    """Text as the value of a QEMU option, where a comma is written twice."""
    return str(text).replace(",", ",,")


def _has(spec: GuestSpec, option: str, *, unknown: bool) -> bool:
    """Whether the kernel was built with the option; ``unknown`` if its configuration is not known."""
    config = spec.kernel.config
    return f"{option}=y" in config.read_text().splitlines() if config.is_file() else unknown


def _threads(spec: GuestSpec) -> str:
    """Whether all CPUs take turns in one thread of the host ("single"), or each has its own ("multi").

    With threads of their own, a CPU may go on in code that another has just patched. A kernel with static
    branches dies of that now and then ("Oops: int3"), so its CPUs take turns; one whose configuration is not
    known is taken for such a kernel.
    """
    if spec.icount:  # allows for nothing else
        return "single"
    patches = _has(spec, "CONFIG_JUMP_LABEL", unknown=True)
    return "single" if spec.cpus_used > 1 and patches else "multi"


def _page_tables(spec: GuestSpec) -> list[str]:
    """Kernel parameters: no page tables of five levels for KASAN.

    While identify_cpu() reads the features of the CPU that boots again, it seems to have none: KASAN takes the
    address space for that of four levels then, and reports an interrupt that comes at that moment.
    """
    return ["no5lvl"] if _has(spec, "CONFIG_KASAN", unknown=False) else []


def _clock(spec: GuestSpec) -> list[str]:
    """Kernel parameters: no clock watchdog, which may stop the kernel for ever while it boots on several CPUs.

    In stop_machine(), as it leaves jiffies for the first clock, one CPU waits for the others with interrupts
    off. If the timer of clocksource_watchdog() comes on another one just then, that waits for the first in
    watchdog_check_skew(), with interrupts off as well, and its time limit is in jiffies, which stand still.
    """
    return ["tsc=nowatchdog"] if spec.cpus_used > 1 else []


def _processors(spec: GuestSpec) -> str:
    """With nodes, a socket for each CPU: the CPUs of a socket must be on the same node."""
    return f"{spec.cpus_used},sockets={spec.cpus_used}" if spec.nodes > 1 else str(spec.cpus_used)


def _nodes(spec: GuestSpec) -> list[str]:
    """Nodes with the same number of pages each; the rest of them, and of the CPUs, is the last one's."""
    if spec.nodes == 1:
        return []
    pages, cpus = (spec.mem_bytes >> 12) // spec.nodes, spec.cpus_used // spec.nodes
    argv = []
    for node in range(spec.nodes):
        last = node == spec.nodes - 1
        size = (spec.mem_bytes >> 12) - node * pages if last else pages
        end = (spec.cpus_used if last else (node + 1) * cpus) - 1
        argv += [
            "-object", f"memory-backend-ram,id=memory{node},size={size << 2}K",
            "-numa", f"node,nodeid={node},memdev=memory{node},cpus={node * cpus}-{end}",
        ]  # fmt: skip
    return argv


class Qemu:
    """The root is the host's, exported read-only by 9p; results come over a virtio port."""

    channel = "/dev/vport0p1"  # the first virtio device
    channel_device: Sequence[str] = (
        "-device", "virtio-serial-pci", "-device", "virtserialport,chardev=result,name=vswap.result",
    )  # fmt: skip
    disk = "/dev/vda"
    scratch = "/dev/vdb"
    numbered = True
    restart = True  # with -no-reboot a reset ends QEMU, also after a panic

    def launch(self, spec: GuestSpec, files: Files) -> Launch:
        """The command line of QEMU; nothing is connected to a terminal or a network."""
        cmdline = [
            "root=/dev/root",
            "rootfstype=9p",
            f"rootflags={ROOT_FLAGS}",
            "console=ttyS0",
            *_page_tables(spec),
            *_clock(spec),
            *common_cmdline(spec, files),
        ]
        argv = [
            PROGRAM, "-no-user-config", "-nodefaults", "-display", "none", "-no-reboot",
            "-machine", "q35", "-accel", f"tcg,thread={_threads(spec)}", "-cpu", "max",
            "-smp", _processors(spec), "-m", f"{spec.mem_bytes >> 10}K",
            "-kernel", str(spec.kernel.image), "-append", " ".join(cmdline),
            "-chardev", f"file,id=console,path={_value(files.console)}", "-serial", "chardev:console",
            "-chardev", f"file,id=result,path=/dev/fd/{files.result_fd}",
            *self.channel_device,
            "-fsdev", "local,id=root,path=/,security_model=none,readonly=on,multidevs=remap",
            "-device", "virtio-9p-pci,fsdev=root,mount_tag=/dev/root",
        ]  # fmt: skip
        argv += _nodes(spec)
        if spec.icount:  # time stands still in idle
            argv += ["-icount", "shift=0,sleep=off"]
        if spec.plugin:
            argv += ["-plugin", ",".join(map(_value, spec.plugin))]
        for name, disk in (("swap", files.disk), ("scratch", files.scratch)):
            if disk.exists():
                argv += [
                    "-drive", f"file={_value(disk)},format=raw,if=none,id={name},cache=unsafe",
                    "-device", f"virtio-blk-pci,drive={name},serial={name}",
                ]  # fmt: skip
        return Launch(argv, {}, stdout_is_console=False)


class SuspendingQemu(Qemu):
    """For guests that suspend to disk: afterwards Linux 7.3 takes a virtio port for one without a listener."""

    channel = "/dev/ttyS1"
    channel_device = ("-serial", "chardev:result")
