// How many bytes per second does TMA bring from L2 into the SMs?
//
// One thread of each block copies pieces into eight slots of shared memory and waits for a slot
// before it fills it again. Nobody reads them. `sharers` neighbouring blocks copy the same pieces.

constexpr int PIECE = 16384;  // bytes
constexpr int SLOTS = 8;

__device__ unsigned inShared(const void* x) { return (unsigned)__cvta_generic_to_shared(x); }

__device__ void wait(unsigned long long* barrier, int phase)
{
    asm volatile("{ .reg .pred done; again: mbarrier.try_wait.parity.shared.b64 done, [%0], %1; "
                 "@!done bra again; }" ::"r"(inShared(barrier)), "r"(phase) : "memory");
}

extern "C" __global__ void read_by_tma(const char* data, int pieces, int rounds, int sharers)
{
    extern __shared__ __align__(128) char slots[];
    __shared__ unsigned long long landed[SLOTS];
    if (threadIdx.x) return;
    for (int i = 0; i < SLOTS; ++i) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(inShared(&landed[i])) : "memory");
    }
    asm volatile("fence.proxy.async;" ::: "memory");
    const int readers = gridDim.x / sharers, reader = blockIdx.x / sharers;
    for (int i = 0; i < rounds; ++i) {
        const int slot = i % SLOTS;
        if (i >= SLOTS) wait(&landed[slot], i / SLOTS - 1 & 1);
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(
                         inShared(&landed[slot])), "r"(PIECE) : "memory");
        const long long piece = (i * readers + reader) % pieces;
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                     "[%0], [%1], %2, [%3];" ::"r"(inShared(slots + slot * PIECE)),
                     "l"(data + piece * PIECE), "r"(PIECE), "r"(inShared(&landed[slot]))
                     : "memory");
    }
    for (int i = rounds; i < rounds + SLOTS; ++i) wait(&landed[i % SLOTS], i / SLOTS - 1 & 1);
}
