//! One group of problems from upload to value tables.

use std::time::Duration;

use wgpu::BindGroup;

use super::Traffic;
use super::device::{BINDINGS, Device};
use super::layout::{FixedPoint, Step, Upload};
use super::limits::{Limits, Plan};
use crate::dp::{BackendError, Problem, ValueTable};

/// Bytes between the uniforms of two dispatches.
const UNIFORM_STRIDE: u64 = 256;

/// Candidates in one submission at the most, so that no driver takes it for a hang.
const SUBMIT_CANDIDATES: u64 = 20_000_000_000;

const TABLE: usize = 6;
const SUMS: usize = 7;

/// Makes room, writes the inputs and binds everything; outputs are filled with NaN if `poison` is set.
pub fn upload(
    device: &mut Device,
    plan: &Plan,
    upload: &Upload,
    limits: &Limits,
    traffic: &mut Traffic,
    poison: bool,
) -> Result<BindGroup, BackendError> {
    let mut steps = vec![0; upload.dispatches.len() * UNIFORM_STRIDE as usize];
    let slots = steps.chunks_exact_mut(UNIFORM_STRIDE as usize);
    for (slot, dispatch) in slots.zip(&upload.dispatches) {
        slot[..size_of::<Step>()].copy_from_slice(bytemuck::bytes_of(&dispatch.step));
    }
    let inputs: [&[u8]; 6] = [
        &steps,
        &upload.headers,
        bytemuck::cast_slice(&upload.ranges),
        upload.members(),
        upload.coefficients(),
        bytemuck::cast_slice(&upload.costs),
    ];
    // What each binding shows of its buffer; moving windows need room behind the last one.
    let mut windows = [0; BINDINGS];
    for (binding, bytes) in inputs.iter().enumerate() {
        let size = (bytes.len() as u64).max(256);
        let moves = plan.moving && (3..=5).contains(&binding);
        windows[binding] = match binding {
            0 => size_of::<Step>().next_multiple_of(16) as u64,
            _ if moves => size.min(limits.binding_bytes / 256 * 256),
            _ => size,
        };
        let room = if moves { size + windows[binding] } else { size };
        device.reserve(binding, room, limits.buffer_bytes);
        device.write(binding, bytes);
        traffic.bytes_up += bytes.len() as u64;
    }
    for (binding, size) in [(TABLE, plan.table_bytes()), (SUMS, plan.sum_bytes())] {
        windows[binding] = size.max(256);
        device.reserve(binding, size, limits.buffer_bytes);
        if poison {
            device.write(binding, &vec![0xff; size as usize]);
        }
    }
    device.reserve(BINDINGS, plan.table_bytes(), limits.buffer_bytes);
    Ok(device.bind(windows))
}

/// Dispatches all steps and reads the table back.
pub fn run(
    device: &Device,
    plan: &Plan,
    upload: &Upload,
    bound: &BindGroup,
    traffic: &mut Traffic,
) -> Result<Vec<u8>, BackendError> {
    let problems = plan.places.len() as u32;
    let mut work = 0;
    let mut first = 0;
    while first < upload.dispatches.len() {
        let count = submission_length(upload, first);
        let chosen = upload.dispatches[first..first + count]
            .iter()
            .zip(first as u32..);
        let index = device.submit(
            plan.kernel,
            bound,
            chosen.map(|(dispatch, i)| {
                work += dispatch.candidates;
                let offsets = [
                    i * UNIFORM_STRIDE as u32,
                    dispatch.member_offset as u32,
                    dispatch.coefficient_offset as u32,
                    dispatch.cost_offset as u32,
                ];
                (offsets, [plan.tiles, plan.pieces, problems])
            }),
        );
        traffic.dispatches += count as u64;
        first += count;
        if first < upload.dispatches.len() {
            device.wait(index, patience(work))?;
        }
    }
    let bytes = device.read(TABLE, plan.table_bytes(), patience(work))?;
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
pub fn tables(group: &[Problem], plan: &Plan, bytes: &[u8]) -> Vec<ValueTable> {
    group
        .iter()
        .zip(&plan.places)
        .map(|(problem, place)| {
            let horizon = problem.sample.horizon();
            let width = problem.budget_max as usize + 1;
            let first = place.first_value as usize;
            let fixed = FixedPoint::of(problem);
            let value = |i: usize| {
                if plan.kernel.is_f64() {
                    bytemuck::pod_read_unaligned::<f64>(&bytes[8 * i..8 * i + 8])
                } else {
                    fixed.value(bytemuck::pod_read_unaligned::<u32>(
                        &bytes[4 * i..4 * i + 4],
                    ))
                }
            };
            let mut table = ValueTable::zeros(horizon, problem.budget_max);
            for h in 0..horizon {
                let row = first + (horizon - h - 1) * width;
                table.fill_monotone(h, (0..width).map(|b| value(row + b)));
            }
            table
        })
        .collect()
}
