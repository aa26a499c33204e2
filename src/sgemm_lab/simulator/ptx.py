"""Read the PTX text that NVRTC emits into a small list of instructions.

Only syntax is handled here. What an instruction does is decided in ``machine``, so an opcode
that the simulator does not know passes through this module and is reported there.
The grammar is that of NVIDIA's "Parallel Thread Execution ISA".
"""

import re
from dataclasses import dataclass, field, replace
from functools import cached_property

from sgemm_lab.simulator.errors import PtxError
from sgemm_lab.simulator.inlining import counting_barriers, inlined
from sgemm_lab.simulator.ptx_text import closing_brace
from sgemm_lab.simulator.sentences import sentence
from sgemm_lab.simulator.source_locations import Location, LocationTracker, file_table
from sgemm_lab.simulator.variables import ModuleVariable, module_variables, used_variables


@dataclass(frozen=True)
class Register:
    """A virtual register such as ``%r12``, or the sink ``_`` that drops what is written."""

    name: str


@dataclass(frozen=True)
class SpecialRegister:
    """A read-only register the hardware fills, such as ``%tid.x``."""

    name: str


@dataclass(frozen=True)
class Immediate:
    """A constant. ``bits`` is the integer itself, or the bit pattern of a float constant."""

    bits: int


@dataclass(frozen=True)
class Symbol:
    """The address of a named array, such as a ``__shared__`` one, plus bytes."""

    name: str
    offset: int = 0


@dataclass(frozen=True)
class Address:
    """A memory operand ``[base+offset]``; ``offset`` in bytes."""

    base: "Register | Symbol | Immediate"
    offset: int


@dataclass(frozen=True)
class Negated:
    """A predicate operand read inverted, ``!%p1``."""

    register: Register


@dataclass(frozen=True)
class Vector:
    """Several operands in braces, ``{%f1, %f2}``."""

    items: "tuple[Operand, ...]"


@dataclass(frozen=True)
class Pair:
    """Two destinations, ``%r1|%p1``."""

    first: Register
    second: Register


Operand = Register | SpecialRegister | Immediate | Symbol | Address | Negated | Vector | Pair


@dataclass(frozen=True)
class Guard:
    """The predicate before an instruction: it runs in the lanes where the predicate holds."""

    register: Register
    negated: bool


@dataclass(frozen=True)
class Instruction:
    """One PTX instruction."""

    index: int
    """Position in the kernel, from 0."""
    opcode: str
    """With all modifiers, such as ``ld.global.nc.f32``."""
    operands: tuple[Operand, ...]
    guard: Guard | None
    location: Location

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """The opcode cut at its dots: ``("ld", "global", "nc", "f32")``."""
        return tuple(self.opcode.split("."))


@dataclass(frozen=True)
class Parameter:
    """A kernel parameter. ``type`` is the PTX one without its dot, such as ``u64``.

    That of a struct passed by value is ``b8[24]``, with its bytes.
    """

    name: str
    type: str


@dataclass(frozen=True)
class ArrayDeclaration:
    """A shared or local array. ``bytes`` is 0 for dynamic shared memory."""

    name: str
    bytes: int
    alignment: int


@dataclass(eq=False)
class PtxKernel:
    """One ``.entry`` of a PTX module; equal to itself only, so that work on it can be kept."""

    name: str
    parameters: list[Parameter] = field(default_factory=list)
    register_types: dict[str, str] = field(default_factory=dict)
    """Type of each declared register, or of each prefix declared as ``%r<12>``."""
    shared: list[ArrayDeclaration] = field(default_factory=list)
    local: list[ArrayDeclaration] = field(default_factory=list)
    variables: list[ModuleVariable] = field(default_factory=list)
    """Those of the module that it uses."""
    instructions: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    """Label to the index of the instruction that follows it."""
    not_unrolled: set[int] = field(default_factory=set)
    """Indices of instructions after a ``.pragma "nounroll"``."""
    target: str = ""
    """What the PTX was made for, such as "sm_90"; empty where it does not say."""

    most_threads: tuple[int, ...] = ()
    """Threads of a block along x, y, z as ``__launch_bounds__`` has them; empty without."""

    cluster: int = 1
    """Blocks of a cluster, along x."""

    def reads(self, special: str) -> bool:
        """Say whether an instruction reads a special register, such as "%tid.y"."""
        return any(
            isinstance(operand, SpecialRegister) and operand.name == special
            for instruction in self.instructions
            for operand in instruction.operands
        )

    def register_type(self, name: str) -> str:
        """PTX type of a register, such as ``f32`` for ``%f7``."""
        exact = self.register_types.get(name)
        if exact is not None:
            return exact
        prefix = self.register_types.get(name.rstrip("0123456789"))
        if prefix is None:
            raise PtxError(sentence("ptx.undeclared", name=plain(name)))
        return prefix


