// Writes words into the resident data of a batch: new contexts and changed weights.

const THREADS = 64u;

struct Word {
    place: u32,
    value: u32,
}

@group(0) @binding(0) var<storage, read> words: array<Word>;
@group(0) @binding(1) var<storage, read_write> resident: array<u32>;

@compute @workgroup_size(THREADS)
fn append(@builtin(global_invocation_id) id: vec3<u32>) {
    // The first word holds their number.
    if id.x < words[0].value {
        let word = words[id.x + 1u];
        resident[word.place] = word.value;
    }
}
