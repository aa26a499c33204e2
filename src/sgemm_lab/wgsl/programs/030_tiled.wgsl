// title: Tiled
// parent: naive
// change: A block copies tiles of A and B into shared memory, and its threads read them there.
// chapter: 2
// grid: ceil(N / TILE), ceil(M / TILE)
// block: TILE, TILE
//
// A block computes a square tile of C. It walks along K in windows: of each its threads
// copy one tile of A and one of B into shared memory, and every element copied is then used
// TILE times. WGSL calls shared memory var<workgroup>, and the barrier workgroupBarrier().

const TILE = 16u;  // rows and columns of a tile

// A block has at most 256 threads on every card: TILE can be at most 16.
const_assert TILE * TILE <= 256;

struct Size { M: u32, N: u32, K: u32 }

@group(0) @binding(0) var<storage, read> A: array<f32>;
@group(0) @binding(1) var<storage, read> B: array<f32>;
@group(0) @binding(2) var<storage, read_write> C: array<f32>;
@group(0) @binding(3) var<uniform> size: Size;

var<workgroup> As: array<array<f32, TILE>, TILE>;  // rows of A × this window's k
var<workgroup> Bs: array<array<f32, TILE>, TILE>;  // this window's k × columns of B

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
    for (var k0 = 0u; k0 < K; k0 += TILE) {
        // Zeros past the edges of A and B: they add nothing to any sum. select() reads
        // first and chooses then: in WGSL a read past the end gives some element, never a fault.
        As[ty][tx] = select(0.0, A[row * K + k0 + tx], row < M && k0 + tx < K);
        Bs[ty][tx] = select(0.0, B[(k0 + ty) * N + col], k0 + ty < K && col < N);
        workgroupBarrier();  // no one reads a tile before all of it is there

        for (var k = 0u; k < TILE; k++) {
            acc += As[ty][k] * Bs[k][tx];
        }
        workgroupBarrier();  // no one overwrites a tile before all have read it
    }

    if (row < M && col < N) { C[row * N + col] = acc; }
}
