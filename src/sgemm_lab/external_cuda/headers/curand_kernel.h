// Random numbers in kernels, where CUDA's own header is not there. States have the sizes of cuRAND's
// and numbers its distributions; the numbers themselves are others.
#pragma once

struct curandStateXORWOW {
  unsigned long long lab_state, lab_more[5];
};
struct curandStateMRG32k3a {
  unsigned long long lab_state, lab_more[5];
};
struct alignas(16) curandStatePhilox4_32_10 {
  unsigned long long lab_state, lab_more[7];
};
typedef curandStateXORWOW curandState, curandState_t, curandStateXORWOW_t;
typedef curandStateMRG32k3a curandStateMRG32k3a_t;
typedef curandStatePhilox4_32_10 curandStatePhilox4_32_10_t;

template <typename State>
__device__ void curand_init(unsigned long long seed, unsigned long long sequence,
                            unsigned long long offset, State* state) {
  *state = State{};
  state->lab_state = seed * 0x9E3779B97F4A7C15ull + (sequence << 40) + offset;
}

template <typename State>
__device__ void skipahead(unsigned long long numbers, State* state) {
  state->lab_state += numbers;
}

// A counter, mixed as SplitMix64 does (Steele, Lea and Flood, 2014).
template <typename State>
__device__ unsigned curand(State* state) {
  unsigned long long z = state->lab_state++ * 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return (unsigned)(z >> 32);
}

template <typename State>
__device__ float curand_uniform(State* state) {  // above 0, up to 1
  return (curand(state) >> 8) * 0x1p-24f + 0x1p-24f;
}
template <typename State>
__device__ double curand_uniform_double(State* state) {
  return curand(state) * 0x1p-32 + 0x1p-32;
}
template <typename State>
__device__ float2 curand_normal2(State* state) {  // Box and Muller, 1958
  float radius = sqrtf(-2.0f * logf(curand_uniform(state)));
  float turn = 6.2831853f * curand_uniform(state);
  return make_float2(radius * sinf(turn), radius * cosf(turn));
}
template <typename State>
__device__ double2 curand_normal2_double(State* state) {
  double radius = sqrt(-2.0 * log(curand_uniform_double(state)));
  double turn = 6.283185307179586 * curand_uniform_double(state);
  return make_double2(radius * sin(turn), radius * cos(turn));
}
template <typename State>
__device__ float curand_normal(State* state) {
  return curand_normal2(state).x;
}
template <typename State>
__device__ double curand_normal_double(State* state) {
  return curand_normal2_double(state).x;
}
template <typename State>
__device__ float curand_log_normal(State* state, float mean, float deviation) {
  return expf(mean + deviation * curand_normal(state));
}
template <typename State>
__device__ unsigned curand_poisson(State* state, double mean) {  // Knuth's
  unsigned count = 0;
  for (double left = curand_uniform_double(state); left > exp(-mean); ++count)
    left *= curand_uniform_double(state);
  return count;
}

template <typename State>
__device__ uint4 curand4(State* state) {
  return make_uint4(curand(state), curand(state), curand(state), curand(state));
}
template <typename State>
__device__ float4 curand_uniform4(State* state) {
  return make_float4(curand_uniform(state), curand_uniform(state), curand_uniform(state),
                     curand_uniform(state));
}
template <typename State>
__device__ float4 curand_normal4(State* state) {
  float2 first = curand_normal2(state), second = curand_normal2(state);
  return make_float4(first.x, first.y, second.x, second.y);
}
template <typename State>
__device__ double2 curand_uniform2_double(State* state) {
  return make_double2(curand_uniform_double(state), curand_uniform_double(state));
}
