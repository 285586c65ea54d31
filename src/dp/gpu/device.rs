//! An open adapter: pipelines by kernel, buffers that only grow, and errors that become values.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use wgpu::{
    Adapter, BindGroup, BindGroupDescriptor, BindGroupEntry, BindGroupLayout,
    BindGroupLayoutDescriptor, BindGroupLayoutEntry, BindingResource, BindingType, Buffer,
    BufferBinding, BufferBindingType, BufferDescriptor, BufferUsages, ComputePipeline,
    ComputePipelineDescriptor, DeviceDescriptor, ErrorFilter, Features, PipelineLayoutDescriptor,
    PollError, PollType, Queue, ShaderModuleDescriptor, ShaderSource, ShaderStages,
    SubmissionIndex,
};

use super::kernel::Shader;
use crate::dp::BackendError;

/// The buffers of a device. The first eight are in the order of the bellman shaders' bindings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    /// Uniforms of the dispatches.
    Steps,
    /// Headers of the problems.
    Headers,
    /// Ranges of members.
    Ranges,
    /// Members.
    Members,
    /// Coefficients.
    Coefficients,
    /// Costs.
    Costs,
    /// The value table.
    Table,
    /// Partial sums.
    Sums,
    /// For reading back.
    ReadBack,
    /// Contexts that stay on the adapter.
    Resident,
    /// Words to write into them.
    Words,
    /// Where each problem's bounds come from.
    Sources,
    /// Fitted parameters.
    Parameters,
}

impl Slot {
    const COUNT: usize = Self::Parameters as usize + 1;

    /// The slots bound by the bellman shaders.
    pub const BELLMAN: [Self; 8] = [
        Self::Steps,
        Self::Headers,
        Self::Ranges,
        Self::Members,
        Self::Coefficients,
        Self::Costs,
        Self::Table,
        Self::Sums,
    ];
}

/// A part of a buffer to bind.
#[derive(Debug, Clone, Copy)]
pub struct Part {
    /// The buffer.
    pub slot: Slot,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
}

/// One dispatch: what to run, on what, and how often.
#[derive(Debug)]
pub struct Launch<'a> {
    /// The shader.
    pub shader: Shader,
    /// Its buffers.
    pub bound: &'a BindGroup,
    /// Offsets of the parts that move.
    pub offsets: Vec<u32>,
    /// Workgroups.
    pub groups: [u32; 3],
}

/// How a binding is used.
#[derive(Clone, Copy)]
enum Use {
    Uniform,
    Read,
    MovingRead,
    Write,
}

/// The bindings of each shader; the bellman shaders share theirs.
fn uses(shader: Shader) -> &'static [Use] {
    use Use::{MovingRead, Read, Uniform, Write};
    match shader {
        Shader::Bellman(_) => &[
            Uniform, Read, Read, MovingRead, MovingRead, MovingRead, Write, Write,
        ],
        Shader::Append { .. } => &[Read, Write],
        Shader::Bounds { .. } => &[Read, Read, Read, Write],
    }
}

/// What a device has lost, once it has.
type Loss = Arc<Mutex<Option<String>>>;

/// An adapter that has been opened for computing.
#[derive(Debug)]
pub struct Device {
    device: wgpu::Device,
    queue: Queue,
    pipelines: HashMap<Shader, (BindGroupLayout, ComputePipeline)>,
    buffers: Vec<Option<Buffer>>,
    loss: Loss,
}

