// title: float4
// parent: sliding_window
// change: A thread copies four neighbours at once; its number says which.
// chapter: 4
// grid: ceil(N / TILE), ceil(M / TILE)
// block: TILE, TILE
//
// Threads are numbered consecutively, whatever their row. Thread i copies the i-th group of four
// neighbours, and rows of B are copied in groups of four too. CUDA's float4 is WGSL's vec4f. The
// tiles hold vec4f: into a tile of single floats the four would be stored one by one.

const TILE = 16u;  // rows and columns of a tile
const BK = 32u;    // width of a K tile

// A block has at most 256 threads on every card: TILE can be at most 16.
const_assert TILE * TILE <= 256;
// A thread copies one vec4f: BK can be at most 2 * TILE.
const_assert BK <= 2 * TILE;
// TILE and BK must be multiples of 4, as vec4f is.
const_assert TILE % 4 == 0 && BK % 4 == 0;

struct Size { M: u32, N: u32, K: u32 }

@group(0) @binding(0) var<storage, read> A: array<f32>;
@group(0) @binding(1) var<storage, read> B: array<f32>;
@group(0) @binding(2) var<storage, read_write> C: array<f32>;
@group(0) @binding(3) var<uniform> size: Size;
@group(0) @binding(4) var<storage, read> A4: array<vec4f>;  // A again, in groups of four
@group(0) @binding(5) var<storage, read> B4: array<vec4f>;  // B again, in groups of four

var<workgroup> As: array<array<vec4f, BK / 4>, TILE>;  // rows of A × the K tile's k, in fours
var<workgroup> Bs: array<array<vec4f, TILE / 4>, BK>;  // the K tile's k × columns of B, in fours

// Four neighbours of a row of A, from A[row][k] on; zeros past an edge. One load of 16 bytes where
// rows begin at multiples of it: WGSL cannot read A as something else, so A is bound twice.
fn loadA(row: u32, k: u32) -> vec4f
{
    let i = row * size.K + k;
    if (size.K % 4 == 0) { return select(vec4f(), A4[i / 4], row < size.M && k < size.K); }
    let inside = k + vec4u(0, 1, 2, 3) < vec4u(select(0, size.K, row < size.M));
    return select(vec4f(), vec4f(A[i], A[i + 1], A[i + 2], A[i + 3]), inside);
}

// Four neighbours of a row of B, from B[k][col] on; zeros past an edge.
fn loadB(k: u32, col: u32) -> vec4f
{
    let i = k * size.N + col;
    if (size.N % 4 == 0) { return select(vec4f(), B4[i / 4], k < size.K && col < size.N); }
    let inside = col + vec4u(0, 1, 2, 3) < vec4u(select(0, size.N, k < size.K));
    return select(vec4f(), vec4f(B[i], B[i + 1], B[i + 2], B[i + 3]), inside);
}

@compute @workgroup_size(TILE, TILE)
fn sgemm(@builtin(workgroup_id) block: vec3u, @builtin(local_invocation_id) thread: vec3u)
{
    let M = size.M;
    let N = size.N;
    let K = size.K;

    let tx = thread.x;
    let ty = thread.y;
    let tid = ty * TILE + tx;
    let row = block.y * TILE + ty;
    let col = block.x * TILE + tx;

    var acc = 0.0;
    for (var k0 = 0u; k0 < K; k0 += BK) {
        // The first threads copy A, the next ones B.
        if (tid < TILE * BK / 4) {
            let r = tid / (BK / 4);
            let k = tid % (BK / 4) * 4;
            let v = loadA(block.y * TILE + r, k0 + k);
            As[r][k / 4] = v;
        } else if (tid < 2 * TILE * BK / 4) {
            let i = tid - TILE * BK / 4;
            let k = i / (TILE / 4);
            let c = i % (TILE / 4) * 4;
            let v = loadB(k0 + k, block.x * TILE + c);
            Bs[k][c / 4] = v;
        }
        workgroupBarrier();  // no one reads the K tile before all of it is there

        for (var k = 0u; k < BK; k++) {
            acc += As[ty][k / 4][k % 4] * Bs[k][tx / 4][tx % 4];
        }
        workgroupBarrier();  // no one overwrites the K tile before all have read it
    }

    if (row < M && col < N) { C[row * N + col] = acc; }
}