def plain(register: str) -> str:
    """A register's name as the PTX has it, without the mark of an inner scope."""
    return register.partition("@")[0]


_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_ENTRY = re.compile(r"\.entry\s+([\w$]+)\s*(?:\(([^)]*)\))?([^{]*)\{")
_MOST_THREADS = re.compile(r"\.(?:max|req)ntid\s+(\d+)(?:,\s*(\d+))?(?:,\s*(\d+))?")
_CLUSTER = re.compile(r"\.reqnctapercluster\s+(\d+)(?:,\s*(\d+))?(?:,\s*(\d+))?")
_MODULE_SHARED = re.compile(
    r"^\s*(?:\.\w+\s+)*?\.shared\s+(?:\.align\s+(\d+)\s+)?\.(\w+)\s+([\w$]+)\s*(\[\d*\])?\s*;", re.M
)
_ARRAY = re.compile(r"\.align\s+(\d+)\s+\.(\w+)\s+([\w$%]+)(?:\[(\d*)\])?|\.(\w+)\s+([\w$]+)$")
_LABEL = re.compile(r"([\w$]+)\s*:(?!:)")
_GUARD = re.compile(r"@(!?)([%\w$]+)\s+")
_REGISTER_DECLARATION = re.compile(r"\.reg\s*\.(\w+)\s+(.*)", re.S)
_TARGET = re.compile(r"^\s*\.target\s+(sm_\d+)", re.M)

TEXTURE = re.compile(r"(?:tex|tld4|txq|suld|sust|sured|suq|istypep)\b")
"""How the opcodes of textures and surfaces begin."""

TYPE_BYTES = {
    **dict.fromkeys(("b8", "u8", "s8"), 1),
    **dict.fromkeys(("b16", "u16", "s16", "f16", "bf16"), 2),
    **dict.fromkeys(("b32", "u32", "s32", "f32", "f16x2", "bf16x2", "tf32"), 4),
    **dict.fromkeys(("b64", "u64", "s64", "f64"), 8),
}
"""Bytes of one value of each PTX type."""


def parse(ptx: str) -> dict[str, PtxKernel]:
    """Read a PTX module into its kernels, by entry name.

    Raises:
        PtxError: the text has no kernel, or a statement cannot be read.
    """
    files = file_table(ptx)
    text = _COMMENT.sub("", counting_barriers(inlined(ptx)))
    named = _TARGET.search(text)
    target = named[1] if named is not None else ""
    kernels: dict[str, PtxKernel] = {}
    outside = []
    position = 0
    for entry in _ENTRY.finditer(text):
        if entry.start() < position:
            continue
        end = closing_brace(text, entry.end())
        outside.append(text[position : entry.start()])
        most = _MOST_THREADS.search(entry[3])
        kernel = PtxKernel(
            entry[1],
            _parameters(entry[2] or ""),
            target=target,
            most_threads=tuple(int(n) for n in most.groups() if n) if most else (),
            cluster=_cluster(entry[1], entry[3]),
        )
        _BodyReader(kernel, files).read(text[entry.end() : end])
        kernels[kernel.name] = kernel
        position = end + 1
    if not kernels:
        raise PtxError(sentence("ptx.empty"))
    outside.append(text[position:])
    module_arrays = [
        ArrayDeclaration(name, _array_bytes(type_, size), int(alignment or TYPE_BYTES[type_]))
        for alignment, type_, name, size in _MODULE_SHARED.findall("\n".join(outside))
    ]
    variables = module_variables("\n".join(outside))
    for kernel in kernels.values():
        used = {symbol for instruction in kernel.instructions for symbol in symbols_of(instruction)}
        kernel.shared[:0] = [array for array in module_arrays if array.name in used]
        kernel.variables = used_variables(variables, used)
    return kernels


