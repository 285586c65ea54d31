//! Optimistic-DP on a graphics adapter through wgpu: one dispatch per step for a whole batch of problems, all of them in
//! one command buffer, one read-back. This is the only place that knows wgpu.
//!
//! The work is asynchronous: encode, submit, await the table. `blocking` waits for it on this thread, which makes a
//! [`super::Backend`] of it; where pages wait for nobody, the asynchronous functions are called themselves.

mod adapter;
#[cfg(not(target_family = "wasm"))]
mod backend;
#[cfg(not(target_family = "wasm"))]
mod beside_cpu;
mod bindings;
#[cfg(not(target_family = "wasm"))]
mod blocking;
mod bounds;
mod cut;
mod device;
mod fixed_point;
pub mod kernel;
mod layout;
pub mod limits;
mod promise;
mod resident;
mod single_precision;
mod singles;
mod solve;
mod sources;
pub mod structs;

use std::time::Duration;

use super::problem::evaluate_bounds;
use super::stopwatch::Stopwatch;
use super::{BackendError, PlanRequest, Plans, Problem, RawTable, Traffic};
use cut::Cut;
use device::Device;
use kernel::{Kernel, Shader};
use layout::Upload;
use limits::{Limits, Size};
use resident::Resident;
use singles::SingleStore;

pub use adapter::{AdapterSummary, Adapters};
#[cfg(not(target_family = "wasm"))]
pub use beside_cpu::{beside_cpu, hardware_may_exist};

/// The GPU backend.
#[derive(Debug)]
pub struct Gpu {
    adapter: AdapterSummary,
    device: Device,
    limits: Limits,
    f64: bool,
    resident: Option<Resident>,
    singles: Option<SingleStore>,
    /// Why bounds were evaluated on the CPU, where they were.
    bounds_on_cpu: Option<String>,
    poison: bool,
    traffic: Traffic,
}

impl Gpu {
    /// Opens an adapter: the one asked for, or the best. `f64` asks for 64-bit shaders.
    pub async fn open_async(wanted: Option<&str>, f64: bool) -> Result<Self, BackendError> {
        let (summary, adapter) = Adapters::find_async().await.take(wanted)?;
        Self::open_adapter_async(summary, &adapter, f64).await
    }

    /// Opens an adapter that has been taken.
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
            device: Device::open(adapter, f64).await?,
            limits: summary.limits,
            adapter: summary,
            f64,
            resident: None,
            singles: None,
            bounds_on_cpu: None,
            poison: false,
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

    /// Fills outputs with NaN before every solve, so that a value nobody computed cannot pass for a result.
    pub fn with_poison(mut self) -> Self {
        self.poison = true;
        self
    }

    /// Ends the device, as a driver reset would; every later solve fails.
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
        let kernel = self.kernel_for(batch).await?;
        let mut tables = Vec::with_capacity(batch.len());
        let mut start = 0;
        let sizes: Vec<Size> = batch.iter().map(Size::of).collect();
        for end in limits::groups(&sizes, kernel, &self.limits) {
            tables.extend(self.solve_group(&batch[start..end], kernel).await?);
            start = end;
        }
        Ok(tables)
    }

    /// The tables of all requests as computed. Where all oracles are functions of fitted parameters and their samples fit,
    /// bounds are evaluated on the adapter.
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

    /// The kernel for a batch, compiled.
    async fn kernel_for(&mut self, batch: &[Problem<'_>]) -> Result<Kernel, BackendError> {
        let cost = batch.iter().map(kernel::cost_max).max().unwrap_or(1);
        if cost > kernel::COST_LIMIT {
            return Err(BackendError::TooLarge {
                what: "the largest cost".into(),
                bytes: u64::from(cost),
                limit: u64::from(kernel::COST_LIMIT),
                reduce: "the costs".into(),
            });
        }
        let kernel = Kernel::for_batch(batch, self.adapter.threads(), self.f64);
        self.device
            .guarded(async |device: &mut Device| {
                device.compile(Shader::Bellman(kernel));
                Ok(())
            })
            .await?;
        Ok(kernel)
    }

    /// Solves problems that fit together.
    async fn solve_group(
        &mut self,
        group: &[Problem<'_>],
        kernel: Kernel,
    ) -> Result<Vec<RawTable>, BackendError> {
        let sizes: Vec<Size> = group.iter().map(Size::of).collect();
        let cut = Cut::new(&sizes, kernel, &self.limits)?;
        let upload = Upload::new(group, &cut)?;
        let bytes = self.run_group(&cut, &upload).await?;
        Ok(solve::tables(group, &cut, &bytes))
    }

    /// The bytes of the table of a group that has been laid out.
    async fn run_group(&mut self, cut: &Cut, upload: &Upload) -> Result<Vec<u8>, BackendError> {
        let (limits, poison) = (self.limits, self.poison);
        let traffic = &mut self.traffic;
        self.device
            .guarded(async |device: &mut Device| {
                let bound = solve::upload(device, cut, upload, &limits, traffic);
                if poison {
                    solve::poison(device, cut);
                }
                let tables = Some((Shader::Bellman(cut.kernel), &bound));
                solve::run(device, cut, upload, tables, None, Vec::new(), traffic).await
            })
            .await
    }
}
