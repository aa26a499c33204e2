// title: float4 tile
// parent: transposed
// change: A thread copies four neighbours of A at once, and four of B, and keeps B in fours.
// chapter: 6
// grid: ceil(N / BN), ceil(M / BM)
// block: BM * BN / (TM * TN), 1
//
// Windows come from global memory as vec4f, one of A and one of B for each thread. Bs, fragB, acc
// hold vec4f too: one line reads four neighbours of B, the next makes four products of them. As
// stays in single floats. Transposed, the four of a group come from four threads, and in WGSL two
// threads may not write into one vec4f.

const BM = 128u;  // rows of C per block
const BN = 128u;  // columns of C per block
const BK = 8u;    // width of a K tile
const TM = 8u;    // rows of C per thread
const TN = 8u;    // columns of C per thread
const THREADS = BM * BN / (TM * TN);

// TM must divide BM, and TN must divide BN.
const_assert BM % TM == 0 && BN % TN == 0;
// Each thread copies one vec4f of A and one of B: BM * BK = BK * BN = 4 * THREADS.
const_assert BM * BK == 4 * THREADS && BK * BN == 4 * THREADS;
// vec4f holds 4 floats: BK, BN and TN must be multiples of 4.
const_assert BK % 4 == 0 && BN % 4 == 0 && TN % 4 == 0;
// A block has at most 256 threads on every card: make TM larger.
const_assert THREADS <= 256;

struct Size { M: u32, N: u32, K: u32 }

@group(0) @binding(0) var<storage, read> A: array<f32>;
@group(0) @binding(1) var<storage, read> B: array<f32>;
@group(0) @binding(2) var<storage, read_write> C: array<f32>;
@group(0) @binding(3) var<uniform> size: Size;
@group(0) @binding(4) var<storage, read> A4: array<vec4f>;  // A again, in groups of four
@group(0) @binding(5) var<storage, read> B4: array<vec4f>;  // B again, in groups of four

var<workgroup> As: array<array<f32, BM>, BK>;        // the K tile's k × rows of A: transposed
var<workgroup> Bs: array<array<vec4f, BN / 4>, BK>;  // the K tile's k × columns of B, in fours

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

    let rA = tid / (BK / 4);      // my vec4f of A: its row
    let kA = tid % (BK / 4) * 4;  // and its k
    let kB = tid / (BN / 4);      // my vec4f of B: its k
    let cB = tid % (BN / 4) * 4;  // and its column

    var acc: array<array<vec4f, TN / 4>, TM>;
    for (var k0 = 0u; k0 < K; k0 += BK) {
        // Past an edge of A or B stand zeros, which add nothing to any sum.
        let a = loadA(blockRow + rA, k0 + kA);
        let b = loadB(k0 + kB, blockCol + cB);
        for (var i = 0u; i < 4; i++) { As[kA + i][rA] = a[i]; }
        Bs[kB][cB / 4] = b;
        workgroupBarrier();  // no one reads the K tile before all of it is there

        for (var k = 0u; k < BK; k++) {
            var fragA: array<f32, TM>;        // this k's column of my rows
            var fragB: array<vec4f, TN / 4>;  // this k's row of my columns
            for (var i = 0u; i < TM; i++) { fragA[i] = As[k][ty * TM + i]; }
            for (var j = 0u; j < TN / 4; j++) { fragB[j] = Bs[k][tx * TN / 4 + j]; }
            for (var i = 0u; i < TM; i++) {
                for (var j = 0u; j < TN / 4; j++) {
                    acc[i][j] += fragA[i] * fragB[j];
                }
            }
        }
        workgroupBarrier();  // no one overwrites the K tile before all have read it
    }

    for (var i = 0u; i < TM; i++) {
        for (var j = 0u; j < TN; j++) {
            let row = blockRow + ty * TM + i;
            let col = blockCol + tx * TN + j;
            if (row < M && col < N) { C[row * N + col] = acc[i][j / 4][j % 4]; }
        }
    }
}
