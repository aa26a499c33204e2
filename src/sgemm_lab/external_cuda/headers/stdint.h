#ifndef SGEMM_LAB_STDINT
#define SGEMM_LAB_STDINT
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef signed long long int64_t;
typedef unsigned long long uint64_t;
typedef int8_t int_fast8_t, int_least8_t;
typedef uint8_t uint_fast8_t, uint_least8_t;
typedef int16_t int_fast16_t, int_least16_t;
typedef uint16_t uint_fast16_t, uint_least16_t;
typedef int32_t int_fast32_t, int_least32_t;
typedef uint32_t uint_fast32_t, uint_least32_t;
typedef int64_t intptr_t, intmax_t, int_fast64_t, int_least64_t, ssize_t;
typedef uint64_t uintptr_t, uintmax_t, uint_fast64_t, uint_least64_t;
typedef unsigned int uint;
typedef unsigned short ushort;
typedef unsigned long ulong;
#define INT8_MIN (-128)
#define INT8_MAX 127
#define UINT8_MAX 255
#define INT16_MIN (-32768)
#define INT16_MAX 32767
#define UINT16_MAX 65535
#define INT32_MIN (-2147483647 - 1)
#define INT32_MAX 2147483647
#define UINT32_MAX 4294967295u
#define INT64_MIN (-9223372036854775807ll - 1)
#define INT64_MAX 9223372036854775807ll
#define UINT64_MAX 18446744073709551615ull
#define SIZE_MAX 18446744073709551615ull
namespace std {
using ::int8_t; using ::int16_t; using ::int32_t; using ::int64_t;
using ::uint8_t; using ::uint16_t; using ::uint32_t; using ::uint64_t;
using ::intptr_t; using ::uintptr_t; using ::intmax_t; using ::uintmax_t;
using size_t = decltype(sizeof(0));
using ptrdiff_t = decltype((char*)0 - (char*)0);
using nullptr_t = decltype(nullptr);
}
#endif
