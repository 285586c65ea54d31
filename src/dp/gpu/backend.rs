//! The backend of native programs, which block until the asynchronous work is done.

use std::path::Path;

use super::waiting::block_on;
use super::{AdapterSummary, Adapters, Gpu};
use crate::dp::{
    Auto, Backend, BackendError, PlanRequest, Plans, Precision, Problem, RawTable, Report,
};

impl Adapters {
    /// Looks for adapters; OpenGL is asked only if there are no others.
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

    /// Opens an adapter found by [`Adapters`].
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
        block_on(self.device.handle(), self.solve_async(batch))
    }

    fn plan_raw(&mut self, requests: &[PlanRequest]) -> Result<Plans<RawTable>, BackendError> {
        block_on(self.device.handle(), self.plan_async(requests))
    }

    fn report(&self) -> Report {
        let f64 = self.f64;
        let precision = if f64 { Precision::F64 } else { Precision::F32 };
        Report {
            backend: "gpu".into(),
            precision: precision.name().into(),
            adapter: Some(self.adapter.name.clone()),
            driver: Some(self.adapter.driver.clone()),
            traffic: Some(self.traffic()),
            bounds_on_cpu: self.bounds_on_cpu.clone(),
            strategies: Vec::new(),
        }
    }
}

/// The CPU and a real GPU with their measured speeds, or `None` if there is no usable hardware adapter. `adapter` is a part
/// of a name; `warn` is called once if the GPU fails later.
pub fn beside_cpu(
    cpu: Box<dyn Backend>,
    adapter: Option<&str>,
    f64: bool,
    warn: impl FnMut(&str) + Send + 'static,
) -> Result<Option<Auto>, BackendError> {
    if !hardware_may_exist() {
        return Ok(None);
    }
    let adapters = Adapters::find_modern();
    if !adapters.summaries().any(AdapterSummary::is_worth_trying) {
        return Ok(None);
    }
    let (summary, adapter) = adapters.take(adapter)?;
    if !summary.is_worth_trying() {
        let name = summary.name;
        return Err(BackendError::Unavailable {
            backend: "auto".into(),
            reason: format!("{name} is a software adapter (the gpu backend takes it)"),
        });
    }
    let gpu = Gpu::open_adapter(summary, &adapter, f64)?;
    Auto::measured(cpu, Box::new(gpu), warn).map(Some)
}

/// Whether the system shows a graphics processor at all. Asking Vulkan takes longer, and some drivers print messages.
pub fn hardware_may_exist() -> bool {
    let nodes = [
        "/dev/dri",
        "/dev/nvidiactl",
        "/dev/dxg",
        "/dev/kgsl-3d0",
        "/dev/mali0",
    ];
    !cfg!(target_os = "linux") || nodes.iter().any(|node| Path::new(node).exists())
}

#[cfg(test)]
mod tests {
    use std::mem::{offset_of, size_of};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use crate::dp::gpu::cut::Cut;
    use crate::dp::gpu::layout::Upload;
    use crate::dp::gpu::limits::{Limits, Size};
    use crate::dp::gpu::structs::{Header, Member32, Scale32};
    use crate::dp::gpu::waiting::block_on;
    use crate::dp::gpu::{Gpu, solve};
    use crate::dp::timing::probe;
    use crate::dp::{Backend, BackendError, Problem, TableError, ValueTable};

    fn gpu() -> Option<Gpu> {
        let opened = Gpu::open(None, false);
        let required = std::env::var_os("CI").is_some();
        assert!(opened.is_ok() || !required, "GPU tests must run in CI");
        opened.ok()
    }

    fn run_group(gpu: &mut Gpu, cut: &Cut, upload: &Upload) -> Vec<u8> {
        block_on(gpu.device.handle(), gpu.run_group(cut, upload)).unwrap()
    }

    /// A scale in which values do not fit the table (no real problem has one): sums saturate instead of wrapping around, the
    /// table is refused, and the cap limits larger values.
    #[test]
    fn values_that_do_not_fit_the_table_are_refused() {
        let Some(mut gpu) = gpu() else { return };
        let (sample, mut coefficients) = probe(64);
        coefficients.lcb.fill(0.0);
        let wide = Limits {
            busy_workgroups: 4,
            ..gpu.device.limits
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
            let bellman = gpu.bellman_for(&[problem]).unwrap();
            let cut = Cut::new(&[Size::of(&problem)], bellman, &wide).unwrap();
            let mut upload = Upload::new(&[problem], &cut).unwrap();
            let place = size_of::<Header>() + offset_of!(Scale32, unit);
            let unit: &mut [f32] = bytemuck::cast_slice_mut(&mut upload.headers[place..place + 4]);
            unit[0] *= factor;
            let member = &mut upload.members[..size_of::<Member32>()];
            bytemuck::cast_slice_mut::<u8, Member32>(member)[0].weight *= weight;
            let bytes = run_group(&mut gpu, &cut, &upload);
            let raw = solve::tables(&[problem], &cut, &bytes).remove(0);
            let table = ValueTable::checked(raw);
            let refused = matches!(table, Err(TableError::Overflow { .. }));
            assert_eq!(refused, !fits, "cap {cap:?}, {factor}, {weight}");
        }
    }

    /// Values that were never computed are refused: the last dispatch, which folds the first row, is left out.
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
        let bellman = gpu.bellman_for(&[problem]).unwrap();
        let cut = Cut::new(&[Size::of(&problem)], bellman, &gpu.device.limits).unwrap();
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

    /// Any executor may run the work if something drives the device: here another thread does, as a browser would.
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
