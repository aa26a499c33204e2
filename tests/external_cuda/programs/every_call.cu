#include <cstdio>
#include <cstring>
#include <cublas_v2.h>
#include <curand.h>
__global__ void nothing() {}
// Column-major A of 2 x 3, B of 3 x 2 with a leading dimension of 4, their product P.
float A[] = {1, 2, 3, 4, 5, 6}, B[] = {1, 2, 3, 0, 4, 5, 6, 0}, P[] = {22, 28, 49, 64};
float A_T[] = {1, 3, 5, 2, 4, 6}, B_T[] = {1, 4, 2, 5, 3, 6};
template <class T> struct Held {
    T *at;
    Held(const float *from, int n) {
        T all[64] = {};
        for (int i = 0; i < n; i++) all[i] = T(from[i]);
        cudaMalloc(&at, n * sizeof(T));
        cudaMemcpy(at, all, n * sizeof(T), cudaMemcpyHostToDevice);
    }
};
const cublasOperation_t NO = CUBLAS_OP_N, YES = CUBLAS_OP_T;
int wrong = 0;
template <class T> void expect(const char *name, T *at, const float *right, int n, float by = 1) {
    T all[64];
    cudaMemcpy(all, at, n * sizeof(T), cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; i++) if (float(all[i]) != by * right[i]) {
        printf("%s: %g at %d\n", name, float(all[i]), i);
        wrong++;
        return;
    }
}
int main() {
    cublasHandle_t h;
    cublasCreate(&h);
    float one = 1, two = 2, zero = 0, empty[16] = {NAN, NAN, NAN, NAN};
    double d_one = 1, d_zero = 0;
    Held<float> a(A, 6), b(B, 8), at(A_T, 6), bt(B_T, 6), c(empty, 4);
    cublasSgemm(h, NO, NO, 2, 2, 3, &one, a.at, 2, b.at, 4, &zero, c.at, 2);
    expect("Sgemm", c.at, P, 4);
    cublasSgemm(h, YES, YES, 2, 2, 3, &one, at.at, 3, bt.at, 2, &two, c.at, 2);
    expect("Sgemm of transposes", c.at, P, 4, 3);
    Held<double> da(A, 6), db(B, 8), dc(empty, 4);
    cublasDgemm(h, NO, NO, 2, 2, 3, &d_one, da.at, 2, db.at, 4, &d_zero, dc.at, 2);
    expect("Dgemm", dc.at, P, 4);
    Held<__half> ha(A, 6), hb(B, 8);
    cublasGemmEx(h, NO, NO, 2, 2, 3, &one, ha.at, CUDA_R_16F, 2, hb.at, CUDA_R_16F, 4,
                 &zero, c.at, CUDA_R_32F, 2, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    expect("GemmEx", c.at, P, 4);
    float parts[] = {1, 2, 3, 4, 5, 6, 2, 4, 6, 8, 10, 12};
    Held<float> two_a(parts, 12), two_c(empty, 8);
    cublasSgemmStridedBatched(h, NO, NO, 2, 2, 3, &one, two_a.at, 2, 6, b.at, 4, 0,
                              &zero, two_c.at, 2, 4, 2);
    expect("SgemmStridedBatched", two_c.at + 4, P, 4, 2);
    const float *as[] = {a.at, two_a.at + 6}, *bs[] = {b.at, b.at}, **d_as, **d_bs;
    float *cs[] = {c.at, two_c.at}, **d_cs;
    cudaMalloc(&d_as, sizeof(as)); cudaMalloc(&d_bs, sizeof(bs)); cudaMalloc(&d_cs, sizeof(cs));
    cudaMemcpy(d_as, as, sizeof(as), cudaMemcpyHostToDevice);
    cudaMemcpy(d_bs, bs, sizeof(bs), cudaMemcpyHostToDevice);
    cudaMemcpy(d_cs, cs, sizeof(cs), cudaMemcpyHostToDevice);
    cublasSgemmBatched(h, NO, NO, 2, 2, 3, &one, d_as, 2, d_bs, 4, &zero, d_cs, 2, 2);
    expect("SgemmBatched", two_c.at, P, 4, 2);
    float x[] = {1, 9, 2, 9, 3}, y[] = {22, 28};
    Held<float> d_x(x, 5), d_y(empty, 2);
    cublasSgemv(h, NO, 2, 3, &one, a.at, 2, d_x.at, 2, &zero, d_y.at, 1);
    expect("Sgemv", d_y.at, y, 2);
    cublasSgemv(h, YES, 3, 2, &one, at.at, 3, d_x.at, 2, &zero, d_y.at, 1);
    expect("Sgemv of a transpose", d_y.at, y, 2);
    if (cublasSgemm(h, NO, NO, 2, 2, 3, &one, a.at, 1, b.at, 4, &zero, c.at, 2)
        != CUBLAS_STATUS_INVALID_VALUE) wrong++;
    cublasSetMatrix(2, 3, 4, A_T, 2, a.at, 2);
    expect("SetMatrix", a.at, A_T, 6);
    curandGenerator_t g;
    curandCreateGenerator(&g, CURAND_RNG_PSEUDO_DEFAULT);
    curandSetPseudoRandomGeneratorSeed(g, 1234ULL);
    float drawn[1000], *d_drawn;
    cudaMalloc(&d_drawn, sizeof(drawn));
    for (int normal = 0; normal < 2; normal++) {
        if (normal) curandGenerateNormal(g, d_drawn, 1000, 5.0f, 2.0f);
        else curandGenerateUniform(g, d_drawn, 1000);
        cudaMemcpy(drawn, d_drawn, sizeof(drawn), cudaMemcpyDeviceToHost);
        float sum = 0, squares = 0;
        for (float one : drawn) sum += one, squares += one * one;
        float mean = sum / 1000, deviation = sqrtf(squares / 1000 - mean * mean);
        if (fabsf(mean - (normal ? 5 : 0.5f)) > 0.2f) wrong++;
        if (fabsf(deviation - (normal ? 2 : 0.29f)) > 0.2f) wrong++;
    }
    nothing<<<1, 1>>>();
    printf("%d wrong\n", wrong);
    return wrong;
}
