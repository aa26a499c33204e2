// How a memory level looks and is called in pictures.

export const HUES: Record<string, string> = {
  dram: "dram",
  l2: "l2",
  l1: "shared",
  shared: "shared",
  register: "register",
};

export const LEVEL_NAMES: Record<LevelId, string> = {
  dram: "DRAM",
  l2: "L2",
  l1: "L1",
  shared: "shared memory",
  register: "registers",
};

/** The outline of a level's mark, so that hue is not all: L1 and shared memory have the same. */
export function mark(level: string, r: number) {
  if (level === "l2") return `M0 ${-r * 1.25}L${r * 1.25} 0L0 ${r * 1.25}L${-r * 1.25} 0Z`;
  if (level === "l1") return `M0 ${r * 1.3}L${r * 1.2} ${-r * 0.9}H${-r * 1.2}Z`;
  if (level === "shared") return `M${-r} ${-r}H${r}V${r}H${-r}Z`;
  if (level === "register") return `M0 ${-r * 1.3}L${r * 1.2} ${r * 0.9}H${-r * 1.2}Z`;
  return `M${-r} 0A${r} ${r} 0 1 1 ${r} 0A${r} ${r} 0 1 1 ${-r} 0Z`;
}
