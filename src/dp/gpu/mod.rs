//! Optimistic-DP on a graphics adapter through wgpu. Only this module uses wgpu.
//!
//! A group of problems that fits the adapter is solved together and read back once; a larger batch takes several groups.
//! Dispatches of a group:
//!
//! | when | how many |
//! | --- | --- |
//! | per step, bounds from the CPU (`bellman*.wgsl`) | one; one per window if a single problem exceeds a binding |
//! | per step, bounds on the adapter, shared contexts (`bellman*.wgsl`) | one |
//! | per step, bounds on the adapter, single contexts (`plan.wgsl`) | one per window of a binding's size, at least one |
//! | after the last step, which folds the last sums | one |
//! | before the first step, bounds on the adapter | up to two `append.wgsl` (new contexts), one `bounds.wgsl` (shared contexts) |
//!
//! So H steps take H + 1 dispatches in the plainest case, and about twice as many for a sample of shared and single
//! contexts. All go into one command buffer, unless they take so long that a driver might suspect a hang.
//!
//! The work is asynchronous. [`super::Backend`] blocks this thread until it is done; a browser awaits the futures.

mod adapter;
#[cfg(not(target_family = "wasm"))]
mod backend;
mod bounds;
mod buffers;
mod cut;
mod device;
mod fixed_point;
mod layout;
#[doc(hidden)]
pub mod limits;
mod resident;
#[doc(hidden)]
pub mod shader;
mod single_precision;
mod singles;
mod solve;
mod sources;
#[doc(hidden)]
pub mod structs;
mod waiting;

use std::time::Duration;

use super::problem::evaluate_bounds;
use super::stopwatch::Stopwatch;
use super::{BackendError, PlanRequest, Plans, Problem, RawTable, Traffic};
use cut::Cut;
use device::Device;
use layout::Upload;
use limits::{Limits, Size};
use resident::Resident;
use shader::Bellman;
use singles::SingleStore;

pub use adapter::{AdapterSummary, Adapters};
#[cfg(not(target_family = "wasm"))]
pub use backend::{beside_cpu, hardware_may_exist};

/// The GPU backend.
#[derive(Debug)]
pub struct Gpu {
    adapter: AdapterSummary,
    device: Device,
    f64: bool,
    resident: Option<Resident>,
    singles: Option<SingleStore>,
    /// Why bounds were evaluated on the CPU, if they were.
    bounds_on_cpu: Option<String>,
}

impl Gpu {
    /// Opens an adapter: the one asked for, or the best. `f64` asks for 64-bit shaders.
    pub async fn open_async(wanted: Option<&str>, f64: bool) -> Result<Self, BackendError> {
        let (summary, adapter) = Adapters::find_async().await.take(wanted)?;
        Self::open_adapter_async(summary, &adapter, f64).await
    }

    /// Opens an adapter found by [`Adapters`].
    pub async fn open_adapter_async(
        summary: AdapterSummary,
        adapter: &wgpu::Adapter,
        f64: bool,
    ) -> Result<Self, BackendError> {
        if f64 && !summary.f64 {
            return Err(BackendError::NoDoublePrecision {
                adapter: summary.name,
            });
        }
        Ok(Self {
            device: Device::open(adapter, summary.limits, f64).await?,
            adapter: summary,
            f64,
            resident: None,
            singles: None,
            bounds_on_cpu: None,
        })
    }

    /// The adapter in use.
    pub fn adapter(&self) -> &AdapterSummary {
        &self.adapter
    }

    /// What has been moved and launched so far.
    pub fn traffic(&self) -> Traffic {
        self.device.traffic
    }

    /// Bytes of the buffers on the adapter.
    #[doc(hidden)]
    pub fn held_bytes(&self) -> u64 {
        self.device.held_bytes()
    }

    /// For tests: pretends that the adapter has smaller limits.
    #[doc(hidden)]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.device.limits = limits;
        self
    }

    /// For tests: fills outputs with NaN before every solve, so that a value that was never computed is noticed.
    #[doc(hidden)]
    pub fn with_poison(mut self) -> Self {
        self.device.poison = true;
        self
    }

    /// For tests: ends the device, as a driver reset would. Every later solve fails.
    #[doc(hidden)]
    pub fn destroy(&self) {
        self.device.destroy();
    }

    /// The tables of all problems as computed, in their order.
    pub async fn solve_async(
        &mut self,
        batch: &[Problem<'_>],
    ) -> Result<Vec<RawTable>, BackendError> {
        if batch.is_empty() {
            return Ok(Vec::new());
        }
        let bellman = self.bellman_for(batch)?;
        let mut tables = Vec::with_capacity(batch.len());
        let mut start = 0;
        let sizes: Vec<Size> = batch.iter().map(Size::of).collect();
        for end in limits::groups(&sizes, bellman, &self.device.limits) {
            let group = &batch[start..end];
            let cut = Cut::new(&sizes[start..end], bellman, &self.device.limits)?;
            let upload = Upload::new(group, &cut)?;
            let bytes = self.run_group(&cut, &upload).await?;
            tables.extend(solve::tables(group, &cut, &bytes));
            start = end;
        }
        Ok(tables)
    }

    /// The tables of all requests as computed. Bounds are evaluated on the adapter if all oracles are functions of fitted
    /// parameters and their samples fit.
    pub async fn plan_async(
        &mut self,
        requests: &[PlanRequest<'_>],
    ) -> Result<Plans<RawTable>, BackendError> {
        match self.plan_resident(requests).await? {
            Ok(tables) => {
                return Ok(Plans {
                    tables,
                    bounds: Duration::ZERO,
                });
            }
            Err(reason) => self.bounds_on_cpu = Some(reason),
        }
        let start = Stopwatch::start();
        let mut coefficients = Vec::new();
        evaluate_bounds(requests, false, &mut coefficients)?;
        let bounds = start.elapsed();
        let problems = requests.iter().zip(&coefficients);
        let problems: Vec<Problem> = problems.map(|(r, c)| r.with(c)).collect();
        Ok(Plans {
            tables: self.solve_async(&problems).await?,
            bounds,
        })
    }

    /// The shader for a batch.
    fn bellman_for(&self, batch: &[Problem<'_>]) -> Result<Bellman, BackendError> {
        let cost = batch.iter().map(shader::cost_max).max().unwrap_or(1);
        if cost > shader::COST_LIMIT {
            return Err(BackendError::TooLarge {
                what: "the largest cost".into(),
                bytes: u64::from(cost),
                limit: u64::from(shader::COST_LIMIT),
                reduce: "the costs".into(),
            });
        }
        Ok(Bellman::for_batch(batch, self.adapter.threads(), self.f64))
    }

    /// The bytes of the tables of a group.
    async fn run_group(&mut self, cut: &Cut, upload: &Upload) -> Result<Vec<u8>, BackendError> {
        let run = async |device: &mut Device| {
            let bound = solve::upload(device, cut, upload);
            solve::run(device, cut, upload, Vec::new(), Some(&bound), None).await
        };
        self.device.guarded(run).await
    }
}
