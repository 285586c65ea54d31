//! One group of problems from upload to value tables.

use std::time::Duration;

use wgpu::BindGroup;

use super::bindings::{Launch, Part, Slot};
use super::cut::Cut;
use super::device::Device;
use super::fixed_point::FixedPoint;
use super::kernel::Shader;
use super::layout::Upload;
use super::limits::Limits;
use super::structs::Step;
use crate::dp::{BackendError, Precision, Problem, RawTable, Traffic};

/// Bytes between the uniforms of two dispatches.
pub const UNIFORM_STRIDE: u64 = 256;

/// Candidates in one submission at the most, so that no driver takes it for a hang.
const SUBMIT_CANDIDATES: u64 = 20_000_000_000;

/// Makes room, writes the inputs and binds everything.
pub fn upload(
    device: &mut Device,
    cut: &Cut,
    upload: &Upload,
    limits: &Limits,
    traffic: &mut Traffic,
) -> BindGroup {
    let mut parts = small_inputs(device, cut, upload, limits, traffic);
    let inputs: [(Slot, &[u8]); 3] = [
        (Slot::Members, upload.members()),
        (Slot::Coefficients, upload.coefficients()),
        (Slot::Costs, bytemuck::cast_slice(&upload.costs)),
    ];
    for (slot, bytes) in inputs {
        let size = (bytes.len() as u64).max(256);
        // Moving windows need room behind the last one.
        let shown = if cut.moving {
            size.min(limits.binding_bytes / 256 * 256)
        } else {
            size
        };
        let room = if cut.moving { size + shown } else { size };
        write(device, slot, bytes, room, limits, traffic);
        parts[slot as usize] = whole(slot, shown);
    }
    device.bind(Shader::Bellman(cut.kernel), &parts)
}

/// Writes what every plan needs anew (uniforms, headers, ranges), makes room for the outputs, and returns the parts to
/// bind, those of the large inputs still to be filled in.
pub fn small_inputs(
    device: &mut Device,
    cut: &Cut,
    upload: &Upload,
    limits: &Limits,
    traffic: &mut Traffic,
) -> [Part; 8] {
    let mut steps = vec![0; upload.dispatches.len() * UNIFORM_STRIDE as usize];
    let slots = steps.chunks_exact_mut(UNIFORM_STRIDE as usize);
    for (slot, dispatch) in slots.zip(&upload.dispatches) {
        slot[..size_of::<Step>()].copy_from_slice(bytemuck::bytes_of(&dispatch.step));
    }
    let mut parts = Slot::BELLMAN.map(|slot| whole(slot, 256));
    let inputs: [(Slot, &[u8]); 3] = [
        (Slot::Steps, &steps),
        (Slot::Headers, &upload.headers),
        (Slot::Ranges, bytemuck::cast_slice(&upload.ranges)),
    ];
    for (slot, bytes) in inputs {
        let size = (bytes.len() as u64).max(256);
        write(device, slot, bytes, size, limits, traffic);
        parts[slot as usize].size = size;
    }
    parts[Slot::Steps as usize].size = size_of::<Step>().next_multiple_of(16) as u64;
    for (slot, size) in [
        (Slot::Table, cut.table_bytes()),
        (Slot::Sums, cut.sum_bytes()),
    ] {
        device.reserve(slot, size, limits.buffer_bytes);
        parts[slot as usize].size = size.max(256);
    }
    device.reserve(Slot::ReadBack, cut.table_bytes(), limits.buffer_bytes);
    parts
}

/// Fills the outputs with NaN, so that a value nobody computed cannot pass for a result.
pub fn poison(device: &Device, cut: &Cut) {
    device.write(Slot::Table, &vec![0xff; cut.table_bytes() as usize]);
    device.write(Slot::Sums, &vec![0xff; cut.sum_bytes() as usize]);
}

/// A buffer from its start.
pub fn whole(slot: Slot, size: u64) -> Part {
    Part {
        slot,
        offset: 0,
        size,
    }
}

