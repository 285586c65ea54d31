//! One group of problems from upload to value tables.

use std::time::Duration;

use super::buffers::{Bound, Launch, Part, Slot};
use super::cut::Cut;
use super::device::Device;
use super::fixed_point::FixedPoint;
use super::layout::{Dispatch, Upload};
use super::shader::Shader;
use super::structs::Step;
use crate::dp::{BackendError, Precision, Problem, RawTable};

/// Bytes between the uniforms of two dispatches.
pub const UNIFORM_STRIDE: u64 = 256;

/// Most candidates in one submission, so that no driver takes it for a hang.
const SUBMIT_CANDIDATES: u64 = 20_000_000_000;

/// Writes all inputs and binds everything.
pub fn upload(device: &mut Device, cut: &Cut, upload: &Upload) -> Bound {
    let mut parts = small_inputs(device, cut, upload);
    let inputs: [(Slot, &[u8]); 3] = [
        (Slot::Members, &upload.members),
        (Slot::Coefficients, &upload.coefficients),
        (Slot::Costs, bytemuck::cast_slice(&upload.costs)),
    ];
    for (slot, bytes) in inputs {
        let mut part = Part::first(slot, bytes.len() as u64);
        let mut room = part.size;
        if cut.moving {
            // Behind the last window a whole binding must fit.
            part.size = part.size.min(device.limits.binding_bytes / 256 * 256);
            room += part.size;
        }
        device.write(slot, bytes, room);
        parts[slot as usize] = part;
    }
    device.bind(Shader::Bellman(cut.bellman), &parts)
}

/// Writes the inputs that change with every plan (uniforms, headers, ranges) and reserves the outputs. Returns the parts to bind; those
/// of the large inputs are still to be filled in.
pub fn small_inputs(device: &mut Device, cut: &Cut, upload: &Upload) -> [Part; 8] {
    let mut steps = vec![0; upload.dispatches.len() * UNIFORM_STRIDE as usize];
    let slots = steps.chunks_exact_mut(UNIFORM_STRIDE as usize);
    for (slot, dispatch) in slots.zip(&upload.dispatches) {
        slot[..size_of::<Step>()].copy_from_slice(bytemuck::bytes_of(&dispatch.step));
    }
    let mut parts = Slot::BELLMAN.map(|slot| Part::first(slot, 0));
    let inputs: [(Slot, &[u8]); 3] = [
        (Slot::Steps, &steps),
        (Slot::Headers, &upload.headers),
        (Slot::Ranges, bytemuck::cast_slice(&upload.ranges)),
    ];
    for (slot, bytes) in inputs {
        device.write(slot, bytes, 0);
        parts[slot as usize] = Part::first(slot, bytes.len() as u64);
    }
    parts[Slot::Steps as usize].size = size_of::<Step>().next_multiple_of(16) as u64;
    let outputs = [
        (Slot::Table, cut.table_bytes()),
        (Slot::Sums, cut.sum_bytes()),
    ];
    for (slot, size) in outputs {
        device.reserve_output(slot, size);
        parts[slot as usize] = Part::first(slot, size);
    }
    parts
}

/// Launches `before`, then all steps: `tables` for dispatches over tables, `singles` for those over single contexts. Reads
/// the table back.
pub async fn run(
    device: &mut Device,
    cut: &Cut,
    upload: &Upload,
    before: Vec<Launch>,
    tables: Option<&Bound>,
    singles: Option<&Bound>,
) -> Result<Vec<u8>, BackendError> {
    let problems = cut.places.len() as u32;
    let launch = |(dispatch, uniform): (&Dispatch, u64)| {
        let mut offsets = vec![uniform as u32];
        // Single contexts have one moving binding.
        let moving = if dispatch.singles { 1 } else { 3 };
        offsets.extend(&dispatch.offsets[..moving]);
        let bound = if dispatch.singles { singles } else { tables }?;
        Some(Launch {
            bound: bound.clone(),
            offsets,
            workgroups: [cut.tiles, dispatch.step.pieces, problems],
        })
    };
    let mut before = before.into_iter();
    let mut work = 0;
    let mut first = 0;
    while first < upload.dispatches.len() {
        let next = first + submission_length(&upload.dispatches[first..]);
        let chosen = &upload.dispatches[first..next];
        work += chosen.iter().map(|d| d.candidates).sum::<u64>();
        let uniforms = (first as u64..).map(|i| i * UNIFORM_STRIDE);
        let steps = chosen.iter().zip(uniforms).filter_map(launch);
        let index = device.submit(before.by_ref().chain(steps));
        first = next;
        if first < upload.dispatches.len() {
            device.finish(index, timeout(work)).await?;
        }
    }
    let (size, timeout) = (cut.table_bytes(), timeout(work));
    device.read(Slot::Table, size, timeout).await
}

/// How many of the next dispatches make a submission of bearable length: all of them for most problems.
fn submission_length(dispatches: &[Dispatch]) -> usize {
    let mut candidates = 0;
    let bearable = |dispatch: &&Dispatch| {
        candidates += dispatch.candidates;
        candidates <= SUBMIT_CANDIDATES
    };
    dispatches.iter().take_while(bearable).count().max(1)
}

/// A minute, plus a second per hundred million candidates.
fn timeout(candidates: u64) -> Duration {
    Duration::from_secs(60 + candidates / 100_000_000)
}

/// The tables of a group from the adapter's bytes. Rows are in the order of steps to go.
pub fn tables(group: &[Problem], cut: &Cut, bytes: &[u8]) -> Vec<RawTable> {
    let f64 = cut.bellman.is_f64();
    let precision = if f64 { Precision::F64 } else { Precision::F32 };
    let table = |(problem, first): (&Problem, usize)| {
        let horizon = problem.sample.horizon();
        let width = problem.budget_max as usize + 1;
        let fixed = FixedPoint::of(problem);
        let value = |i: usize| match f64 {
            true => bytemuck::pod_read_unaligned::<f64>(&bytes[8 * i..8 * i + 8]),
            false => fixed.value(bytemuck::pod_read_unaligned(&bytes[4 * i..4 * i + 4])),
        };
        let mut table = RawTable::zeros(horizon, problem.budget_max, precision, fixed.reward);
        for h in 0..horizon {
            let first = first + (horizon - h - 1) * width;
            for (slot, i) in table.row_mut(h).iter_mut().zip(first..) {
                *slot = value(i);
            }
        }
        table
    };
    let firsts = cut.places.iter().map(|place| place.first_value as usize);
    group.iter().zip(firsts).map(table).collect()
}