def _cluster(name: str, head: str) -> int:
    """Blocks of a cluster, from what stands between a kernel's parameters and its body."""
    found = _CLUSTER.search(head)
    if found is None:
        return 1
    x, y, z = (int(size or 1) for size in found.groups())
    if y * z > 1:
        raise PtxError(sentence("ptx.cluster", name=name))
    return x


def _array_bytes(type_: str, size: str) -> int:
    """Bytes of ``.type name[size]``; ``size`` is "" for a scalar and "[]" for a dynamic array."""
    if not size:
        return TYPE_BYTES[type_]
    return TYPE_BYTES[type_] * int(size.strip("[]") or 0)


def symbols_of(instruction: Instruction) -> list[str]:
    """Names of the symbols an instruction's operands mention."""
    names = []
    for operand in instruction.operands:
        base = operand.base if isinstance(operand, Address) else operand
        if isinstance(base, Symbol):
            names.append(base.name)
    return names


def _parameters(text: str) -> list[Parameter]:
    parameters = []
    for declaration in filter(None, (part.strip() for part in text.split(","))):
        words = declaration.split()
        type_ = next((word[1:] for word in words if word[1:] in TYPE_BYTES), None)
        if type_ is None:
            raise PtxError(sentence("ptx.parameter", declaration=declaration))
        name, bracket, size = words[-1].partition("[")
        parameters.append(Parameter(name, f"{type_}[{size}" if bracket else type_))
    return parameters


