// title: A from the lanes of a subgroup
// parent: thread_tile_global
// change: Each lane reads another k of A, and all lanes take it from there; B comes in fours.
// chapter: 5
// needs: subgroups
// grid: ceil(N / BN), ceil(M / BM)
// block: BN / TN, 1
//
// This step is WGSL's alone. A subgroup is what CUDA calls a warp: threads that run in step, its
// lanes. How many, from 4 to 128, is the card's. All threads of a block have the same rows of C, so
// whichever of them form a subgroup, they need the same entries of A. Lane l reads the entries with
// k = k0 + l, and a shuffle hands them to the others, from register to register: no shared memory,
// no barrier.

enable subgroups;

const BM = 16u;   // rows of C per block: every thread has all of them
const BN = 256u;  // columns of C per block
const TN = 4u;    // columns of C per thread

// A thread's columns are one vec4f: TN is 4, which must divide BN.
const_assert TN == 4 && BN % TN == 0;
// A block has at most 256 threads on every card: BN can be at most 1024.
const_assert BN / TN <= 256;

struct Size { M: u32, N: u32, K: u32 }

@group(0) @binding(0) var<storage, read> A: array<f32>;
@group(0) @binding(1) var<storage, read> B: array<f32>;
@group(0) @binding(2) var<storage, read_write> C: array<f32>;
@group(0) @binding(3) var<uniform> size: Size;
@group(0) @binding(5) var<storage, read> B4: array<vec4f>;  // B again, in groups of four

// Four neighbours of a row of B, from B[k][col] on; zeros past an edge. One load of 16 bytes where
// rows begin at multiples of it: WGSL cannot read B as something else, so B is bound twice.
fn loadB(k: u32, col: u32) -> vec4f
{
    let i = k * size.N + col;
    if (size.N % 4 == 0) { return select(vec4f(), B4[i / 4], k < size.K && col < size.N); }
    let inside = col + vec4u(0, 1, 2, 3) < vec4u(select(0, size.N, k < size.K));
    return select(vec4f(), vec4f(B[i], B[i + 1], B[i + 2], B[i + 3]), inside);
}

@compute @workgroup_size(BN / TN)
fn sgemm(
    @builtin(workgroup_id) block: vec3u,
    @builtin(local_invocation_index) tid: u32,
    @builtin(subgroup_invocation_id) lane: u32,
    @builtin(subgroup_size) lanes: u32,
)
{
    let M = size.M;
    let N = size.N;
    let K = size.K;

    let row = block.y * BM;             // the block's first row
    let col = block.x * BN + tid * TN;  // my first column

    var acc: array<vec4f, BM>;
    for (var k0 = 0u; k0 < K; k0 += lanes) {
        let k = k0 + lane;          // my k of this round
        var fragA: array<f32, BM>;  // its column of the block's rows
        // Past an edge of A stands a zero, which adds nothing to any sum.
        for (var i = 0u; i < BM; i++) {
            fragA[i] = select(0.0, A[(row + i) * K + k], row + i < M && k < K);
        }
        for (var l0 = 0u; l0 < lanes; l0 += 4) {  // a subgroup has at least four lanes
            for (var u = 0u; u < 4; u++) {
                let l = l0 + u;  // the lane whose k is next
                let b = loadB(k0 + l, col);
                for (var i = 0u; i < BM; i++) { acc[i] += subgroupShuffle(fragA[i], l) * b; }
            }
        }
    }

    for (var i = 0u; i < BM; i++) {
        for (var j = 0u; j < TN; j++) {
            if (row + i < M && col + j < N) { C[(row + i) * N + col + j] = acc[i][j]; }
        }
    }
}
