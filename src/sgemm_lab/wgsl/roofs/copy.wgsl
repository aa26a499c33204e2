// Copies memory, four floats a thread: how many bytes a second the card can move.

const THREADS = 256u;

@group(0) @binding(0) var<storage, read> from_here: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> to_there: array<vec4f>;

@compute @workgroup_size(THREADS)
fn copy(@builtin(workgroup_id) block: vec3u, @builtin(local_invocation_index) tid: u32)
{
    let i = block.x * THREADS + tid;
    if (i < arrayLength(&to_there)) { to_there[i] = from_here[i]; }
}
