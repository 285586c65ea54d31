//! The graphics adapters of this machine, what each can do, and which one to use.

use wgpu::{Adapter, Backend as Api, Backends, DeviceType, Features, Instance, InstanceDescriptor};

use super::limits::Limits;
use crate::dp::BackendError;

/// What an adapter offers, known without opening it.
#[derive(Debug, Clone)]
pub struct AdapterSummary {
    /// Name, as the driver gives it.
    pub name: String,
    /// Kind of device.
    pub device_type: DeviceType,
    /// Graphics interface.
    pub api: Api,
    /// Driver and its version.
    pub driver: String,
    /// Whether 64-bit shaders are offered.
    pub f64: bool,
    /// The limits that matter.
    pub limits: Limits,
    /// Why it is unusable, if it is.
    pub unusable: Option<String>,
}

impl AdapterSummary {
    fn of(adapter: &Adapter) -> Self {
        let info = adapter.get_info();
        let limits = adapter.limits();
        let unusable = if limits.max_storage_buffers_per_shader_stage < 7 {
            Some("7 storage buffers per shader are needed".into())
        } else if limits.max_dynamic_storage_buffers_per_pipeline_layout < 3 {
            Some("3 dynamic storage buffers are needed".into())
        } else if limits.max_compute_workgroup_storage_size < 16_384
            || limits.max_compute_invocations_per_workgroup < 64
        {
            Some("workgroups of 64 threads with 16 KiB are needed".into())
        } else {
            None
        };
        let software = info.device_type == DeviceType::Cpu;
        Self {
            driver: format!("{} {}", info.driver, info.driver_info)
                .trim()
                .to_string(),
            name: info.name,
            device_type: info.device_type,
            api: info.backend,
            f64: adapter.features().contains(Features::SHADER_F64),
            limits: Limits {
                binding_bytes: limits.max_storage_buffer_binding_size.min(1 << 30),
                buffer_bytes: limits.max_buffer_size,
                workgroups: limits.max_compute_workgroups_per_dimension,
                busy_workgroups: if software { 16 } else { 512 },
            },
            unusable,
        }
    }

    /// Whether this is a graphics processor, not a software renderer.
    pub fn is_hardware(&self) -> bool {
        self.device_type != DeviceType::Cpu
    }

    /// Whether it may be faster than the CPU: usable hardware.
    pub fn is_worth_trying(&self) -> bool {
        self.is_hardware() && self.unusable.is_none()
    }

    /// Threads in a workgroup that suit the adapter: a vector of a software adapter, a wavefront of a real one.
    pub(super) fn threads(&self) -> u32 {
        if self.is_hardware() { 64 } else { 8 }
    }

    /// Contexts per thread when bounds are evaluated: few if there are many threads.
    pub(super) fn contexts_per_thread(&self) -> u32 {
        if self.is_hardware() { 4 } else { 32 }
    }

    /// `DiscreteGpu`, `Cpu`, ... in words.
    pub fn kind(&self) -> &'static str {
        match self.device_type {
            DeviceType::DiscreteGpu => "discrete GPU",
            DeviceType::IntegratedGpu => "integrated GPU",
            DeviceType::VirtualGpu => "virtual GPU",
            DeviceType::Cpu => "software (CPU)",
            DeviceType::Other => "other",
        }
    }

    /// Better adapters first: hardware over software, discrete over integrated, modern interfaces over OpenGL.
    fn rank(&self) -> (u32, u32, u32) {
        let kind = match self.device_type {
            DeviceType::DiscreteGpu => 0,
            DeviceType::IntegratedGpu => 1,
            DeviceType::VirtualGpu => 2,
            DeviceType::Other => 3,
            DeviceType::Cpu => 4,
        };
        let api = u32::from(self.api == Api::Gl);
        (u32::from(self.unusable.is_some()), kind, api)
    }
}

/// Adapters of this machine, best first. The variables WGPU_BACKEND and WGPU_ADAPTER_NAME are honoured.
#[derive(Debug)]
pub struct Adapters {
    found: Vec<(AdapterSummary, Adapter)>,
}

impl Adapters {
    /// Looks for adapters; OpenGL is asked only if there are no others.
    pub async fn find_async() -> Self {
        let modern = Self::find_modern_async().await;
        if modern.found.is_empty() {
            Self::find_among(Backends::all()).await
        } else {
            modern
        }
    }

    /// Looks for adapters of the modern interfaces only (Vulkan, Metal, Direct3D 12).
    pub async fn find_modern_async() -> Self {
        Self::find_among(Backends::PRIMARY).await
    }

    async fn find_among(apis: Backends) -> Self {
        let mut descriptor = InstanceDescriptor::new_without_display_handle_from_env();
        if Backends::from_env().is_none() {
            descriptor.backends = apis;
        }
        let instance = Instance::new(descriptor);
        let adapters = instance.enumerate_adapters(Backends::all()).await;
        let mut found: Vec<_> = adapters
            .into_iter()
            .map(|a| (AdapterSummary::of(&a), a))
            .collect();
        found.sort_by_key(|(summary, _)| summary.rank());
        Self { found }
    }

    /// The adapters found, best first.
    pub fn summaries(&self) -> impl Iterator<Item = &AdapterSummary> + Clone {
        self.found.iter().map(|(summary, _)| summary)
    }

    /// Takes the adapter asked for by index or by a part of its name (or by WGPU_ADAPTER_NAME), else the best.
    pub fn take(self, wanted: Option<&str>) -> Result<(AdapterSummary, Adapter), BackendError> {
        let from_environment = std::env::var("WGPU_ADAPTER_NAME").ok();
        let wanted = wanted.or(from_environment.as_deref());
        let wanted = wanted.filter(|wanted| !wanted.is_empty());
        let numbered = self.summaries().enumerate();
        let names: Vec<String> = numbered.map(|(i, s)| format!("{i}: {}", s.name)).collect();
        let unavailable = |reason: String| BackendError::Unavailable {
            backend: "gpu".into(),
            reason,
        };
        let matches = |i: usize, summary: &AdapterSummary| match (wanted, wanted.map(str::parse)) {
            (None, _) => true,
            (_, Some(Ok::<usize, _>(index))) => i == index,
            (Some(part), _) => summary.name.to_lowercase().contains(&part.to_lowercase()),
        };
        let mut found = self.found.into_iter().enumerate();
        let Some((_, (summary, adapter))) = found.find(|(i, (s, _))| matches(*i, s)) else {
            return Err(unavailable(match wanted {
                None => "no graphics adapter was found".into(),
                Some(wanted) if names.is_empty() => {
                    format!("no adapter `{wanted}`: none was found at all")
                }
                Some(wanted) => format!("no adapter `{wanted}`; found: {}", names.join(", ")),
            }));
        };
        match &summary.unusable {
            Some(reason) => Err(unavailable(format!("{}: {reason}", summary.name))),
            None => Ok((summary, adapter)),
        }
    }
}
