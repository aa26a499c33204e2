#ifndef SGEMM_LAB_CUFFT
#define SGEMM_LAB_CUFFT
typedef float cufftReal;
typedef double cufftDoubleReal;
typedef float2 cufftComplex;
typedef double2 cufftDoubleComplex;
#endif
