// title: Thread tile, from global memory alone
// parent: naive
// change: A thread computes TM × TN elements of C instead of one.
// chapter: 5
// grid: ceil(N / BN), ceil(M / BM)
// block: BN / TN, BM / TM
//
// One thread computes TM × TN elements of C. For each k it reads TM elements of A and TN of B,
// straight from global memory, and makes TM · TN products of them.

const BM = 64u;  // rows of C per block
const BN = 64u;  // columns of C per block
const TM = 4u;   // rows of C per thread
const TN = 4u;   // columns of C per thread

// TM must divide BM, and TN must divide BN.
const_assert BM % TM == 0 && BN % TN == 0;
// A block has at most 256 threads on every card: make TM larger.
const_assert BM * BN / (TM * TN) <= 256;

struct Size { M: u32, N: u32, K: u32 }

@group(0) @binding(0) var<storage, read> A: array<f32>;
@group(0) @binding(1) var<storage, read> B: array<f32>;
@group(0) @binding(2) var<storage, read_write> C: array<f32>;
@group(0) @binding(3) var<uniform> size: Size;

@compute @workgroup_size(BN / TN, BM / TM)
fn sgemm(@builtin(workgroup_id) block: vec3u, @builtin(local_invocation_id) thread: vec3u)
{
    let M = size.M;
    let N = size.N;
    let K = size.K;

    let row = block.y * BM + thread.y * TM;  // my first row
    let col = block.x * BN + thread.x * TN;  // my first column

    var acc: array<array<f32, TN>, TM>;  // zeros, as every variable of WGSL at first
    for (var k = 0u; k < K; k++) {
        // Past the edge the last row or column is read again; its products are not stored.
        for (var i = 0u; i < TM; i++) {
            for (var j = 0u; j < TN; j++) {
                acc[i][j] += A[min(row + i, M - 1) * K + k] * B[k * N + min(col + j, N - 1)];
            }
        }
    }
    for (var i = 0u; i < TM; i++) {
        for (var j = 0u; j < TN; j++) {
            if (row + i < M && col + j < N) { C[(row + i) * N + col + j] = acc[i][j]; }
        }
    }
}