impl Device {
    /// Opens an adapter, with 64-bit shaders if asked for.
    pub fn open(adapter: &Adapter, f64: bool) -> Result<Self, BackendError> {
        let features = if f64 {
            Features::SHADER_F64
        } else {
            Features::empty()
        };
        let descriptor = DeviceDescriptor {
            label: Some("cbwk-gpu"),
            required_features: features,
            required_limits: adapter.limits(),
            ..DeviceDescriptor::default()
        };
        let opened = pollster::block_on(adapter.request_device(&descriptor));
        let (device, queue) = opened.map_err(|error| BackendError::Unavailable {
            backend: "gpu".into(),
            reason: one_line(&error.to_string()),
        })?;
        let loss = Loss::default();
        let lost = Arc::clone(&loss);
        device.set_device_lost_callback(move |reason, message| {
            let text = one_line(&format!("{reason:?} {message}"));
            *lost.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
        });
        let uncaptured = Arc::clone(&loss);
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            let text = one_line(&error.to_string());
            uncaptured
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .get_or_insert(text);
        }));
        Ok(Self {
            device,
            queue,
            pipelines: HashMap::new(),
            buffers: vec![None; Slot::COUNT],
            loss,
        })
    }

    /// Runs work whose errors come back as values: out of memory and validation errors, or the loss of the device.
    pub fn guarded<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, BackendError>,
    ) -> Result<T, BackendError> {
        let memory = self.device.push_error_scope(ErrorFilter::OutOfMemory);
        let validation = self.device.push_error_scope(ErrorFilter::Validation);
        let result = work(self);
        let validation = pollster::block_on(validation.pop());
        let memory = pollster::block_on(memory.pop());
        if let Some(reason) = self.loss() {
            return Err(BackendError::Lost { reason });
        }
        if let Some(error) = memory {
            let reason = one_line(&error.to_string());
            return Err(BackendError::OutOfMemory { reason });
        }
        if let Some(error) = validation {
            let reason = one_line(&error.to_string());
            return Err(BackendError::Rejected { reason });
        }
        result
    }

    fn loss(&self) -> Option<String> {
        self.loss
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Compiles a shader where it has not been compiled yet.
    pub fn compile(&mut self, shader: Shader) {
        if self.pipelines.contains_key(&shader) {
            return;
        }
        let name = shader.entry_point();
        let layout = bind_layout(&self.device, shader);
        let pipeline_layout = self
            .device
            .create_pipeline_layout(&PipelineLayoutDescriptor {
                label: Some(name),
                bind_group_layouts: &[Some(&layout)],
                immediate_size: 0,
            });
        let module = self.device.create_shader_module(ShaderModuleDescriptor {
            label: Some(name),
            source: ShaderSource::Wgsl(shader.source().into()),
        });
        let pipeline = self
            .device
            .create_compute_pipeline(&ComputePipelineDescriptor {
                label: Some(name),
                layout: Some(&pipeline_layout),
                module: &module,
                entry_point: Some(name),
                compilation_options: wgpu::PipelineCompilationOptions::default(),
                cache: None,
            });
        self.pipelines.insert(shader, (layout, pipeline));
    }

    /// Makes sure that a buffer has at least `size` bytes; it keeps what it has grown to. Returns whether it is new.
    pub fn reserve(&mut self, slot: Slot, size: u64, most: u64) -> bool {
        let size = size.max(256);
        if self.buffers[slot as usize]
            .as_ref()
            .is_some_and(|buffer| buffer.size() >= size)
        {
            return false;
        }
        let usage = match slot {
            Slot::ReadBack => BufferUsages::MAP_READ | BufferUsages::COPY_DST,
            Slot::Steps => BufferUsages::UNIFORM | BufferUsages::COPY_DST,
            _ => BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC,
        };
        // Room to grow, so that a growing sample does not ask for a new buffer at every step.
        let room = size
            .next_power_of_two()
            .min(most / 256 * 256)
            .max(size.next_multiple_of(256));
        self.buffers[slot as usize] = Some(self.device.create_buffer(&BufferDescriptor {
            label: Some("cbwk-gpu"),
            size: room,
            usage,
            mapped_at_creation: false,
        }));
        true
    }

    fn buffer(&self, slot: Slot) -> &Buffer {
        self.buffers[slot as usize]
            .as_ref()
            .expect("reserved before use")
    }

    /// Bytes held by all buffers.
    pub fn held_bytes(&self) -> u64 {
        self.buffers.iter().flatten().map(Buffer::size).sum()
    }

    /// Writes to the start of a buffer.
    pub fn write(&self, slot: Slot, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.queue.write_buffer(self.buffer(slot), 0, bytes);
        }
    }

    /// Binds parts of buffers for a shader that has been compiled.
    pub fn bind(&self, shader: Shader, parts: &[Part]) -> BindGroup {
        let entry = |(binding, part): (usize, &Part)| BindGroupEntry {
            binding: binding as u32,
            resource: BindingResource::Buffer(BufferBinding {
                buffer: self.buffers[part.slot as usize]
                    .as_ref()
                    .expect("reserved before use"),
                offset: part.offset,
                size: wgpu::BufferSize::new(part.size),
            }),
        };
        let entries: Vec<BindGroupEntry> = parts.iter().enumerate().map(entry).collect();
        self.device.create_bind_group(&BindGroupDescriptor {
            label: Some(shader.entry_point()),
            layout: &self.pipelines[&shader].0,
            entries: &entries,
        })
    }

    /// Encodes and submits dispatches, in one command buffer.
    pub fn submit<'a>(&self, launches: impl Iterator<Item = Launch<'a>>) -> SubmissionIndex {
        let mut encoder = self
            .device
            .create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            let mut current = None;
            for launch in launches {
                if current.replace(launch.shader) != Some(launch.shader) {
                    pass.set_pipeline(&self.pipelines[&launch.shader].1);
                }
                pass.set_bind_group(0, launch.bound, &launch.offsets);
                let [x, y, z] = launch.groups;
                pass.dispatch_workgroups(x, y, z);
            }
        }
        self.queue.submit([encoder.finish()])
    }

    /// Copies the first bytes of a buffer back to the host.
    pub fn read(&self, slot: Slot, size: u64, timeout: Duration) -> Result<Vec<u8>, BackendError> {
        let mut encoder = self
            .device
            .create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let back = self.buffer(Slot::ReadBack);
        encoder.copy_buffer_to_buffer(self.buffer(slot), 0, back, 0, size);
        let index = self.queue.submit([encoder.finish()]);
        let outcome = Arc::new(Mutex::new(None));
        let mapped = Arc::clone(&outcome);
        back.map_async(wgpu::MapMode::Read, 0..size, move |result| {
            *mapped.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        });
        self.wait(index, timeout)?;
        let outcome = outcome
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let lost = |reason: String| BackendError::Lost { reason };
        match outcome {
            Some(Ok(())) => {}
            Some(Err(error)) => return Err(lost(one_line(&error.to_string()))),
            None => return Err(lost("the result was never handed over".into())),
        }
        let bytes = back
            .get_mapped_range(0..size)
            .map_err(|error| lost(one_line(&error.to_string())))?
            .to_vec();
        back.unmap();
        Ok(bytes)
    }

    /// Waits for a submission.
    pub fn wait(&self, index: SubmissionIndex, timeout: Duration) -> Result<(), BackendError> {
        let poll = self.device.poll(PollType::Wait {
            submission_index: Some(index),
            timeout: Some(timeout),
        });
        match poll {
            Ok(_) => Ok(()),
            Err(PollError::Timeout) => Err(BackendError::Timeout {
                seconds: timeout.as_secs_f64(),
            }),
            Err(error) => Err(BackendError::Lost {
                reason: one_line(&error.to_string()),
            }),
        }
    }

    /// Ends the device, as a driver reset would.
    pub fn destroy(&self) {
        self.device.destroy();
    }
}

fn bind_layout(device: &wgpu::Device, shader: Shader) -> BindGroupLayout {
    let entry = |(binding, usage): (usize, &Use)| BindGroupLayoutEntry {
        binding: binding as u32,
        visibility: ShaderStages::COMPUTE,
        ty: BindingType::Buffer {
            ty: match usage {
                Use::Uniform => BufferBindingType::Uniform,
                Use::Read | Use::MovingRead => BufferBindingType::Storage { read_only: true },
                Use::Write => BufferBindingType::Storage { read_only: false },
            },
            has_dynamic_offset: matches!(usage, Use::Uniform | Use::MovingRead),
            min_binding_size: None,
        },
        count: None,
    };
    let entries: Vec<BindGroupLayoutEntry> = uses(shader).iter().enumerate().map(entry).collect();
    device.create_bind_group_layout(&BindGroupLayoutDescriptor {
        label: Some(shader.entry_point()),
        entries: &entries,
    })
}

/// A driver's message without its line breaks.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
