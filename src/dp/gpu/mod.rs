//! Optimistic-DP on a graphics adapter through wgpu: one dispatch per step for a whole batch of problems, all of them in
//! one command buffer, one read-back. This is the only place that knows wgpu.

mod adapter;
mod device;
pub mod kernel;
pub mod layout;
pub mod limits;

use std::time::Duration;

use super::backend::Report;
use super::{Backend, BackendError, Problem, ValueTable};
use device::Device;
use kernel::Kernel;
use layout::{FixedPoint, Step, Upload};
use limits::{Limits, Plan};

pub use adapter::{AdapterSummary, Adapters};

/// Bytes between the uniforms of two dispatches.
const UNIFORM_STRIDE: u64 = 256;

/// Candidates in one submission at the most, so that no driver takes it for a hang.
const SUBMIT_CANDIDATES: u64 = 20_000_000_000;

/// A solve that takes longer than this, plus a second per hundred million candidates, counts as hung.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a backend has moved and launched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Dispatches.
    pub dispatches: u64,
    /// Bytes written to the adapter.
    pub bytes_up: u64,
    /// Bytes read from it.
    pub bytes_down: u64,
}

/// The GPU backend.
#[derive(Debug)]
pub struct Gpu {
    adapter: AdapterSummary,
    device: Device,
    limits: Limits,
    f64: bool,
    patience: Duration,
    traffic: Traffic,
}

impl Gpu {
    /// Opens an adapter: the one asked for, or the best. `f64` asks for 64-bit shaders.
    pub fn open(wanted: Option<&str>, f64: bool) -> Result<Self, BackendError> {
        let (summary, adapter) = Adapters::find().take(wanted)?;
        Self::open_adapter(summary, &adapter, f64)
    }

    /// Opens an adapter that has been taken.
    pub fn open_adapter(
        summary: AdapterSummary,
        adapter: &wgpu::Adapter,
        f64: bool,
    ) -> Result<Self, BackendError> {
        if f64 && !summary.f64 {
            return Err(BackendError::Unavailable {
                backend: "gpu".into(),
                reason: format!(
                    "{} has no 64-bit shaders; use --precision f32",
                    summary.name
                ),
            });
        }
        Ok(Self {
            device: Device::open(adapter, f64)?,
            limits: summary.limits,
            adapter: summary,
            f64,
            patience: PATIENCE,
            traffic: Traffic::default(),
        })
    }

    /// The adapter in use.
    pub fn adapter(&self) -> &AdapterSummary {
        &self.adapter
    }

    /// What has been moved and launched so far.
    pub fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// Bytes of the buffers held on the adapter.
    pub fn held_bytes(&self) -> u64 {
        self.device.held_bytes()
    }

    /// Pretends that the adapter has smaller limits, to exercise the cuts.
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Waits no longer than this for a result.
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Ends the device, as a driver reset would; every later solve fails.
    pub fn destroy(&self) {
        self.device.destroy();
    }

    /// Solves problems that fit together.
    fn solve_group(
        &mut self,
        group: &[Problem],
        kernel: Kernel,
    ) -> Result<Vec<ValueTable>, BackendError> {
        let plan = Plan::new(group, kernel, &self.limits)?;
        let upload = Upload::new(group, &plan);
        let (limits, patience) = (self.limits, self.patience);
        let traffic = &mut self.traffic;
        let bytes = self
            .device
            .guarded(|device| run(device, &plan, &upload, &limits, patience, traffic))?;
        Ok(tables(group, &plan, &bytes))
    }
}

