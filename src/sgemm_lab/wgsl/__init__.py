"""The ladder in WGSL, the language in which a page runs programs on its reader's card (WebGPU)."""
