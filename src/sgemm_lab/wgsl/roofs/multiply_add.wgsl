// Multiplies and adds in a thread's own variables: what the arithmetic can do if it never waits.
// Eight sums of four floats do not depend on each other, so that their latencies overlap.

const THREADS = 256u;

struct Task {
    rounds: u32,  // how often every sum is multiplied and added to, eight times each
    factor: f32,  // unknown to the compiler, which so cannot work out the result
}

@group(0) @binding(0) var<uniform> task: Task;
@group(0) @binding(1) var<storage, read_write> result: array<f32>;

@compute @workgroup_size(THREADS)
fn multiply_add(@builtin(global_invocation_id) place: vec3u)
{
    let x = vec4f(task.factor);
    var s0 = vec4f(f32(place.x));
    var s1 = s0 + 1.0;
    var s2 = s0 + 2.0;
    var s3 = s0 + 3.0;
    var s4 = s0 + 4.0;
    var s5 = s0 + 5.0;
    var s6 = s0 + 6.0;
    var s7 = s0 + 7.0;
    for (var round = 0u; round < task.rounds; round++) {
        for (var i = 0u; i < 8; i++) {  // written out, so that the loop costs little
            s0 = fma(s0, x, x);
            s1 = fma(s1, x, x);
            s2 = fma(s2, x, x);
            s3 = fma(s3, x, x);
            s4 = fma(s4, x, x);
            s5 = fma(s5, x, x);
            s6 = fma(s6, x, x);
            s7 = fma(s7, x, x);
        }
    }
    // What nobody reads a compiler may leave out, so the sums are put together and stored.
    result[place.x] = dot(s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7, vec4f(1.0));
}
