//! Optimistic-DP on a graphics adapter through wgpu: one dispatch per step for a whole batch of problems, all of them in
//! one command buffer, one read-back. This is the only place that knows wgpu.

mod adapter;
mod bounds;
mod device;
pub mod kernel;
mod layout;
pub mod limits;
mod resident;
mod solve;
pub mod structs;

use std::time::{Duration, Instant};

use super::problem::evaluate_bounds;
use super::{
    Backend, BackendError, PlanRequest, Plans, Precision, Problem, RawTable, Report, Traffic,
};
use device::Device;
use kernel::{Kernel, Shader};
use layout::Upload;
use limits::{Cut, Limits};
use resident::Resident;

pub use adapter::{AdapterSummary, Adapters};

/// The GPU backend.
#[derive(Debug)]
pub struct Gpu {
    adapter: AdapterSummary,
    device: Device,
    limits: Limits,
    f64: bool,
    resident: Option<Resident>,
    poison: bool,
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
            return Err(BackendError::NoDoublePrecision {
                adapter: summary.name,
            });
        }
        Ok(Self {
            device: Device::open(adapter, f64)?,
            limits: summary.limits,
            adapter: summary,
            f64,
            resident: None,
            poison: false,
            traffic: Traffic::default(),
        })
    }

    /// The adapter in use.
    pub fn adapter(&self) -> &AdapterSummary {
        &self.adapter
    }

    fn precision(&self) -> Precision {
        if self.f64 {
            Precision::F64
        } else {
            Precision::F32
        }
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

    /// The kernel for a batch, compiled.
    fn kernel_for(&mut self, batch: &[Problem]) -> Result<Kernel, BackendError> {
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
        self.device.guarded(|device| {
            device.compile(Shader::Bellman(kernel));
            Ok(())
        })?;
        Ok(kernel)
    }

    /// Solves problems that fit together.
    fn solve_group(
        &mut self,
        group: &[Problem],
        kernel: Kernel,
    ) -> Result<Vec<RawTable>, BackendError> {
        let cut = Cut::new(group, kernel, &self.limits)?;
        let upload = Upload::new(group, &cut);
        let (limits, poison) = (self.limits, self.poison);
        let traffic = &mut self.traffic;
        let bytes = self.device.guarded(|device| {
            let bound = solve::upload(device, &cut, &upload, &limits, traffic);
            if poison {
                solve::poison(device, &cut);
            }
            solve::run(device, &cut, &upload, &bound, Vec::new(), traffic)
        })?;
        Ok(solve::tables(group, &cut, &bytes))
    }
}

impl Backend for Gpu {
    fn name(&self) -> &'static str {
        "gpu"
    }

    fn solve_raw(&mut self, batch: &[Problem]) -> Result<Vec<RawTable>, BackendError> {
        if batch.is_empty() {
            return Ok(Vec::new());
        }
        let kernel = self.kernel_for(batch)?;
        let mut tables = Vec::with_capacity(batch.len());
        let mut start = 0;
        for end in limits::groups(batch, kernel, &self.limits) {
            tables.extend(self.solve_group(&batch[start..end], kernel)?);
            start = end;
        }
        Ok(tables)
    }

    /// Where all oracles are functions of fitted parameters and their samples fit, bounds are evaluated on the adapter.
    fn plan_raw(&mut self, requests: &[PlanRequest]) -> Result<Plans<RawTable>, BackendError> {
        if let Some(tables) = self.plan_resident(requests)? {
            return Ok(Plans {
                tables,
                bounds: Duration::ZERO,
            });
        }
        let start = Instant::now();
        let mut coefficients = Vec::new();
        evaluate_bounds(requests, &mut coefficients)?;
        let bounds = start.elapsed();
        let problems = requests.iter().zip(&coefficients);
        let problems: Vec<Problem> = problems.map(|(r, c)| r.with(c)).collect();
        Ok(Plans {
            tables: self.solve_raw(&problems)?,
            bounds,
        })
    }

    fn report(&self) -> Report {
        Report {
            backend: "gpu".into(),
            precision: self.precision().name().into(),
            adapter: Some(self.adapter.name.clone()),
            driver: Some(self.adapter.driver.clone()),
            traffic: Some(self.traffic),
            strategies: Vec::new(),
        }
    }
}
