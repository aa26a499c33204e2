// title: Sliding window
// parent: tiled
// change: The window along K is as wide as we like, no longer as wide as the tile.
// chapter: 3
// grid: ceil(N / TILE), ceil(M / TILE)
// block: TILE, TILE
//
// Shared memory holds a window of the strips, BK wide. It slides along K: copy, multiply, move on.
// The step before it in CUDA, all of K at once, is missing here: the size of shared memory is fixed
// when a WGSL program is compiled, so it cannot depend on K.

const TILE = 16u;  // rows and columns of a tile
const BK = 32u;    // width of a K tile

// TILE threads copy a row: BK must be a multiple of TILE.
const_assert BK % TILE == 0;
// A block has at most 256 threads on every card: TILE can be at most 16.
const_assert TILE * TILE <= 256;

struct Size { M: u32, N: u32, K: u32 }

@group(0) @binding(0) var<storage, read> A: array<f32>;
@group(0) @binding(1) var<storage, read> B: array<f32>;
@group(0) @binding(2) var<storage, read_write> C: array<f32>;
@group(0) @binding(3) var<uniform> size: Size;

var<workgroup> As: array<array<f32, BK>, TILE>;  // rows of A × the K tile's k
var<workgroup> Bs: array<array<f32, TILE>, BK>;  // the K tile's k × columns of B

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
        for (var l = 0u; l < BK; l += TILE) {
            let kA = k0 + l + tx;
            let kB = k0 + l + ty;
            As[ty][l + tx] = select(0.0, A[row * K + kA], row < M && kA < K);
            Bs[l + ty][tx] = select(0.0, B[kB * N + col], kB < K && col < N);
        }
        workgroupBarrier();  // no one reads the K tile before all of it is there

        for (var k = 0u; k < BK; k++) {
            acc += As[ty][k] * Bs[k][tx];
        }
        workgroupBarrier();  // no one overwrites the K tile before all have read it
    }

    if (row < M && col < N) { C[row * N + col] = acc; }
}