class _BodyReader:
    """Reads the statements between the braces of one kernel."""

    def __init__(self, kernel: PtxKernel, files: dict[int, str]) -> None:
        self.kernel = kernel
        self.places = LocationTracker(files)
        # Inline assembly may open a scope of its own with registers that shadow outer ones.
        self.scopes: list[dict[str, str]] = []
        # Labels of a scope are its own too, and may be named before they stand.
        self.scope_starts: list[int] = []
        self.scope_labels: list[dict[str, str]] = []
        self.scope_count = 0

    def read(self, text: str) -> None:
        """Read all statements of a kernel's body."""
        pending = ""
        for raw_line in text.split("\n"):
            line = raw_line.strip()
            while line:
                if not pending:
                    line = self._read_line_start(line)
                    if not line:
                        break
                statement, semicolon, line = line.partition(";")
                pending += statement
                if semicolon:
                    self._read_statement(pending.strip())
                    pending = ""
                else:
                    pending += " "
                line = line.strip()

    def _read_line_start(self, line: str) -> str:
        """Take what needs no semicolon off the start of a line; return the rest."""
        if line.startswith((".loc ", ".loc\t")):
            self.places.read(line)
            return ""
        if line[0] == "{":
            self.scopes.append({})
            self.scope_labels.append({})
            self.scope_starts.append(len(self.kernel.instructions))
            return line[1:].strip()
        if line[0] == "}":
            self._close_scope()
            return line[1:].strip()
        label = _LABEL.match(line)
        if label is not None:
            name = label[1]
            if self.scopes:
                self.scope_count += 1
                self.scope_labels[-1][label[1]] = name = f"{name}@{self.scope_count}"
            self.kernel.labels[name] = len(self.kernel.instructions)
            return line[label.end() :].strip()
        return line

    def _close_scope(self) -> None:
        """Leave a scope: its branches to its own labels mean those and no others."""
        self.scopes.pop()
        labels, start = self.scope_labels.pop(), self.scope_starts.pop()
        instructions = self.kernel.instructions
        for index in range(start, len(instructions) if labels else start):
            target = next(iter(instructions[index].operands), None)
            if isinstance(target, Symbol) and instructions[index].parts[0] == "bra":
                name = Symbol(labels.get(target.name, target.name))
                instructions[index] = replace(instructions[index], operands=(name,))

    def _read_statement(self, statement: str) -> None:
        try:
            self._read_kind(statement)
        except (ValueError, LookupError, AttributeError, TypeError):
            raise PtxError(
                sentence("ptx.unreadable", statement=statement, place=self.places.here)
            ) from None

    def _read_kind(self, statement: str) -> None:
        if statement.startswith(".reg"):
            self._read_registers(statement)
        elif statement.startswith((".shared", ".local")):
            self._read_array(statement)
        elif statement.startswith(".pragma") and "nounroll" in statement:
            self.kernel.not_unrolled.add(len(self.kernel.instructions))
        elif not statement.startswith(".") and statement:
            self.kernel.instructions.append(self._instruction(statement))

    def _read_registers(self, statement: str) -> None:
        declaration = _REGISTER_DECLARATION.match(statement)
        if declaration is None:
            raise PtxError(sentence("ptx.registers", statement=statement))
        for name in declaration[2].split(","):
            plain = name.strip().partition("<")[0]
            if self.scopes:
                self.scope_count += 1
                self.scopes[-1][plain] = f"{plain}@{self.scope_count}"
                plain = self.scopes[-1][plain]
            self.kernel.register_types[plain] = declaration[1]

    def _read_array(self, statement: str) -> None:
        array = _ARRAY.search(statement)
        if array is None:
            raise PtxError(sentence("ptx.array", statement=statement))
        type_, name = array[2] or array[5], array[3] or array[6]
        count = 1 if array[4] is None else int(array[4] or 0)
        alignment = int(array[1] or TYPE_BYTES[type_])
        declared = ArrayDeclaration(name, TYPE_BYTES[type_] * count, alignment)
        arrays = self.kernel.shared if statement.startswith(".shared") else self.kernel.local
        arrays.append(declared)

    def _scoped(self, name: str) -> str:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return name

    def _instruction(self, statement: str) -> Instruction:
        guard = None
        guard_text = _GUARD.match(statement)
        if guard_text is not None:
            register = Register(self._scoped(guard_text[2]))
            guard = Guard(register, guard_text[1] == "!")
            statement = statement[guard_text.end() :]
        opcode, _, operands = statement.partition(" ")
        if "\t" in opcode:
            opcode, _, rest = opcode.partition("\t")
            operands = f"{rest} {operands}"
        return Instruction(
            index=len(self.kernel.instructions),
            opcode=opcode,
            operands=tuple(self._operand(text) for text in _split_operands(operands)),
            guard=guard,
            location=self.places.here,
        )

    def _operand(self, text: str) -> Operand:
        if text[0] == "[":
            inside = text[1:-1].strip()
            if "," in inside:  # of a texture: [handle, {x, y}]
                return Vector(tuple(self._operand(item) for item in _split_operands(inside)))
            return self._address(inside)
        if text[0] == "{":
            return Vector(tuple(self._operand(item) for item in _split_operands(text[1:-1])))
        if "|" in text:
            first, second = (Register(self._scoped(name.strip())) for name in text.split("|"))
            return Pair(first, second)
        if text[0] == "!":
            return Negated(Register(self._scoped(text[1:].strip())))
        if text[0].isdigit() or text[0] == "-":
            return Immediate(_constant(text))
        name = self._scoped(text)
        if text == "_" or name in self.kernel.register_types:
            return Register(name)
        if text[0] == "%":
            declared = text.rstrip("0123456789") in self.kernel.register_types
            return Register(text) if declared else SpecialRegister(text)
        base, plus, offset = text.partition("+")
        return Symbol(base.strip(), int(offset, 0) if plus else 0)

    def _address(self, text: str) -> Address:
        base_text, sign, offset_text = re.fullmatch(  # type: ignore[union-attr]
            r"([^+\-\s]+)\s*(?:(\+)\s*(.*))?", text
        ).groups()
        base = self._operand(base_text)
        if not isinstance(base, Register | Symbol | Immediate):
            raise PtxError(sentence("ptx.address", text=text))
        return Address(base, int(offset_text, 0) if sign else 0)


def _split_operands(text: str) -> list[str]:
    """Cut at the commas that stand outside brackets and braces."""
    parts, depth, start = [], 0, 0
    for position, character in enumerate(text):
        if character in "[{":
            depth += 1
        elif character in "]}":
            depth -= 1
        elif character == "," and depth == 0:
            parts.append(text[start:position].strip())
            start = position + 1
    parts.append(text[start:].strip())
    return [part for part in parts if part]


def _constant(text: str) -> int:
    """An integer constant, or the bit pattern of a float written ``0f3F800000``."""
    if text[:2] in ("0f", "0F", "0d", "0D"):
        return int(text[2:], 16)
    return int(text.rstrip("U"), 0)
