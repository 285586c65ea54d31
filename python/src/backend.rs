//! The backends by name.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use cbwk_gpu::dp::cpu::Cpu;
use cbwk_gpu::dp::gpu::{Adapters, Gpu, beside_cpu};
use cbwk_gpu::dp::{Backend, BackendError, Precision, Report};
use pyo3::exceptions::PyRuntimeWarning;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::refused;

/// The kind of a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A real GPU if it is likely faster, else the CPU.
    Auto,
    /// The CPU.
    Cpu,
    /// Any graphics adapter.
    Gpu,
}

/// The choice of a backend: its name, `f32` or `f64` if that matters to the caller, and an adapter by number or name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Its kind.
    pub kind: Kind,
    precision: Option<Precision>,
    adapter: Option<String>,
}

/// What a caller says: backend, precision, adapter.
pub type Asked = (String, Option<String>, Option<String>);

impl Choice {
    /// By name.
    pub fn of((backend, precision, adapter): Asked) -> PyResult<Self> {
        let kind = match backend.as_str() {
            "auto" => Kind::Auto,
            "cpu" => Kind::Cpu,
            "gpu" => Kind::Gpu,
            other => return Err(refused("backend", format!("`{other}`"), "auto, cpu, gpu")),
        };
        let precision = match precision.as_deref() {
            None => None,
            Some("f32") => Some(Precision::F32),
            Some("f64") => Some(Precision::F64),
            Some(other) => return Err(refused("precision", format!("`{other}`"), "f32, f64")),
        };
        if let (Some(adapter), Kind::Cpu) = (&adapter, kind) {
            let found = format!("`{adapter}` with the CPU");
            return Err(refused("adapter", found, "with backend auto or gpu"));
        }
        Ok(Self {
            kind,
            precision,
            adapter,
        })
    }

    /// Whether the caller has said how exact numbers are to be.
    pub fn has_precision(&self) -> bool {
        self.precision.is_some()
    }

    fn cpu(&self) -> Cpu {
        Cpu::new(None, self.precision.unwrap_or(Precision::F64))
    }

    /// Opens a new backend.
    pub fn open(&self) -> Result<Box<dyn Backend>, BackendError> {
        let cpu = || Box::new(self.cpu());
        let (adapter, f64) = (
            self.adapter.as_deref(),
            self.precision == Some(Precision::F64),
        );
        match self.kind {
            Kind::Cpu => Ok(cpu()),
            Kind::Gpu => Ok(Box::new(Gpu::open(adapter, f64)?)),
            Kind::Auto => Ok(match beside_cpu(cpu(), adapter, f64, warn) {
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
        &self,
        work: impl FnOnce(&mut dyn Backend) -> Result<T, BackendError>,
    ) -> Result<T, BackendError> {
        if self.kind == Kind::Cpu || (self.kind == Kind::Auto && !adapter_is_likely()) {
            return work(&mut self.cpu());
        }
        let shared = self.shared()?;
        let mut backend = shared.lock().unwrap_or_else(PoisonError::into_inner);
        work(backend.as_mut())
    }

    fn shared(&self) -> Result<Shared, BackendError> {
        static OPEN: Mutex<Vec<(u32, Choice, Shared)>> = Mutex::new(Vec::new());
        let process = std::process::id();
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((.., backend)) = open.iter().find(|o| o.0 == process && o.1 == *self) {
            return Ok(Arc::clone(backend));
        }
        let backend = Arc::new(Mutex::new(self.open()?));
        open.push((process, self.clone(), Arc::clone(&backend)));
        Ok(backend)
    }
}

/// The graphics adapters of this machine: name, type, interface, driver, whether they have 64-bit shaders, why they cannot be
/// used, and whether `auto` may take them.
#[pyfunction]
pub fn adapters(py: Python) -> PyResult<Vec<Bound<PyDict>>> {
    let adapters = py.detach(Adapters::find);
    let mut first = true;
    let list = adapters.summaries().enumerate().map(|(number, adapter)| {
        let dict = PyDict::new(py);
        dict.set_item("adapter", number.to_string())?;
        dict.set_item("name", &adapter.name)?;
        dict.set_item("type", adapter.kind())?;
        dict.set_item("backend", format!("{:?}", adapter.api))?;
        dict.set_item("driver", &adapter.driver)?;
        let precisions: &[&str] = if adapter.f64 {
            &["f32", "f64"]
        } else {
            &["f32"]
        };
        dict.set_item("precisions", precisions)?;
        dict.set_item("unusable", adapter.unusable.as_ref())?;
        dict.set_item(
            "auto",
            adapter.is_worth_trying() && std::mem::take(&mut first),
        )?;
        Ok(dict)
    });
    list.collect()
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

/// Warns that numbers were computed in 32 bits, if the caller has not said that they may be.
pub fn warn_if_single(choice: &Choice, report: &Report) {
    if report.precision == "f32" && !choice.has_precision() {
        let adapter = report.adapter.as_deref().unwrap_or(&report.backend);
        warn(&format!(
            "computed in 32 bits on {adapter}, to about six digits; precision=\"f32\" accepts that, \"f64\" asks for 64 bits"
        ));
    }
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
