"""Import statements, written again: those of one place stay together, with their comments."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import libcst as cst

from hocket.migration.dotted import BRIDGE, read_dotted
from hocket.migration.findings import Finding
from hocket.migration.rooms import read_names
from hocket.migration.staying import Stayer, StayingReader, find_home
from hocket.migration.table import Place, find_module, find_place, is_langchain
from hocket.migration.uses import ProgramReader

__all__ = ["Written", "write_import", "write_import_from"]

_WIDTH = 100  # columns of an import that is written on one line


@dataclass
class Written:
    """What came of one import statement.

    Args:
        statements: the imports as they are now.
        moved: how many names or modules were moved.
        findings: what was not.
        needs_bridge: whether something that stays goes through the bridge.
    """

    statements: list[cst.BaseSmallStatement] = field(default_factory=list[cst.BaseSmallStatement])
    moved: int = 0
    findings: list[Finding] = field(default_factory=list[Finding])
    needs_bridge: bool = False

    def add_stayer(self, name: str, stayer: Stayer, line: int) -> None:
        """Note a name that stays LangChain's."""
        self.moved += stayer.bridged
        self.findings += stayer.describe(name, line)
        self.needs_bridge = self.needs_bridge or stayer.bridged > 0

    def import_bridge(self) -> None:
        """Import what goes around what stays."""
        name = cst.ImportAlias(cst.Name("from_langchain"))
        self.statements.insert(0, _write_clean(BRIDGE, [name]))


def write_import_from(
    node: cst.ImportFrom, module: str, reader: ProgramReader, staying: StayingReader, line: int
) -> Written:
    """Write ``from MODULE import ...`` again.

    Args:
        node: the statement.
        module: LangChain's module.
        reader: the program.
        staying: what stays of LangChain's in it.
        line: where the statement is.
    """
    if isinstance(node.names, cst.ImportStar):
        return _write_star(node, module, reader, line)
    written = Written()
    groups: dict[str, list[cst.ImportAlias]] = {}
    for alias in node.names:
        name = ".".join(read_dotted(alias.name))
        place = find_place(module, name, keeps_files=reader.keeps_files)
        room = find_module(f"{module}.{name}") if f"{module}.{name}" in reader.modules.values() else None
        if room:
            _, _, own = room.rpartition(".")
            place = Place(room.rpartition(".")[0], own)
            binding = read_dotted(alias.asname.name)[0] if alias.asname else name
            _add_rooms(written, reader, binding, room)
        if isinstance(place, Place) and f"{module}.{name}" not in staying.stayers:
            written.moved += 1
            note = read_names()["notes"].get(str(place))
            if note and (place.name != name or not module.startswith("langchain_core")):
                shown = name if place.name == name else f"{name}, now {place.name}"
                written.findings.append(Finding(line, shown, note, "check"))
            groups.setdefault(place.module, []).append(_rename_alias(alias, place.name))
        elif stayer := staying.stayers.get(f"{module}.{name}"):
            home = find_home(module, name)
            written.moved += home != module
            groups.setdefault(home, []).append(alias)
            written.add_stayer(f"{module}.{name}", stayer, line)
        else:
            groups.setdefault(module, []).append(alias)
            written.findings.append(Finding(line, f"{module}.{name}", str(place)))
    written.statements = [_write_group(node, *group, is_whole=len(groups) == 1) for group in groups.items()] + list(
        written.statements
    )
    return written


def write_import(node: cst.Import, reader: ProgramReader, staying: StayingReader, line: int) -> Written:
    """Write ``import MODULE, ...`` again.

    Args:
        node: the statement.
        reader: the program.
        staying: what stays of LangChain's in it.
        line: where the statement is.
    """
    written = Written()
    for alias in node.names:
        module = ".".join(read_dotted(alias.name))
        clean = alias.with_changes(comma=cst.MaybeSentinel.DEFAULT)
        if not is_langchain(module):
            written.statements.append(cst.Import([clean]))
            continue
        room = find_module(module)
        binding = read_dotted(alias.asname.name)[0] if alias.asname else module.partition(".")[0]
        uses = [use for use in reader.uses_of(binding) if alias.asname or use.chain.startswith(f"{module}.")]
        stayers = {use.chain: stayer for use in uses if (stayer := staying.find_chain(use.chain)) and stayer.bridged}
        for chain, stayer in stayers.items():
            written.add_stayer(chain, stayer, line)
        is_kept = (room is None and not uses) or any(use.place is None for use in uses)
        if is_kept:
            written.statements.append(cst.Import([clean]))
            if room is None and not uses:
                written.findings.append(Finding(line, module, str(find_place(module, "*"))))
            if alias.asname:
                continue
        if alias.asname and room:
            written.moved += 1
            written.statements.append(cst.Import([clean.with_changes(name=_dot(room))]))
            _add_rooms(written, reader, binding, room)
        elif uses:
            written.moved += 1
            rooms = sorted({use.place.module for use in uses if use.place})
            written.statements += [cst.Import([cst.ImportAlias(_dot(one))]) for one in rooms]
        elif room:
            written.moved += 1
            written.statements.append(cst.Import([cst.ImportAlias(_dot(room))]))
    return written


