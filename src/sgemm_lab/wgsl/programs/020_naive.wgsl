// title: Naive
// parent: naive_rows
// change: Neighbouring threads compute neighbouring columns of C instead of neighbouring rows.
// chapter: 1
// grid: ceil(N / BN), ceil(M / BM)
// block: BN, BM
//
// One thread computes one element of C. thread.x counts columns, so neighbouring threads stand side
// by side in one row of C, and read side by side in one row of B.

const BM = 8u;   // rows of C per block
const BN = 32u;  // columns of C per block

struct Size { M: u32, N: u32, K: u32 }

@group(0) @binding(0) var<storage, read> A: array<f32>;
@group(0) @binding(1) var<storage, read> B: array<f32>;
@group(0) @binding(2) var<storage, read_write> C: array<f32>;
@group(0) @binding(3) var<uniform> size: Size;

@compute @workgroup_size(BN, BM)
fn sgemm(@builtin(workgroup_id) block: vec3u, @builtin(local_invocation_id) thread: vec3u)
{
    let M = size.M;
    let N = size.N;
    let K = size.K;

    let row = block.y * BM + thread.y;
    let col = block.x * BN + thread.x;
    if (row >= M || col >= N) { return; }  // the last blocks reach past the edge of C

    var acc = 0.0;
    for (var k = 0u; k < K; k++) {
        acc += A[row * K + k] * B[k * N + col];
    }
    C[row * N + col] = acc;
}
