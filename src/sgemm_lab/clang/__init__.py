"""clang as WebAssembly, which compiles what a reader edits in the page."""
