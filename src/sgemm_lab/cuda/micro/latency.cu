// How many cycles pass between asking for a value and having it?
//
// One thread walks a ring: every load asks at the address that the load before it returned, so no
// two of them overlap. The cycles of the walk over its steps are the latency of one load. The ring
// holds byte offsets or pointers, so that no arithmetic stands between one load and the next.

struct Node {
    const Node* next;
};

extern "C" __global__ void chase_global(const Node* at, int warm_up, int steps, long long* cycles,
                                        const Node** end)
{
    for (int i = 0; i < warm_up; ++i) at = at->next;  // caches keep what fits into them

    const long long start = clock64();
#pragma unroll 8
    for (int i = 0; i < steps; ++i) at = at->next;
    *cycles = clock64() - start;
    *end = at;  // without a use of the result the compiler would drop the walk
}

extern "C" __global__ void chase_shared(int steps, long long* cycles, unsigned* end)
{
    __shared__ unsigned ring[1024];
    for (int i = 0; i < 1024; ++i) ring[i] = (i + 33) % 1024 * sizeof(unsigned);
    const char* bytes = reinterpret_cast<const char*>(ring);

    unsigned at = 0;
    const long long start = clock64();
#pragma unroll 8
    for (int i = 0; i < steps; ++i) at = *reinterpret_cast<const unsigned*>(bytes + at);
    *cycles = clock64() - start;
    *end = at;
}

__constant__ unsigned constant_ring[64];  // zeros: a ring of one, always in the constant cache

extern "C" __global__ void chase_constant(int steps, long long* cycles, unsigned* end)
{
    const char* bytes = reinterpret_cast<const char*>(constant_ring);

    unsigned at = 0;
    const long long start = clock64();
#pragma unroll 8
    for (int i = 0; i < steps; ++i) at = *reinterpret_cast<const unsigned*>(bytes + at);
    *cycles = clock64() - start;
    *end = at;
}

extern "C" __global__ void chain_fma(int steps, float factor, long long* cycles, float* end)
{
    float value = factor;  // registers only: each FMA needs the result of the one before
    const long long start = clock64();
#pragma unroll 128
    for (int i = 0; i < steps; ++i) value = fmaf(value, factor, factor);
    *cycles = clock64() - start;
    *end = value;
}
