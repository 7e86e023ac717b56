# SPDX-License-Identifier: GPL-2.0
"""Says to systemd-oomd what systemd says as process 1: which groups it is to watch, and for what.

Usage: managed_oom_in_guest.py GROUP=PROPERTY...
"""

import json
import os
import socket
import sys

ADDRESS = "/run/systemd/io.system.ManagedOOM"
METHOD = "io.systemd.ManagedOOM.SubscribeManagedOOMCGroups"


def main() -> None:
    """Answer the one question of systemd-oomd, and stay for as long as it does."""
    os.makedirs(os.path.dirname(ADDRESS), exist_ok=True)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(ADDRESS)
        server.listen(1)
        client, _ = server.accept()
    question = b""
    while not question.endswith(b"\0"):
        part = client.recv(1 << 16)
        if not part:
            raise SystemExit("it closed the connection")
        question += part
    if json.loads(question[:-1])["method"] != METHOD:
        raise SystemExit(f"it asks for something else: {question!r}")
    pairs = (word.split("=") for word in sys.argv[1:])
    groups = [{"mode": "kill", "path": path, "property": name} for path, name in pairs]
    client.sendall(json.dumps({"parameters": {"cgroups": groups}, "continues": True}).encode() + b"\0")
    while client.recv(1 << 16):
        pass


main()
