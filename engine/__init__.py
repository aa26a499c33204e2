"""The simulator's core in C++, compiled to WebAssembly, and its Python client."""
