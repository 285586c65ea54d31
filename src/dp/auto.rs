//! The GPU where it gains, the CPU elsewhere. After a GPU failure the CPU does everything; a batch that is too large for
//! the GPU, or whose table is wrong, is solved on the CPU alone.

use super::{
    Backend, BackendError, CostLine, PlanRequest, Plans, Problem, RawTable, Report, ValueTable,
};

/// The size of a batch.
fn candidates(batch: &[Problem]) -> u64 {
    batch.iter().map(Problem::candidates).sum()
}

/// Two backends and the timings that choose between them.
pub struct Auto {
    cpu: Box<dyn Backend>,
    gpu: Box<dyn Backend>,
    cpu_line: CostLine,
    gpu_line: CostLine,
    gpu_failed: bool,
    warned_of_batch: bool,
    gpu_used: bool,
    warn: Box<dyn FnMut(&str) + Send>,
}

impl std::fmt::Debug for Auto {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(
            f,
            "Auto {{ cpu: {:?}, gpu: {:?} }}",
            self.cpu_line, self.gpu_line
        )
    }
}

impl Auto {
    /// Chooses between two backends by their measured lines. `warn` is called once if the GPU fails, and once for the first
    /// batch that it cannot solve.
    pub fn new(
        cpu: (Box<dyn Backend>, CostLine),
        gpu: (Box<dyn Backend>, CostLine),
        warn: impl FnMut(&str) + Send + 'static,
    ) -> Self {
        Self {
            cpu: cpu.0,
            gpu: gpu.0,
            cpu_line: cpu.1,
            gpu_line: gpu.1,
            gpu_failed: false,
            warned_of_batch: false,
            gpu_used: false,
            warn: Box::new(warn),
        }
    }

    /// Measures both backends first.
    #[cfg(not(target_family = "wasm"))]
    pub fn measured(
        mut cpu: Box<dyn Backend>,
        mut gpu: Box<dyn Backend>,
        warn: impl FnMut(&str) + Send + 'static,
    ) -> Result<Self, BackendError> {
        let lines = (
            CostLine::measure(cpu.as_mut())?,
            CostLine::measure(gpu.as_mut())?,
        );
        Ok(Self::new((cpu, lines.0), (gpu, lines.1), warn))
    }

    /// Lets the faster backend do the work. If the GPU fails, the CPU takes over for good; an error that concerns one batch
    /// moves only that batch.
    fn choose<T>(
        &mut self,
        candidates: u64,
        work: impl Fn(&mut dyn Backend) -> Result<T, BackendError>,
    ) -> Result<T, BackendError> {
        if self.prefers_gpu(candidates) {
            match work(self.gpu.as_mut()) {
                Ok(done) => {
                    self.gpu_used = true;
                    return Ok(done);
                }
                Err(error) if error.concerns_batch_alone() => {
                    if !std::mem::replace(&mut self.warned_of_batch, true) {
                        (self.warn)(&format!("{error}; such batches are solved on the CPU"));
                    }
                }
                Err(error) => {
                    self.gpu_failed = true;
                    (self.warn)(&format!("{error}; continuing on the CPU"));
                }
            }
        }
        work(self.cpu.as_mut())
    }

    /// The same for requests; the CPU takes those it has a shortcut for.
    fn choose_plan<T>(
        &mut self,
        requests: &[PlanRequest],
        work: impl Fn(&mut dyn Backend) -> Result<T, BackendError>,
    ) -> Result<T, BackendError> {
        if self.cpu.has_shortcut(requests) {
            return work(self.cpu.as_mut());
        }
        let problems = requests.iter().map(PlanRequest::without_bounds);
        self.choose(problems.map(|p| p.candidates()).sum(), work)
    }

    /// Whether a batch of this many candidates goes to the GPU.
    pub fn prefers_gpu(&self, candidates: u64) -> bool {
        let candidates = candidates as f64;
        !self.gpu_failed && self.gpu_line.seconds(candidates) < self.cpu_line.seconds(candidates)
    }
}

impl Backend for Auto {
    fn name(&self) -> &'static str {
        "auto"
    }

    fn solve_raw(&mut self, batch: &[Problem]) -> Result<Vec<RawTable>, BackendError> {
        self.choose(candidates(batch), |backend| backend.solve_raw(batch))
    }

    fn plan_raw(&mut self, requests: &[PlanRequest]) -> Result<Plans<RawTable>, BackendError> {
        self.choose_plan(requests, |backend| backend.plan_raw(requests))
    }

    fn solve(&mut self, batch: &[Problem]) -> Result<Vec<ValueTable>, BackendError> {
        self.choose(candidates(batch), |backend| backend.solve(batch))
    }

    fn plan(&mut self, requests: &[PlanRequest]) -> Result<Plans, BackendError> {
        self.choose_plan(requests, |backend| backend.plan(requests))
    }

    fn report(&self) -> Report {
        let cpu = self.cpu.report();
        if self.gpu_used {
            return Report {
                strategies: cpu.strategies,
                ..self.gpu.report()
            };
        }
        cpu
    }
}
