// The tile of a kernel: tile.py in TypeScript.

export interface Tile {
  bm: number;
  bn: number;
  bk: number;
  tm: number;
  tn: number;
}

/** A kernel's constants as a tile; TILE stands for BM, BN and BK at once. */
export function tileOf(constants: { name: string; value: number }[]): Tile {
  const value = Object.fromEntries(constants.map((constant) => [constant.name, constant.value]));
  const side = value.TILE ?? 1;
  const { BM = side, BN = side, BK = side, TM = 1, TN = 1 } = value;
  return { bm: BM, bn: BN, bk: BK, tm: TM, tn: TN };
}
