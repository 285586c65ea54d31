//! The backends by name.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use cbwk_gpu::dp::cpu::Cpu;
use cbwk_gpu::dp::gpu::{Gpu, beside_cpu};
use cbwk_gpu::dp::{Backend, BackendError};
use pyo3::exceptions::PyRuntimeWarning;
use pyo3::prelude::*;

use crate::errors::refused;

/// The choice of a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// A real GPU if it is likely faster, else the CPU.
    Auto,
    /// The CPU.
    Cpu,
    /// Any graphics adapter.
    Gpu,
}

impl Choice {
    /// By name.
    pub fn of(name: &str) -> PyResult<Self> {
        match name {
            "auto" => Ok(Self::Auto),
            "cpu" => Ok(Self::Cpu),
            "gpu" => Ok(Self::Gpu),
            other => Err(refused("backend", format!("`{other}`"), "auto, cpu, gpu")),
        }
    }

    /// Opens a new backend.
    pub fn open(self) -> Result<Box<dyn Backend>, BackendError> {
        let cpu = || Box::new(Cpu::default());
        match self {
            Self::Cpu => Ok(cpu()),
            Self::Gpu => Ok(Box::new(Gpu::open(None, false)?)),
            Self::Auto => Ok(match beside_cpu(cpu(), None, false, warn) {
                Ok(Some(auto)) => Box::new(auto),
                Ok(None) => cpu(),
                Err(error) => {
                    warn(&format!("{error}; continuing on the CPU"));
                    cpu()
                }
            }),
        }
    }

    /// Uses a backend that is opened once per process.
    pub fn with<T>(
        self,
        work: impl FnOnce(&mut dyn Backend) -> Result<T, BackendError>,
    ) -> Result<T, BackendError> {
        if self == Self::Cpu || (self == Self::Auto && !adapter_is_likely()) {
            return work(&mut Cpu::default());
        }
        let shared = self.shared()?;
        let mut backend = shared.lock().unwrap_or_else(PoisonError::into_inner);
        work(backend.as_mut())
    }

    fn shared(self) -> Result<Shared, BackendError> {
        static OPEN: Mutex<Vec<(u32, Choice, Shared)>> = Mutex::new(Vec::new());
        let process = std::process::id();
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((.., backend)) = open.iter().find(|o| (o.0, o.1) == (process, self)) {
            return Ok(Arc::clone(backend));
        }
        let backend = Arc::new(Mutex::new(self.open()?));
        open.push((process, self, Arc::clone(&backend)));
        Ok(backend)
    }
}

type Shared = Arc<Mutex<Box<dyn Backend>>>;

/// Whether `auto` has a GPU to choose; found once, because that takes longer than a small problem.
fn adapter_is_likely() -> bool {
    static LIKELY: OnceLock<bool> = OnceLock::new();
    *LIKELY.get_or_init(|| {
        let found = beside_cpu(Box::new(Cpu::default()), None, false, |_| {});
        !matches!(found, Ok(None))
    })
}

/// A RuntimeWarning; the work continues even if warnings are errors.
fn warn(text: &str) {
    Python::attach(|py| {
        let category = py.get_type::<PyRuntimeWarning>();
        if let Ok(text) = std::ffi::CString::new(text) {
            let _ = PyErr::warn(py, &category, &text, 1);
        }
    });
}
