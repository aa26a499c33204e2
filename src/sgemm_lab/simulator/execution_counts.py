"""How often each piece of a kernel ran."""

from collections import Counter


class Tally:
    """Executions of basic blocks, guarded instructions and barriers over a whole launch."""

    def __init__(self, blocks: int) -> None:
        self.block_lanes = [0] * blocks
        """For each basic block, how many lanes ran it, summed over all its runs."""
        self.block_warps = [0] * blocks
        """The same in warps with at least one active lane."""
        self.guarded_lanes: Counter[int] = Counter()
        """For each instruction with a guard, by index: lanes where the guard held."""
        self.guarded_warps: Counter[int] = Counter()
        """The same in warps."""
        self.barriers: Counter[int] = Counter()
        """For each barrier, by instruction index: how many blocks passed it."""
