//! A real GPU beside the CPU, where there is one.

use std::path::Path;

use super::{AdapterSummary, Adapters, Gpu};
use crate::dp::{Auto, Backend, BackendError};

/// Both backends with their measured lines, or `None` where no adapter is worth trying; software adapters never are.
/// `adapter` is a part of a name, `warn` is told once if the GPU fails later.
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
        return Err(BackendError::Unavailable {
            backend: "auto".into(),
            reason: format!(
                "{} is a software adapter (the gpu backend takes it)",
                summary.name
            ),
        });
    }
    let gpu = Gpu::open_adapter(summary, &adapter, f64)?;
    Auto::measured(cpu, Box::new(gpu), warn).map(Some)
}

/// Whether the system shows a graphics processor at all. Asking Vulkan takes longer, and some drivers talk to the
/// terminal when asked.
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
