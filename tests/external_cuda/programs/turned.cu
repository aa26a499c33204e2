constexpr int BM = 16;
template <int PAD> __global__ void turn(const float* in, float* out, int n) {
  __shared__ float tile[BM][BM + PAD];
  int x = blockIdx.x * BM + threadIdx.x, y = blockIdx.y * BM + threadIdx.y;
  if (x < n && y < n) tile[threadIdx.y][threadIdx.x] = in[y * n + x];
  if (x < n && y < n) out[x * n + y] = tile[threadIdx.x][threadIdx.y];
}
int main() {
  float *a, *b; float h[1024];
  for (int i = 0; i < 1024; ++i) h[i] = i;
  cudaMalloc(&a, 4096); cudaMalloc(&b, 4096);
  cudaMemcpy(a, h, 4096, cudaMemcpyHostToDevice);
  turn<1><<<dim3(2, 2), dim3(16, 16)>>>(a, b, 32);
  cudaMemcpy(h, b, 4096, cudaMemcpyDeviceToHost);
}
