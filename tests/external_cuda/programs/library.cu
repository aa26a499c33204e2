#include <chrono>
#include <fstream>
#include <iostream>
#include <map>
#include <random>
#include <vector>
template <typename T> struct Scaled {
    T by;
    T operator()(T x) const { return by * x; }
};
struct Pair { float *to; long count; };
__constant__ float factor;
template <int N> __global__ void scale(const float *x, Pair p) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < p.count) p.to[i] = N * factor * x[i];
}
int main() {
    std::mt19937 engine(1);
    std::uniform_int_distribution<int> numbers(1, 6);
    std::vector<float> h(1000), r(h.size());
    for (auto &one : h) one = numbers(engine);
    float *x, *y, two = 2;
    size_t bytes = h.size() * sizeof(float);
    cudaMalloc(&x, bytes);
    cudaMalloc(&y, bytes);
    cudaMemcpyToSymbol(factor, &two, sizeof(two));
    cudaMemcpy(x, h.data(), bytes, cudaMemcpyHostToDevice);
    auto begun = std::chrono::steady_clock::now();
    auto launch = [&](dim3 grid) { scale<3><<<grid, 128>>>(x, Pair{y, 1000}); };
    launch(8);
    cudaMemcpy(r.data(), y, bytes, cudaMemcpyDeviceToHost);
    std::map<bool, int> found;
    for (size_t i = 0; i < h.size(); i++) found[r[i] == Scaled<float>{6}(h[i])]++;
    std::ofstream("times.txt") << (std::chrono::steady_clock::now() - begun).count();
    long hash = 6364136223846793005L * 3;
    printf("%d %ld %zu %.1Lf\n", 7, hash, bytes, (long double)0.5);
    std::cout << found[false] << " wrong" << std::endl;
    return found[true] != 1000;
}
