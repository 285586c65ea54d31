//! An open adapter: pipelines by kernel, buffers that only grow, and errors that become values.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use wgpu::{
    Adapter, BindGroup, BindGroupDescriptor, BindGroupEntry, BindGroupLayout,
    BindGroupLayoutDescriptor, BindGroupLayoutEntry, BindingResource, BindingType, Buffer,
    BufferBinding, BufferBindingType, BufferDescriptor, BufferUsages, ComputePipeline,
    ComputePipelineDescriptor, DeviceDescriptor, ErrorFilter, Features, PipelineLayout,
    PipelineLayoutDescriptor, PollError, PollType, Queue, ShaderModuleDescriptor, ShaderSource,
    ShaderStages, SubmissionIndex,
};

use super::kernel::Kernel;
use crate::dp::BackendError;

/// The buffers of a solve, by binding; the last is for reading back.
pub const BINDINGS: usize = 8;
const READ_BACK: usize = BINDINGS;

/// Bindings whose window moves between dispatches: the step, members, coefficients and costs.
const DYNAMIC: [bool; BINDINGS] = [true, false, false, true, true, true, false, false];

/// What a device has lost, once it has.
type Loss = Arc<Mutex<Option<String>>>;

/// An adapter that has been opened for computing.
#[derive(Debug)]
pub struct Device {
    device: wgpu::Device,
    queue: Queue,
    bind_layout: BindGroupLayout,
    pipeline_layout: PipelineLayout,
    pipelines: HashMap<Kernel, ComputePipeline>,
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
        let bind_layout = bind_layout(&device);
        let pipeline_layout = device.create_pipeline_layout(&PipelineLayoutDescriptor {
            label: Some("bellman"),
            bind_group_layouts: &[Some(&bind_layout)],
            immediate_size: 0,
        });
        Ok(Self {
            device,
            queue,
            bind_layout,
            pipeline_layout,
            pipelines: HashMap::new(),
            buffers: vec![None; BINDINGS + 1],
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

    /// Compiles a kernel where it has not been compiled yet.
    pub fn compile(&mut self, kernel: Kernel) {
        if self.pipelines.contains_key(&kernel) {
            return;
        }
        let name = kernel.entry_point();
        let module = self.device.create_shader_module(ShaderModuleDescriptor {
            label: Some(name),
            source: ShaderSource::Wgsl(kernel.source().into()),
        });
        let pipeline = self
            .device
            .create_compute_pipeline(&ComputePipelineDescriptor {
                label: Some(name),
                layout: Some(&self.pipeline_layout),
                module: &module,
                entry_point: Some(name),
                compilation_options: wgpu::PipelineCompilationOptions::default(),
                cache: None,
            });
        self.pipelines.insert(kernel, pipeline);
    }

    /// Makes sure that a buffer has at least `size` bytes; it keeps what it has grown to.
    pub fn reserve(&mut self, binding: usize, size: u64, most: u64) {
        let size = size.max(256);
        if self.buffers[binding]
            .as_ref()
            .is_some_and(|buffer| buffer.size() >= size)
        {
            return;
        }
        let usage = match binding {
            READ_BACK => BufferUsages::MAP_READ | BufferUsages::COPY_DST,
            0 => BufferUsages::UNIFORM | BufferUsages::COPY_DST,
            _ => BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC,
        };
        // Room to grow, so that a growing sample does not ask for a new buffer at every step.
        let room = size
            .next_power_of_two()
            .min(most / 256 * 256)
            .max(size.next_multiple_of(256));
        self.buffers[binding] = Some(self.device.create_buffer(&BufferDescriptor {
            label: Some("bellman"),
            size: room,
            usage,
            mapped_at_creation: false,
        }));
    }

    /// The buffer of a binding that has been reserved.
    pub fn buffer(&self, binding: usize) -> &Buffer {
        self.buffers[binding].as_ref().expect("reserved before use")
    }

    /// Bytes held by all buffers.
    pub fn held_bytes(&self) -> u64 {
        self.buffers.iter().flatten().map(Buffer::size).sum()
    }

    /// Writes to the start of a buffer.
    pub fn write(&self, binding: usize, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.queue.write_buffer(self.buffer(binding), 0, bytes);
        }
    }

    /// Binds all buffers; `windows` gives the bound bytes of each.
    pub fn bind(&self, windows: [u64; BINDINGS]) -> BindGroup {
        let entries: Vec<BindGroupEntry> = windows
            .iter()
            .enumerate()
            .map(|(binding, &size)| BindGroupEntry {
                binding: binding as u32,
                resource: BindingResource::Buffer(BufferBinding {
                    buffer: self.buffer(binding),
                    offset: 0,
                    size: wgpu::BufferSize::new(size),
                }),
            })
            .collect();
        self.device.create_bind_group(&BindGroupDescriptor {
            label: Some("bellman"),
            layout: &self.bind_layout,
            entries: &entries,
        })
    }

    /// Encodes and submits dispatches: (dynamic offsets, workgroups) each.
    pub fn submit(
        &self,
        kernel: Kernel,
        bind_group: &BindGroup,
        dispatches: impl Iterator<Item = ([u32; 4], [u32; 3])>,
    ) -> SubmissionIndex {
        let mut encoder = self
            .device
            .create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            pass.set_pipeline(&self.pipelines[&kernel]);
            for (offsets, [x, y, z]) in dispatches {
                pass.set_bind_group(0, bind_group, &offsets);
                pass.dispatch_workgroups(x, y, z);
            }
        }
        self.queue.submit([encoder.finish()])
    }

    /// Copies the first bytes of a buffer back to the host.
    pub fn read(
        &self,
        binding: usize,
        size: u64,
        timeout: Duration,
    ) -> Result<Vec<u8>, BackendError> {
        let mut encoder = self
            .device
            .create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        encoder.copy_buffer_to_buffer(self.buffer(binding), 0, self.buffer(READ_BACK), 0, size);
        let index = self.queue.submit([encoder.finish()]);
        let outcome = Arc::new(Mutex::new(None));
        let mapped = Arc::clone(&outcome);
        self.buffer(READ_BACK)
            .map_async(wgpu::MapMode::Read, 0..size, move |result| {
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
        let bytes = self
            .buffer(READ_BACK)
            .get_mapped_range(0..size)
            .map_err(|error| lost(one_line(&error.to_string())))?
            .to_vec();
        self.buffer(READ_BACK).unmap();
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

/// The one layout that all bellman shaders share.
fn bind_layout(device: &wgpu::Device) -> BindGroupLayout {
    let entries: Vec<BindGroupLayoutEntry> = (0..BINDINGS)
        .map(|binding| BindGroupLayoutEntry {
            binding: binding as u32,
            visibility: ShaderStages::COMPUTE,
            ty: BindingType::Buffer {
                ty: match binding {
                    0 => BufferBindingType::Uniform,
                    6 | 7 => BufferBindingType::Storage { read_only: false },
                    _ => BufferBindingType::Storage { read_only: true },
                },
                has_dynamic_offset: DYNAMIC[binding],
                min_binding_size: None,
            },
            count: None,
        })
        .collect();
    device.create_bind_group_layout(&BindGroupLayoutDescriptor {
        label: Some("bellman"),
        entries: &entries,
    })
}

/// A driver's message without its line breaks.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
