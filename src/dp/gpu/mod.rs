//! Optimistic-DP on a graphics adapter through wgpu: one dispatch per step for a whole batch of problems, all of them in
//! one command buffer, one read-back. This is the only place that knows wgpu.

mod adapter;
mod bounds;
mod cut;
mod device;
mod fixed_point;
pub mod kernel;
mod layout;
pub mod limits;
mod resident;
mod single_precision;
mod solve;
pub mod structs;

use std::time::{Duration, Instant};

use super::problem::evaluate_bounds;
use super::{
    Backend, BackendError, PlanRequest, Plans, Precision, Problem, RawTable, Report, Traffic,
};
use cut::Cut;
use device::Device;
use kernel::{Kernel, Shader};
use layout::Upload;
use limits::{Limits, Size};
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
        let sizes: Vec<Size> = group.iter().map(Size::of).collect();
        let cut = Cut::new(&sizes, kernel, &self.limits)?;
        let upload = Upload::new(group, &cut)?;
        let bytes = self.run_group(&cut, &upload)?;
        Ok(solve::tables(group, &cut, &bytes))
    }

    /// The bytes of the table of a group that has been laid out.
    fn run_group(&mut self, cut: &Cut, upload: &Upload) -> Result<Vec<u8>, BackendError> {
        let (limits, poison) = (self.limits, self.poison);
        let traffic = &mut self.traffic;
        self.device.guarded(|device| {
            let bound = solve::upload(device, cut, upload, &limits, traffic);
            if poison {
                solve::poison(device, cut);
            }
            solve::run(device, cut, upload, &bound, Vec::new(), traffic)
        })
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
        let sizes: Vec<Size> = batch.iter().map(Size::of).collect();
        for end in limits::groups(&sizes, kernel, &self.limits) {
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
        evaluate_bounds(requests, &mut coefficients);
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

#[cfg(test)]
mod tests {
    use std::mem::{offset_of, size_of};

    use super::{Cut, Gpu, Limits, Size, Upload, solve};
    use crate::dp::gpu::structs::Header32;
    use crate::dp::timing::probe;
    use crate::dp::{Backend, BackendError, Problem, TableError, ValueTable};

    fn gpu() -> Option<Gpu> {
        let opened = Gpu::open(None, false);
        let required = std::env::var_os("CI").is_some();
        assert!(opened.is_ok() || !required, "GPU tests must run in CI");
        opened.ok()
    }

    /// A scale in which values do not fit the table, as no problem has: sums saturate instead of wrapping around, the
    /// table is refused, and the cap brings back what lies above it.
    #[test]
    fn values_that_do_not_fit_the_table_are_refused() {
        let Some(mut gpu) = gpu() else { return };
        let (sample, mut coefficients) = probe(64);
        coefficients.lcb.fill(0.0);
        let wide = Limits {
            busy_workgroups: 4,
            ..gpu.limits
        };
        for (cap, factor, weight, fits) in [
            (None, 1.0, 1.0, true),
            (None, 4.0, 1.0, false),
            (None, 1e30, 1.0, false),
            (Some(1.0), 1.0, 1.0, true),
            (Some(1.0), 1e30, 1.0, true),
            // Not a number at all: no cap may hide it.
            (Some(1.0), 1.0, f32::NAN, false),
            (Some(1.0), 1.0, f32::INFINITY, false),
        ] {
            let problem = Problem {
                sample: &sample,
                coefficients: &coefficients,
                budget_max: 31,
                cap,
            };
            let kernel = gpu.kernel_for(&[problem]).unwrap();
            let cut = Cut::new(&[Size::of(&problem)], kernel, &wide).unwrap();
            let mut upload = Upload::new(&[problem], &cut).unwrap();
            assert_eq!(upload.headers.len(), size_of::<Header32>());
            let place = offset_of!(Header32, unit);
            let unit: &mut [f32] = bytemuck::cast_slice_mut(&mut upload.headers[place..place + 4]);
            unit[0] *= factor;
            upload.members32[0].weight *= weight;
            let bytes = gpu.run_group(&cut, &upload).unwrap();
            let raw = solve::tables(&[problem], &cut, &bytes).remove(0);
            let table = ValueTable::checked(raw);
            let refused = matches!(table, Err(TableError::Overflow { .. }));
            assert_eq!(refused, !fits, "cap {cap:?}, {factor}, {weight}");
        }
    }

    /// What nobody computed is refused as well: the last dispatch, which folds the first row, is left out.
    #[test]
    fn values_that_were_never_computed_are_refused() {
        let Some(gpu) = gpu() else { return };
        let mut gpu = gpu.with_poison();
        let (sample, coefficients) = probe(64);
        let problem = Problem {
            sample: &sample,
            coefficients: &coefficients,
            budget_max: 31,
            cap: Some(1.0),
        };
        gpu.solve(&[problem]).unwrap();
        let kernel = gpu.kernel_for(&[problem]).unwrap();
        let cut = Cut::new(&[Size::of(&problem)], kernel, &gpu.limits).unwrap();
        let mut upload = Upload::new(&[problem], &cut).unwrap();
        upload.dispatches.pop();
        let bytes = gpu.run_group(&cut, &upload).unwrap();
        let raw = solve::tables(&[problem], &cut, &bytes).remove(0);
        let refused = ValueTable::checked(raw).unwrap_err();
        assert_eq!(refused, TableError::Overflow { step: 1, budget: 0 });
        // The device has no complaint of its own.
        assert!(!matches!(
            gpu.solve(&[problem]),
            Err(BackendError::Rejected { .. })
        ));
    }
}
