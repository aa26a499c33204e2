"""Which shared accesses ptxas merges: from the PTX as written to the machine code as compiled.

ptxas joins shared loads of one basic block into 64-bit and 128-bit ones, and shared stores too.
The rules here were read off the machine code (``nvdisasm``) of test kernels for sm_90. For both:

* The addresses differ by constants, and the wide access must be aligned for certain: ``symbolic``
  follows the address back through the code and counts the zero bits its value must end in.
* Global accesses, volatile and guarded ones, and elements narrower than 32 bits are never merged.

Loads:

* No shared store, barrier or other write to shared memory stands between them.
* Of the four words of an aligned 16-byte piece, three or four make one 128-bit load; otherwise
  two words that fill an aligned 8-byte piece make one 64-bit load.

Stores:

* They follow each other, in any order: no other access of shared memory and no barrier stands
  between them, not even a store to another piece.
* They fill an aligned piece of 16 bytes, or where not all of it is written, one of 8 bytes. No
  store may write what nothing asked for, so there are no holes.
* The first store of a piece is as narrow as any.

Not seen here: merging across basic blocks after ptxas has removed a branch. Loops that ptxas
unrolls by itself are written out before (see ``unroll``).
"""

from dataclasses import dataclass, field

from sgemm_lab.hardware import WORD_BYTES
from sgemm_lab.simulator.control_flow import BasicBlock
from sgemm_lab.simulator.memory import NamedArray
from sgemm_lab.simulator.ptx import TYPE_BYTES, Address, Instruction
from sgemm_lab.simulator.symbolic import BlockValues, Knowledge, Linear, Terms

_WIDEST = 16


@dataclass(frozen=True)
class WideAccess:
    """A load or store in the machine code that stands for one or several in the PTX."""

    offset: int
    """Where it starts, in bytes from the address of the PTX instruction it takes the place of."""
    width: int
    """Bytes per lane."""


Merged = dict[int, tuple[WideAccess, ...]]
"""For a shared access's instruction index, the machine accesses issued in its place: one, several,
or none where those of another PTX instruction bring or take its words. Accesses that ptxas never
merges are left out."""


def merge_shared_accesses(blocks: list[BasicBlock], shared: list[NamedArray]) -> Merged:
    """Find what ptxas makes of every shared load and store that no guard stands before."""
    knowledge = Knowledge(blocks, shared)
    merged: Merged = {}
    for block in blocks:
        values = BlockValues(knowledge)
        loads: dict[Terms, list[_Asked]] = {}
        stores = _StoreRun(values)
        for instruction in block.instructions:
            asked = _mergeable(instruction, values)
            if _is_load(instruction) and asked is not None:
                loads.setdefault(asked.place.terms, []).append(asked)
                merged |= stores.end()
            elif _may_access_shared(instruction):
                if not _is_load(instruction):
                    merged |= _merge_loads(loads, values)
                    loads = {}
                merged |= stores.end() if asked is None else stores.add(asked)
            values.step(instruction)
        merged |= _merge_loads(loads, values) | stores.end()
    return merged


@dataclass(frozen=True)
class _Asked:
    """A shared access of the PTX that may be merged."""

    index: int
    place: Linear
    width: int

    @property
    def start(self) -> int:
        """The constant part of its address."""
        return self.place.constant

    def words(self) -> range:
        """Start of each word."""
        return range(self.start, self.start + self.width, WORD_BYTES)


def _is_load(instruction: Instruction) -> bool:
    return instruction.parts[0] in ("ld", "ldmatrix")


def _mergeable(instruction: Instruction, values: BlockValues) -> _Asked | None:
    parts, operands = instruction.parts, instruction.operands
    if parts[0] not in ("ld", "st") or "volatile" in parts or instruction.guard is not None:
        return None
    address = operands[1] if parts[0] == "ld" else operands[0]
    element = TYPE_BYTES[parts[-1]]
    widths = (WORD_BYTES,) if parts[0] == "ld" else (WORD_BYTES, 2 * WORD_BYTES)
    if (
        not parts[1].startswith("shared")
        or element not in widths
        or not isinstance(address, Address)
    ):
        return None
    vector = [int(part[1:]) for part in parts if part in ("v2", "v4")]
    return _Asked(instruction.index, values.place(address), element * (vector[0] if vector else 1))


