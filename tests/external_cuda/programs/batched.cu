#include <cstdio>
__global__ void batched(const float *const *A, const float *const *B, float **C, int n) {
    const float *a = A[blockIdx.x], *b = B[blockIdx.x];
    float *c = C[blockIdx.x];
    int row = threadIdx.y, col = threadIdx.x;
    if (row >= n || col >= n) return;
    float acc = 0;
    for (int k = 0; k < n; k++) acc += a[row * n + k] * b[k * n + col];
    c[row * n + col] = acc;
}
int main() {
    const int n = 7, batch = 3, bytes = n * n * sizeof(float);
    float h[n * n], one[n * n] = {}, r[n * n];
    for (int i = 0; i < n * n; i++) h[i] = i;
    for (int i = 0; i < n; i++) one[i * n + i] = 1;
    float *all, *A[batch], *B[batch], *C[batch], **dA, **dB, **dC;
    cudaMalloc(&all, batch * bytes);
    for (int i = 0; i < batch; i++) {
        A[i] = all + i * n * n;
        cudaMalloc(&B[i], bytes);
        cudaMalloc(&C[i], bytes);
        cudaMemcpy(A[i], h, bytes, cudaMemcpyHostToDevice);
        cudaMemcpy(B[i], one, bytes, cudaMemcpyHostToDevice);
    }
    cudaMalloc(&dA, sizeof(A)); cudaMalloc(&dB, sizeof(B)); cudaMalloc(&dC, 2 * sizeof(C));
    cudaMemcpy(dA, A, sizeof(A), cudaMemcpyHostToDevice);
    cudaMemcpy(dB, B, sizeof(B), cudaMemcpyHostToDevice);
    cudaMemcpy(dC + batch, C, sizeof(C), cudaMemcpyHostToDevice);
    batched<<<batch, dim3(8, 8)>>>(dA, dB, dC + batch, n);
    int bad = 0;
    for (int i = 0; i < batch; i++) {
        cudaMemcpy(r, C[i], bytes, cudaMemcpyDeviceToHost);
        for (int j = 0; j < n * n; j++) bad += r[j] != h[j];
    }
    printf("%d bad\n", bad);
    return bad != 0;
}