impl Backend for Gpu {
    fn name(&self) -> &'static str {
        "gpu"
    }

    fn solve(&mut self, batch: &[Problem]) -> Result<Vec<ValueTable>, BackendError> {
        if batch.is_empty() {
            return Ok(Vec::new());
        }
        let cost = batch.iter().map(kernel::cost_max).max().unwrap_or(1);
        if cost > kernel::COST_LIMIT {
            return Err(BackendError::TooLarge {
                what: "the largest cost".into(),
                bytes: u64::from(cost),
                limit: u64::from(kernel::COST_LIMIT),
                reduce: "the costs, or use --backend cpu".into(),
            });
        }
        let kernel = Kernel::for_batch(batch, self.adapter.threads(), self.f64);
        self.device.guarded(|device| {
            device.compile(kernel);
            Ok(())
        })?;
        let mut tables = Vec::with_capacity(batch.len());
        let mut start = 0;
        for end in limits::groups(batch, kernel, &self.limits) {
            tables.extend(self.solve_group(&batch[start..end], kernel)?);
            start = end;
        }
        Ok(tables)
    }

    fn report(&self) -> Report {
        Report {
            backend: "gpu".into(),
            precision: if self.f64 { "f64" } else { "f32" }.into(),
            adapter: Some(self.adapter.name.clone()),
            driver: Some(self.adapter.driver.clone()),
            traffic: Some(self.traffic),
        }
    }
}

/// Uploads, dispatches and reads back one group; returns the table's bytes.
fn run(
    device: &mut Device,
    plan: &Plan,
    upload: &Upload,
    limits: &Limits,
    patience: Duration,
    traffic: &mut Traffic,
) -> Result<Vec<u8>, BackendError> {
    let mut steps = vec![0; upload.dispatches.len() * UNIFORM_STRIDE as usize];
    for (slot, dispatch) in steps
        .chunks_exact_mut(UNIFORM_STRIDE as usize)
        .zip(&upload.dispatches)
    {
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
    let mut windows = [0; device::BINDINGS];
    let windowed = plan.windows() > 1;
    for (binding, bytes) in inputs.iter().enumerate() {
        let size = (bytes.len() as u64).max(256);
        let moves = windowed && (3..=5).contains(&binding);
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
    for (binding, size) in [(6, plan.table_bytes()), (7, plan.sum_bytes())] {
        windows[binding] = size.max(256);
        device.reserve(binding, size, limits.buffer_bytes);
    }
    device.reserve(device::BINDINGS, plan.table_bytes(), limits.buffer_bytes);
    let bind_group = device.bind(windows);

    let problems = plan.places.len() as u32;
    let mut total = 0;
    let mut first = 0;
    while first < upload.dispatches.len() {
        // As many dispatches as make a submission of bearable length.
        let mut candidates = 0;
        let rest = upload.dispatches[first..].iter();
        let count = rest
            .take_while(|dispatch| {
                candidates += dispatch.candidates;
                candidates == dispatch.candidates || candidates <= SUBMIT_CANDIDATES
            })
            .count();
        let chosen = upload.dispatches[first..first + count]
            .iter()
            .zip(first as u32..);
        let index = device.submit(
            plan.kernel,
            &bind_group,
            chosen.map(|(dispatch, i)| {
                let offsets = [
                    i * UNIFORM_STRIDE as u32,
                    dispatch.member_offset as u32,
                    dispatch.coefficient_offset as u32,
                    dispatch.cost_offset as u32,
                ];
                (offsets, [plan.tiles, plan.pieces, problems])
            }),
        );
        total += candidates;
        traffic.dispatches += count as u64;
        first += count;
        if first < upload.dispatches.len() {
            device.wait(index, patience + allowance(total))?;
        }
    }
    let bytes = device.read(6, plan.table_bytes(), patience + allowance(total))?;
    traffic.bytes_down += bytes.len() as u64;
    Ok(bytes)
}

/// A second per hundred million candidates.
fn allowance(candidates: u64) -> Duration {
    Duration::from_secs(candidates / 100_000_000)
}

/// The tables of a group from the adapter's bytes, whose rows follow each other by rising steps to go.
fn tables(group: &[Problem], plan: &Plan, bytes: &[u8]) -> Vec<ValueTable> {
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
