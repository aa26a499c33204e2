// Keeps the GPU busy for a while, so that the host can queue launches behind it. They then start
// one right after the other, and the time between them does not depend on the host.

extern "C" __global__ void hold(long long nanoseconds)
{
    unsigned long long start, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    do {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (now - start < nanoseconds);
}
