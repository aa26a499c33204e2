// Boxes that TMA copies, alone or to a cluster; each test has its own end of the kernel.
struct alignas(64) Map { unsigned long long words[16]; };
typedef unsigned long long Barrier;
__device__ unsigned inShared(const void* x) { return unsigned(__cvta_generic_to_shared(x)); }
__device__ unsigned rank() {
    unsigned r; asm volatile("mov.u32 %0, %cluster_ctarank;" : "=r"(r)); return r;
}
__device__ void meet() {
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
}
__device__ void copy(void* to, const Map& map, int x, int y, Barrier* b) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
        " [%0], [%1, {%2, %3}], [%4];" :: "r"(inShared(to)), "l"(&map), "r"(x), "r"(y),
        "r"(inShared(b)) : "memory");
}
__device__ void copyToAll(void* to, const Map& map, int x, int y, Barrier* b, int mask) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
        ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" :: "r"(inShared(to)), "l"(&map),
        "r"(x), "r"(y), "r"(inShared(b)), "h"((unsigned short)mask) : "memory");
}
__device__ void arrive(Barrier* b, int block) {
    asm volatile("{ .reg .b32 there; mapa.shared::cluster.u32 there, %0, %1;"
        " mbarrier.arrive.shared::cluster.b64 _, [there]; }" :: "r"(inShared(b)), "r"(block)
        : "memory");
}
__device__ void expect(Barrier* b, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" :: "r"(inShared(b)),
        "r"(bytes) : "memory");
}
__device__ void waitFor(Barrier* b, int phase) {
    asm volatile("{ .reg .pred over; again: mbarrier.try_wait.parity.shared.b64 over, [%0], %1;"
        " @!over bra again; }" :: "r"(inShared(b)), "r"(phase) : "memory");
}
__device__ void init(Barrier* b, int count) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(inShared(b)), "r"(count));
}
extern "C" __global__ void CLUSTER k(const unsigned* A, unsigned* C, int x, int y,
                                     const __grid_constant__ Map map)
{
    __shared__ __align__(1024) unsigned box[BYTES / 4];
    __shared__ Barrier filled, emptied;
    unsigned* to = C + blockIdx.x * BYTES / 4;
    if (threadIdx.x == 0) { init(&filled, 1); init(&emptied, READERS); }
    BODY
}
