// title: float4 by row
// parent: sliding_window
// change: A thread copies four neighbours of its own row at once.
// chapter: 4
// grid: ceil(N / TILE), ceil(M / TILE)
// block: TILE, TILE
//
// A thread keeps its row of the tile and copies four neighbours of it at once. So only the first
// BK / 4 threads of a row copy A, and only the first BK / 4 rows of threads copy B. CUDA's float4
// is WGSL's vec4f. As holds vec4f: into a tile of floats the four would be stored one by one.

const TILE = 16u;  // rows and columns of a tile
const BK = 32u;    // width of a K tile

// A block has at most 256 threads on every card: TILE can be at most 16.
const_assert TILE * TILE <= 256;
// A vec4f holds 4 floats: BK must be a multiple of 4.
const_assert BK % 4 == 0;
// TILE threads copy 4 floats each: BK can be at most 4 * TILE.
const_assert BK <= 4 * TILE;

struct Size { M: u32, N: u32, K: u32 }

@group(0) @binding(0) var<storage, read> A: array<f32>;
@group(0) @binding(1) var<storage, read> B: array<f32>;
@group(0) @binding(2) var<storage, read_write> C: array<f32>;
@group(0) @binding(3) var<uniform> size: Size;
@group(0) @binding(4) var<storage, read> A4: array<vec4f>;  // A again, in groups of four

var<workgroup> As: array<array<vec4f, BK / 4>, TILE>;  // rows of A × the K tile's k, in fours
var<workgroup> Bs: array<array<f32, TILE>, BK>;        // the K tile's k × columns of B

// Four neighbours of a row of A, from A[row][k] on; zeros past an edge. One load of 16 bytes where
// rows begin at multiples of it: WGSL cannot read A as something else, so A is bound twice.
fn loadA(row: u32, k: u32) -> vec4f
{
    let i = row * size.K + k;
    if (size.K % 4 == 0) { return select(vec4f(), A4[i / 4], row < size.M && k < size.K); }
    let inside = k + vec4u(0, 1, 2, 3) < vec4u(select(0, size.K, row < size.M));
    return select(vec4f(), vec4f(A[i], A[i + 1], A[i + 2], A[i + 3]), inside);
}

@compute @workgroup_size(TILE, TILE)
fn sgemm(@builtin(workgroup_id) block: vec3u, @builtin(local_invocation_id) thread: vec3u)
{
    let M = size.M;
    let N = size.N;
    let K = size.K;

    let tx = thread.x;
    let ty = thread.y;
    let row = block.y * TILE + ty;
    let col = block.x * TILE + tx;

    var acc = 0.0;
    for (var k0 = 0u; k0 < K; k0 += BK) {
        // Zeros past the edges of A and B: they add nothing to any sum.
        let kA = 4 * tx;
        if (kA < BK) {
            let v = loadA(row, k0 + kA);
            As[ty][tx] = v;
        }
        let kB = 4 * ty;
        if (kB < BK) {
            for (var i = 0u; i < 4; i++) {
                let k = k0 + kB + i;
                Bs[kB + i][tx] = select(0.0, B[k * N + col], k < K && col < N);
            }
        }
        workgroupBarrier();  // no one reads the K tile before all of it is there

        for (var k = 0u; k < BK; k++) {
            acc += As[ty][k / 4][k % 4] * Bs[k][tx];
        }
        workgroupBarrier();  // no one overwrites the K tile before all have read it
    }

    if (row < M && col < N) { C[row * N + col] = acc; }
}