def _add_rooms(written: Written, reader: ProgramReader, binding: str, room: str) -> None:
    """Import the further rooms that names behind a binding have moved to."""
    others = sorted({use.place.module for use in reader.uses_of(binding) if use.place} - {room})
    written.statements += [cst.Import([cst.ImportAlias(_dot(one))]) for one in others]


def _write_star(node: cst.ImportFrom, module: str, reader: ProgramReader, line: int) -> Written:
    """Name what a star import brought, as far as the program uses it and hocket has it.

    It stays before that where the program has names that nothing else can have brought.
    """
    rooms: dict[str, list[cst.ImportAlias]] = {}
    for name in reader.star_names(module):
        place = find_place(module, name)
        if isinstance(place, Place):
            rooms.setdefault(place.module, []).append(_rename_alias(cst.ImportAlias(cst.Name(name)), place.name))
    names: list[cst.BaseSmallStatement] = [_write_clean(room, aliases) for room, aliases in rooms.items()]
    shown = f"{module}.*"
    if others := reader.unknown_names():
        told = f"a star import; hocket has no {', '.join(others)}, which may come of it"
        if not reader.has_other_star:
            text = f"{told}, so it stays as well; import them by name, and run the command again"
            return Written([node, *names], sum(map(len, rooms.values())), [Finding(line, shown, text)])
        if not rooms:
            return Written([node], findings=[Finding(line, shown, f"{told}; import what the program needs by name")])
        text = f"{told}, or of another: what hocket has is named now"
        return Written(names, sum(map(len, rooms.values())), [Finding(line, shown, text, "check")])
    if not rooms:
        return Written([node], findings=[Finding(line, shown, "a star import, of which hocket has no name used here")])
    text = "a star import: what the program uses of it is named now"
    return Written(names, sum(map(len, rooms.values())), [Finding(line, shown, text, "check")])


def _rename_alias(alias: cst.ImportAlias, own: str) -> cst.ImportAlias:
    """Return an alias that imports ``own`` under the name that the program has for it."""
    name = ".".join(read_dotted(alias.name))
    bound = ".".join(read_dotted(alias.asname.name)) if alias.asname else name
    if own == name:
        return alias
    asname = cst.AsName(cst.Name(bound), cst.SimpleWhitespace(" "), cst.SimpleWhitespace(" "))
    return alias.with_changes(name=cst.Name(own), asname=None if bound == own else asname)


def _write_group(
    node: cst.ImportFrom, module: str, aliases: Sequence[cst.ImportAlias], *, is_whole: bool
) -> cst.ImportFrom:
    if is_whole:
        return node.with_changes(module=_dot(module), names=aliases)
    clean = _write_clean(module, aliases)
    has_comment = "#" in cst.Module([cst.SimpleStatementLine([node])]).code
    if not has_comment and len(cst.Module([cst.SimpleStatementLine([clean])]).code) <= _WIDTH:
        return clean
    return node.with_changes(module=_dot(module), names=list(_set_commas(aliases, node.lpar is not None)))


def _set_commas(aliases: Sequence[cst.ImportAlias], is_in_brackets: bool) -> Iterator[cst.ImportAlias]:
    """Yield the names of one statement; the last one keeps a comma only in brackets, where its comment hangs on it."""
    *first, last = aliases
    yield from first
    comma = last.comma
    if not is_in_brackets or not isinstance(comma, cst.Comma):
        yield last.with_changes(comma=cst.MaybeSentinel.DEFAULT)
        return
    space = comma.whitespace_after
    if isinstance(space, cst.ParenthesizedWhitespace):
        space = space.with_changes(indent=True, last_line=cst.SimpleWhitespace(""))
    yield last.with_changes(comma=comma.with_changes(whitespace_after=space))


def _write_clean(module: str, aliases: Sequence[cst.ImportAlias]) -> cst.ImportFrom:
    """Write an import on one line."""
    names = [alias.with_changes(comma=cst.MaybeSentinel.DEFAULT) for alias in aliases]
    return cst.ImportFrom(_dot(module), names)


def _dot(name: str) -> cst.Name | cst.Attribute:
    expression = cst.parse_expression(name)
    assert isinstance(expression, cst.Name | cst.Attribute)
    return expression
