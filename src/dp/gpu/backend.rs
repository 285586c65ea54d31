//! The backend of native programs: the asynchronous work, waited for.

use super::{AdapterSummary, Adapters, Gpu, blocking};
use crate::dp::{Backend, BackendError, PlanRequest, Plans, Precision, Problem, RawTable, Report};

impl Adapters {
    /// Looks for adapters; for those of OpenGL only where there are no others.
    pub fn find() -> Self {
        pollster::block_on(Self::find_async())
    }

    /// Looks for adapters of the modern interfaces only (Vulkan, Metal, Direct3D 12).
    pub fn find_modern() -> Self {
        pollster::block_on(Self::find_modern_async())
    }
}

impl Gpu {
    /// Opens an adapter: the one asked for, or the best. `f64` asks for 64-bit shaders.
    pub fn open(wanted: Option<&str>, f64: bool) -> Result<Self, BackendError> {
        pollster::block_on(Self::open_async(wanted, f64))
    }

    /// Opens an adapter that has been taken.
    pub fn open_adapter(
        summary: AdapterSummary,
        adapter: &wgpu::Adapter,
        f64: bool,
    ) -> Result<Self, BackendError> {
        pollster::block_on(Self::open_adapter_async(summary, adapter, f64))
    }
}

impl Backend for Gpu {
    fn name(&self) -> &'static str {
        "gpu"
    }

    fn solve_raw(&mut self, batch: &[Problem]) -> Result<Vec<RawTable>, BackendError> {
        blocking::run(self.device.handle(), self.solve_async(batch))
    }

    fn plan_raw(&mut self, requests: &[PlanRequest]) -> Result<Plans<RawTable>, BackendError> {
        blocking::run(self.device.handle(), self.plan_async(requests))
    }

    fn report(&self) -> Report {
        let precision = if self.f64 {
            Precision::F64
        } else {
            Precision::F32
        };
        Report {
            backend: "gpu".into(),
            precision: precision.name().into(),
            adapter: Some(self.adapter.name.clone()),
            driver: Some(self.adapter.driver.clone()),
            traffic: Some(self.traffic),
            bounds_on_cpu: self.bounds_on_cpu.clone(),
            strategies: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::mem::{offset_of, size_of};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use crate::dp::gpu::cut::Cut;
    use crate::dp::gpu::kernel::Kernel;
    use crate::dp::gpu::layout::Upload;
    use crate::dp::gpu::limits::{Limits, Size};
    use crate::dp::gpu::structs::Header32;
    use crate::dp::gpu::{Gpu, blocking, solve};
    use crate::dp::timing::probe;
    use crate::dp::{Backend, BackendError, Problem, TableError, ValueTable};

    fn gpu() -> Option<Gpu> {
        let opened = Gpu::open(None, false);
        let required = std::env::var_os("CI").is_some();
        assert!(opened.is_ok() || !required, "GPU tests must run in CI");
        opened.ok()
    }

    fn kernel_for(gpu: &mut Gpu, problem: Problem) -> Kernel {
        blocking::run(gpu.device.handle(), gpu.kernel_for(&[problem])).unwrap()
    }

    fn run_group(gpu: &mut Gpu, cut: &Cut, upload: &Upload) -> Vec<u8> {
        blocking::run(gpu.device.handle(), gpu.run_group(cut, upload)).unwrap()
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
            let kernel = kernel_for(&mut gpu, problem);
            let cut = Cut::new(&[Size::of(&problem)], kernel, &wide).unwrap();
            let mut upload = Upload::new(&[problem], &cut).unwrap();
            assert_eq!(upload.headers.len(), size_of::<Header32>());
            let place = offset_of!(Header32, unit);
            let unit: &mut [f32] = bytemuck::cast_slice_mut(&mut upload.headers[place..place + 4]);
            unit[0] *= factor;
            upload.members32[0].weight *= weight;
            let bytes = run_group(&mut gpu, &cut, &upload);
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
        let kernel = kernel_for(&mut gpu, problem);
        let cut = Cut::new(&[Size::of(&problem)], kernel, &gpu.limits).unwrap();
        let mut upload = Upload::new(&[problem], &cut).unwrap();
        upload.dispatches.pop();
        let bytes = run_group(&mut gpu, &cut, &upload);
        let raw = solve::tables(&[problem], &cut, &bytes).remove(0);
        let refused = ValueTable::checked(raw).unwrap_err();
        assert_eq!(refused, TableError::Overflow { step: 1, budget: 0 });
        // The device has no complaint of its own.
        assert!(!matches!(
            gpu.solve(&[problem]),
            Err(BackendError::Rejected { .. })
        ));
    }

    /// Any executor may run the work, as long as somebody drives the device: here another thread does, as a browser would.
    #[test]
    fn the_work_can_be_awaited() {
        let Some(mut gpu) = gpu() else { return };
        let (sample, coefficients) = probe(64);
        let problem = Problem {
            sample: &sample,
            coefficients: &coefficients,
            budget_max: 31,
            cap: Some(1.0),
        };
        let waited_for = gpu.solve_raw(&[problem; 3]).unwrap();
        let (device, _) = gpu.device.handle();
        let done = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&done);
        let driver = std::thread::spawn(move || {
            while !seen.load(Ordering::Relaxed) {
                device.poll(wgpu::PollType::Poll).unwrap();
                std::thread::yield_now();
            }
        });
        let awaited = pollster::block_on(gpu.solve_async(&[problem; 3])).unwrap();
        done.store(true, Ordering::Relaxed);
        driver.join().unwrap();
        assert!(awaited == waited_for);
    }
}