def _may_access_shared(instruction: Instruction) -> bool:
    """Whether it may read or write shared memory, or orders those that do."""
    parts = instruction.parts
    if parts[0] in ("bar", "barrier", "membar", "fence", "cp", "ldmatrix", "mbarrier", "wmma"):
        return True
    if parts[0] in ("ld", "st", "red", "atom"):
        # An access that names no space may go to shared memory.
        return not {"global", "local", "param", "const"} & set(parts)
    return False


def _merge_loads(loads: dict[Terms, list[_Asked]], values: BlockValues) -> Merged:
    merged: Merged = {}
    for terms, asked in loads.items():
        alignment = values.alignment(terms)
        owner: dict[int, _Asked] = {}
        for load in asked:
            for word in load.words():
                owner.setdefault(word, load)
        issued: dict[int, list[WideAccess]] = {load.index: [] for load in asked}
        for start, width in _pieces(sorted(owner), alignment):
            # The machine load stands where the first of its words is needed.
            first = min(
                (owner[word] for word in range(start, start + width, WORD_BYTES) if word in owner),
                key=lambda load: load.index,
            )
            issued[first.index].append(WideAccess(start - first.start, width))
        for load in asked:
            merged[load.index] = tuple(issued[load.index])
            # Where the analysis cannot prove the alignment of a vector, the programmer vouches
            # for it: it is never cut.
            if load.width > WORD_BYTES and (alignment < load.width or load.start % load.width):
                merged[load.index] = (WideAccess(0, load.width),)
    return merged


def _pieces(words: list[int], alignment: int) -> list[tuple[int, int]]:
    """Cut sorted words that are loaded into (start, width) of machine loads."""
    left = set(words)
    pieces = []
    for word in words:
        if word not in left:
            continue
        quad, pair = word // 16 * 16, word // 8 * 8
        in_quad = [w for w in range(quad, quad + 16, WORD_BYTES) if w in left]
        if alignment >= 16 and len(in_quad) >= 3:
            pieces.append((quad, 16))
            left.difference_update(in_quad)
        elif alignment >= 8 and {pair, pair + WORD_BYTES} <= left:
            pieces.append((pair, 8))
            left.difference_update((pair, pair + WORD_BYTES))
        else:
            pieces.append((word, WORD_BYTES))
            left.discard(word)
    return pieces


@dataclass
class _StoreRun:
    """Stores that follow each other and lie in one aligned piece of shared memory."""

    values: BlockValues
    stores: list[_Asked] = field(default_factory=list)

    def add(self, store: _Asked) -> Merged:
        """Take in one more store; give what became of the run before it, if it starts a new one."""
        merged = {} if self._continues(store) else self.end()
        self.stores.append(store)
        return merged

    def end(self) -> Merged:
        """Say what the stores of the run become, and forget them."""
        stores, self.stores = self.stores, []
        merged: Merged = {store.index: (WideAccess(0, store.width),) for store in stores}
        if any(store.width < stores[0].width for store in stores):
            return merged
        # Whole pieces are merged last, over pairs of words.
        for width in (2 * WORD_BYTES, _WIDEST):
            for start in {store.start // width * width for store in stores}:
                inside = [store for store in stores if store.start // width * width == start]
                if sum(store.width for store in inside) == width <= self._piece(inside[0]):
                    # The machine store stands where the last of its words is known.
                    last = max(inside, key=lambda store: store.index)
                    merged |= {store.index: () for store in inside}
                    merged[last.index] = (WideAccess(start - last.start, width),)
        return merged

    def _continues(self, store: _Asked) -> bool:
        if not self.stores or store.place.terms != self.stores[0].place.terms:
            return False
        piece = self._piece(store)
        taken = {word for other in self.stores for word in other.words()}
        same_piece = store.start // piece == self.stores[0].start // piece
        return same_piece and taken.isdisjoint(store.words())

    def _piece(self, store: _Asked) -> int:
        """Bytes of the pieces that the store's alignment allows."""
        return min(_WIDEST, self.values.alignment(store.place.terms))
