// Keeps the GPU busy for a while, so that the host can queue launches behind it. They then start
// one right after the other, and the time between them does not depend on the host. At its end it
// stamps nanoseconds, clocks of its SM, and which SM that is.

extern "C" __global__ void hold(long long nanoseconds, long long* stamp)
{
    unsigned long long start, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    do {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (now - start < nanoseconds);
    unsigned sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    stamp[0] = now;
    stamp[1] = clock64();
    stamp[2] = sm;
}
