// title: Thread tile
// parent: thread_tile_1d
// change: A thread computes a tile of TM × TN elements of C instead of a column.
// chapter: 5
// grid: ceil(N / BN), ceil(M / BM)
// block: BM * BN / (TM * TN), 1
//
// One thread computes a tile of TM × TN elements of C.

const BM = 64u;  // rows of C per block
const BN = 64u;  // columns of C per block
const BK = 8u;   // width of a K tile
const TM = 4u;   // rows of C per thread
const TN = 4u;   // columns of C per thread
const THREADS = BM * BN / (TM * TN);

// TM must divide BM, and TN must divide BN.
const_assert BM % TM == 0 && BN % TN == 0;
// Each thread copies as many: THREADS must divide BM * BK and BK * BN.
const_assert BM * BK % THREADS == 0 && BK * BN % THREADS == 0;
// A block has at most 256 threads on every card: make TM larger.
const_assert THREADS <= 256;

struct Size { M: u32, N: u32, K: u32 }

@group(0) @binding(0) var<storage, read> A: array<f32>;
@group(0) @binding(1) var<storage, read> B: array<f32>;
@group(0) @binding(2) var<storage, read_write> C: array<f32>;
@group(0) @binding(3) var<uniform> size: Size;

var<workgroup> As: array<array<f32, BK>, BM>;  // rows of A × the K tile's k
var<workgroup> Bs: array<array<f32, BN>, BK>;  // the K tile's k × columns of B

@compute @workgroup_size(THREADS)
fn sgemm(@builtin(workgroup_id) block: vec3u, @builtin(local_invocation_index) tid: u32)
{
    let M = size.M;
    let N = size.N;
    let K = size.K;

    let tx = tid % (BN / TN);  // my group of TN columns
    let ty = tid / (BN / TN);  // my group of TM rows
    let blockRow = block.y * BM;
    let blockCol = block.x * BN;

    var acc: array<array<f32, TN>, TM>;
    for (var k0 = 0u; k0 < K; k0 += BK) {
        // Zeros past the edges of A and B: they add nothing to any sum.
        for (var l = 0u; l < BM * BK; l += THREADS) {
            let r = (l + tid) / BK;
            let k = (l + tid) % BK;
            let inside = blockRow + r < M && k0 + k < K;
            As[r][k] = select(0.0, A[(blockRow + r) * K + k0 + k], inside);
        }
        for (var l = 0u; l < BK * BN; l += THREADS) {
            let k = (l + tid) / BN;
            let c = (l + tid) % BN;
            let inside = k0 + k < K && blockCol + c < N;
            Bs[k][c] = select(0.0, B[(k0 + k) * N + blockCol + c], inside);
        }
        workgroupBarrier();  // no one reads the K tile before all of it is there

        for (var k = 0u; k < BK; k++) {
            for (var i = 0u; i < TM; i++) {
                for (var j = 0u; j < TN; j++) {
                    acc[i][j] += As[ty * TM + i][k] * Bs[k][tx * TN + j];
                }
            }
        }
        workgroupBarrier();  // no one overwrites the K tile before all have read it
    }

    for (var i = 0u; i < TM; i++) {
        for (var j = 0u; j < TN; j++) {
            let row = blockRow + ty * TM + i;
            let col = blockCol + tx * TN + j;
            if (row < M && col < N) { C[row * N + col] = acc[i][j]; }
        }
    }
}
