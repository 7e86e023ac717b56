# SPDX-License-Identifier: GPL-2.0
"""A series as commits of a git repository: written there, and read from there."""

from collections.abc import Sequence
from pathlib import Path

from vswaplab import paths
from vswaplab.errors import TreeError
from vswaplab.proc import SYSTEM, Runner
from vswaplab.series.stored import Line, Step
from vswaplab.tree.gitrepo import IDENTITY, Repo
from vswaplab.tree.overlay import Content, Overlay, read_content

BRANCH = "vswap"

# For git format-patch: nothing that the user's settings could change.
FORMAT = (
    "--zero-commit", "--no-renames", "--diff-algorithm=histogram", "--no-color", "--no-ext-diff", "--no-textconv",
    "--src-prefix=a/", "--dst-prefix=b/", "--no-encode-email-headers", "--always",
)  # fmt: skip

_NOBODY = f"{IDENTITY['GIT_AUTHOR_NAME']} <{IDENTITY['GIT_AUTHOR_EMAIL']}>"
_NEVER = "946684800 +0000"  # IDENTITY's date
_FIELDS = "--format=%an <%ae>%n%ad%n%B"
_LINK, _MODULE = "120000", "160000"


def _blobs(repo: Repo, contents: Sequence[Content]) -> list[str]:
    """Their names in the repository, once they are there."""
    with paths.scratch_dir() as scratch:
        files = [scratch / str(number) for number in range(len(contents))]
        for file, content in zip(files, contents, strict=True):
            file.write_bytes(content.data)
        text = "".join(f"{file}\n" for file in files)
        return repo.git("hash-object", "-w", "--no-filters", "--stdin-paths", stdin=text).stdout.split()


def commit(repo: Repo, steps: Sequence[Step], parent: str = "") -> None:
    """Make a commit of each step on top of ``parent``, or of nothing; the branch ends there.

    Index and files stay as they are. The same steps on the same parent are the same commits.
    """
    changed = [(step, name, step.changes[name]) for step in steps for name in sorted(step.changes)]
    contents = [content for _, _, content in changed if content]
    blobs = dict(zip(map(id, contents), _blobs(repo, contents), strict=True))
    words = []
    for step in steps:
        size = len(step.message.encode())
        words.append(f"commit refs/heads/{BRANCH}\nauthor {step.author} {step.date}\n")
        words.append(f"committer {_NOBODY} {_NEVER}\ndata {size}\n{step.message}\n")
        if parent:
            words.append(f"from {parent}\n")
            parent = ""
        for of, name, content in changed:
            if of is step:
                mode = f"100{content.mode:o}" if content else ""
                words.append(f"M {mode} {blobs[id(content)]} {name}\n" if content else f"D {name}\n")
    if words:
        repo.git("fast-import", "--quiet", "--force", stdin="".join(words))


def scratch_repo(directory: Path, base: Overlay, steps: Sequence[Step], runner: Runner = SYSTEM) -> Repo:
    """A repository of nothing but the files that are touched: the base, then the steps."""
    repo = Repo(directory, runner)
    directory.mkdir(parents=True, exist_ok=True)
    repo.init()
    # The kernel's own .gitattributes: they decide which function a hunk's header names.
    paths.write_file(directory / ".git/info/attributes", b"*.[ch] diff=cpp\n")
    there: Overlay = {name: content for name, content in base.items() if content}
    commit(repo, [Step("base", _NOBODY, _NEVER, "base\n", there), *steps])
    return repo


def _check_modes(name: str, where: str, modes: Sequence[str]) -> None:
    if _LINK in modes:
        raise TreeError(f"{where}: {name} is a symbolic link; the series has plain files only")
    if _MODULE in modes:
        raise TreeError(f"{where}: {name} is a repository of its own; the series has plain files only")


def _changed(repo: Repo, commit_id: str, where: str) -> dict[str, bool]:
    """The files that a commit changes, and whether they are there afterwards. Raises TreeError."""
    argv = ("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", f"{commit_id}~", commit_id)
    words = repo.git(*argv).stdout.split("\0")
    found = {}
    for header, name in zip(words[0::2], words[1::2], strict=False):
        _check_modes(name, where, (header.split()[0].lstrip(":"), header.split()[1]))
        found[name] = header.split()[-1] != "D"
    return found


def _contents(repo: Repo, commit_id: str, names: Sequence[str]) -> Overlay:
    """Files of a commit, byte for byte; none of its own index and files are touched."""
    if not names:
        return {}
    with paths.scratch_dir() as scratch:
        text = "\0".join(f":(literal,top){name}" for name in names)
        repo.git(
            f"--work-tree={scratch}", "checkout", "-q", commit_id, "--pathspec-from-file=-", "--pathspec-file-nul",
            env={"GIT_INDEX_FILE": str(scratch / ".vswap-index")}, stdin=text,
        )  # fmt: skip
        return {name: read_content(scratch / name) for name in names}


def read(repo: Repo) -> Line:
    """The commits on top of the first one. Raises TreeError for what is not one line of plain files."""
    ids = repo.lines("rev-list", "--topo-order", "--reverse", "--parents", f"{repo.root()}..HEAD")
    steps = []
    for words in (line.split() for line in ids):
        text = repo.git("log", "-1", "--date=raw", "--encoding=UTF-8", _FIELDS, words[0]).stdout
        author, date, message = text.split("\n", 2)
        message = message.strip("\n") + "\n"
        where = f"commit {words[0][:12]} ({message.partition(chr(10))[0]})"
        if len(words) != 2:
            raise TreeError(f"{where} is a merge; the series is one line of commits")
        found = _changed(repo, words[0], where)
        there = _contents(repo, words[0], [name for name, kept in found.items() if kept])
        steps.append(Step(where, author, date, message, {name: there.get(name) for name in found}))
    touched = sorted({name for step in steps for name in step.changes})
    in_base = set(repo.git("ls-tree", "-r", "-z", "--name-only", repo.root()).stdout.split("\0"))
    base: Overlay = {name: None for name in touched}
    return Line(base | _contents(repo, repo.root(), [name for name in touched if name in in_base]), steps)
