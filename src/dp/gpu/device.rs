//! An open adapter: pipelines by shader, buffers that only grow, errors that become values, results that are awaited.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use wgpu::{
    Adapter, BindGroup, BindGroupDescriptor, BindGroupEntry, BindGroupLayout, BindingResource,
    Buffer, BufferBinding, BufferDescriptor, BufferUsages, ComputePipeline,
    ComputePipelineDescriptor, DeviceDescriptor, ErrorFilter, Features, PipelineLayoutDescriptor,
    Queue, ShaderModuleDescriptor, ShaderSource, SubmissionIndex,
};

use super::bindings::{Launch, Part, Slot, bind_layout};
use super::kernel::Shader;
use super::promise::promise;
use crate::dp::BackendError;

/// What a device has lost, once it has.
type Loss = Arc<Mutex<Option<String>>>;

/// What is being awaited: a submission, and how long it may take. Where nobody else drives the device, whoever runs the
/// future has to wait for it.
#[derive(Debug, Clone, Default)]
pub struct Awaited(Arc<Mutex<Option<(SubmissionIndex, Duration)>>>);

impl Awaited {
    fn set(&self, index: SubmissionIndex, patience: Duration) {
        let mut awaited = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *awaited = Some((index, patience));
    }

    /// What has come to be awaited since the last call.
    pub fn take(&self) -> Option<(SubmissionIndex, Duration)> {
        let mut awaited = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        awaited.take()
    }
}

/// An adapter that has been opened for computing.
#[derive(Debug)]
pub struct Device {
    device: wgpu::Device,
    queue: Queue,
    pipelines: HashMap<Shader, (BindGroupLayout, ComputePipeline)>,
    buffers: Vec<Option<Buffer>>,
    loss: Loss,
    awaited: Awaited,
}

impl Device {
    /// Opens an adapter, with 64-bit shaders if asked for.
    pub async fn open(adapter: &Adapter, f64: bool) -> Result<Self, BackendError> {
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
        let opened = adapter.request_device(&descriptor).await;
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
            awaited: Awaited::default(),
        })
    }

    /// The device itself and what is awaited of it, for whoever drives it.
    #[cfg(not(target_family = "wasm"))]
    pub fn handle(&self) -> (wgpu::Device, Awaited) {
        (self.device.clone(), self.awaited.clone())
    }

    /// Runs work whose errors come back as values: out of memory and validation errors, or the loss of the device.
    pub async fn guarded<T>(
        &mut self,
        work: impl AsyncFnOnce(&mut Self) -> Result<T, BackendError>,
    ) -> Result<T, BackendError> {
        let memory = self.device.push_error_scope(ErrorFilter::OutOfMemory);
        let validation = self.device.push_error_scope(ErrorFilter::Validation);
        let result = work(self).await;
        let validation = validation.pop().await;
        let memory = memory.pop().await;
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

    /// Writes to a buffer from a byte on.
    pub fn write_at(&self, slot: Slot, offset: u64, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.queue.write_buffer(self.buffer(slot), offset, bytes);
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
    pub async fn read(
        &mut self,
        slot: Slot,
        size: u64,
        patience: Duration,
    ) -> Result<Vec<u8>, BackendError> {
        let mut encoder = self
            .device
            .create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        // Out of its slot while it is mapped: should nobody wait for the end, the next read takes a new one.
        let back = self.buffers[Slot::ReadBack as usize]
            .take()
            .expect("reserved before use");
        encoder.copy_buffer_to_buffer(self.buffer(slot), 0, &back, 0, size);
        let index = self.queue.submit([encoder.finish()]);
        let (keep, mapped) = promise();
        back.map_async(wgpu::MapMode::Read, 0..size, move |result| {
            keep.keep(result);
        });
        self.awaited.set(index, patience);
        let lost = |reason: String| BackendError::Lost { reason };
        match mapped.await {
            Some(Ok(())) => {}
            Some(Err(error)) => return Err(lost(one_line(&error.to_string()))),
            None => return Err(lost("the result was never handed over".into())),
        }
        let bytes = back
            .get_mapped_range(0..size)
            .map_err(|error| lost(one_line(&error.to_string())))?
            .to_vec();
        back.unmap();
        self.buffers[Slot::ReadBack as usize] = Some(back);
        Ok(bytes)
    }

    /// Waits for a submission.
    pub async fn finish(
        &self,
        index: SubmissionIndex,
        patience: Duration,
    ) -> Result<(), BackendError> {
        let (keep, done) = promise();
        self.queue.on_submitted_work_done(move || keep.keep(()));
        self.awaited.set(index, patience);
        done.await.ok_or_else(|| BackendError::Lost {
            reason: "the work was never finished".into(),
        })
    }

    /// Ends the device, as a driver reset would.
    pub fn destroy(&self) {
        self.device.destroy();
    }
}

/// A driver's message without its line breaks.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
