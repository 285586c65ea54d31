//! `cbwk-gpu devices`.

use std::io::Write;

#[cfg(feature = "gpu")]
use super::resources::size;
#[cfg(feature = "gpu")]
use cbwk_gpu::dp::gpu::{AdapterSummary, Adapters};

/// Says why there are none.
#[cfg(not(feature = "gpu"))]
pub fn devices() -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "this program was built without graphics adapters")?;
    Ok(())
}

/// Prints what adapters there are and what `auto` makes of them.
#[cfg(feature = "gpu")]
pub fn devices() -> anyhow::Result<()> {
    super::machine::quiet_drivers();
    let adapters = Adapters::find();
    let mut out = std::io::stdout().lock();
    let mut count = 0;
    for (i, adapter) in adapters.summaries().enumerate() {
        count += 1;
        writeln!(out, "{i}: {}", adapter.name)?;
        writeln!(out, "   type     {}", adapter.kind())?;
        writeln!(out, "   backend  {:?}", adapter.api)?;
        writeln!(out, "   driver   {}", adapter.driver)?;
        writeln!(
            out,
            "   limits   {} per binding, {} per buffer, {} workgroups per axis, 64-bit shaders: {}",
            size(adapter.limits.binding_bytes),
            size(adapter.limits.buffer_bytes),
            adapter.limits.workgroups,
            if adapter.f64 { "yes" } else { "no" },
        )?;
        if let Some(reason) = &adapter.unusable {
            writeln!(out, "   unusable {reason}")?;
        }
    }
    if count == 0 {
        writeln!(
            out,
            "no graphics adapter found: no Vulkan, Metal, Direct3D 12 or OpenGL driver answers"
        )?;
    }
    writeln!(out, "\n{}", verdict(adapters.summaries()))?;
    Ok(())
}

/// What `--backend auto` would take, and why.
#[cfg(feature = "gpu")]
fn verdict<'a>(adapters: impl Iterator<Item = &'a AdapterSummary> + Clone) -> String {
    let mut usable = adapters.clone().filter(|a| a.is_worth_trying());
    if let Some(best) = usable.next() {
        return format!(
            "--backend auto takes {} for batches that a timing at the start finds faster there, the CPU for the others.",
            best.name
        );
    }
    let why = if adapters.clone().next().is_none() {
        "there is no adapter"
    } else if adapters.clone().all(|a| !a.is_hardware()) {
        "software adapters compute on the same CPU, only slower (--backend gpu takes them)"
    } else {
        "no adapter can run the shaders"
    };
    format!("--backend auto takes the CPU: {why}.")
}