/// Writes to a buffer with at least `room` bytes.
pub fn write(
    device: &mut Device,
    slot: Slot,
    bytes: &[u8],
    room: u64,
    limits: &Limits,
    traffic: &mut Traffic,
) {
    device.reserve(slot, room, limits.buffer_bytes);
    device.write(slot, bytes);
    traffic.bytes_up += bytes.len() as u64;
}

/// Launches `before`, then all steps, by a shader and its bindings for dispatches over tables and another for those over
/// single contexts, and reads the table back.
pub async fn run<'a>(
    device: &mut Device,
    cut: &Cut,
    upload: &Upload,
    tables: Option<(Shader, &'a BindGroup)>,
    singles: Option<(Shader, &'a BindGroup)>,
    before: Vec<Launch<'a>>,
    traffic: &mut Traffic,
) -> Result<Vec<u8>, BackendError> {
    let problems = cut.places.len() as u32;
    let mut before = before.into_iter();
    let mut work = 0;
    let mut first = 0;
    while first < upload.dispatches.len() {
        let count = submission_length(upload, first);
        let chosen = upload.dispatches[first..first + count]
            .iter()
            .zip(first as u32..);
        let steps = chosen.filter_map(|(dispatch, i)| {
            work += dispatch.candidates;
            let mut offsets = vec![i * UNIFORM_STRIDE as u32, dispatch.member_offset];
            if !dispatch.singles {
                offsets.extend([dispatch.coefficient_offset, dispatch.cost_offset]);
            }
            let (shader, bound) = if dispatch.singles { singles } else { tables }?;
            Some(Launch {
                shader,
                bound,
                offsets,
                groups: [cut.tiles, dispatch.step.pieces, problems],
            })
        });
        traffic.dispatches += (count + before.len()) as u64;
        let index = device.submit(before.by_ref().chain(steps));
        first += count;
        if first < upload.dispatches.len() {
            device.finish(index, patience(work)).await?;
        }
    }
    let bytes = device
        .read(Slot::Table, cut.table_bytes(), patience(work))
        .await?;
    traffic.bytes_down += bytes.len() as u64;
    Ok(bytes)
}

/// As many dispatches, from `first` on, as make a submission of bearable length: all of them for most problems.
fn submission_length(upload: &Upload, first: usize) -> usize {
    let mut candidates = 0;
    let bearable = |dispatch: &&super::layout::Dispatch| {
        candidates += dispatch.candidates;
        candidates <= SUBMIT_CANDIDATES
    };
    upload.dispatches[first..]
        .iter()
        .take_while(bearable)
        .count()
        .max(1)
}

/// A result that takes longer than a minute, plus a second per hundred million candidates, will not come.
fn patience(candidates: u64) -> Duration {
    Duration::from_secs(60 + candidates / 100_000_000)
}

/// The tables of a group from the adapter's bytes, whose rows follow each other by rising steps to go.
pub fn tables(group: &[Problem], cut: &Cut, bytes: &[u8]) -> Vec<RawTable> {
    group
        .iter()
        .zip(&cut.places)
        .map(|(problem, place)| {
            let horizon = problem.sample.horizon();
            let width = problem.budget_max as usize + 1;
            let first = place.first_value as usize;
            let fixed = FixedPoint::of(problem);
            let value = |i: usize| {
                if cut.kernel.is_f64() {
                    bytemuck::pod_read_unaligned::<f64>(&bytes[8 * i..8 * i + 8])
                } else {
                    fixed.value(bytemuck::pod_read_unaligned::<u32>(
                        &bytes[4 * i..4 * i + 4],
                    ))
                }
            };
            let precision = if cut.kernel.is_f64() {
                Precision::F64
            } else {
                Precision::F32
            };
            let mut table = RawTable::zeros(horizon, problem.budget_max, precision, fixed.reward);
            for h in 0..horizon {
                let first = first + (horizon - h - 1) * width;
                for (b, slot) in table.row_mut(h).iter_mut().enumerate() {
                    *slot = value(first + b);
                }
            }
            table
        })
        .collect()
}
