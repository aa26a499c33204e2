__global__ void ones(char* x, TYPE n) {
    TYPE i = blockIdx.x * (TYPE)blockDim.x + threadIdx.x;
    for (; i < n; i += blockDim.x * gridDim.x) x[i] = 1;
}
int main() {
    char* x;
    cudaMalloc(&x, COUNT);
    ones<<<1 << 20, 512>>>(x, COUNT);
}
