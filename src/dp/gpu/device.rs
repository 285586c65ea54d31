//! An open adapter: pipelines by shader, buffers that only grow, errors as values, results as futures.

use std::collections::HashMap;
use std::fmt::Display;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use wgpu::{
    Adapter, BindGroupDescriptor, BindGroupEntry, BindGroupLayout, BindingResource, Buffer,
    BufferBinding, BufferDescriptor, BufferUsages, ComputePipeline, ComputePipelineDescriptor,
    DeviceDescriptor, ErrorFilter, Features, PipelineLayoutDescriptor, Queue,
    ShaderModuleDescriptor, ShaderSource, SubmissionIndex,
};

use super::buffers::{Bound, Launch, Part, Slot, bind_layout};
use super::limits::Limits;
use super::shader::Shader;
use super::waiting::{Awaited, lock, oneshot};
use crate::dp::{BackendError, Traffic};

/// An adapter that has been opened for computing.
#[derive(Debug)]
pub struct Device {
    device: wgpu::Device,
    queue: Queue,
    pipelines: HashMap<Shader, (BindGroupLayout, ComputePipeline)>,
    buffers: Vec<Option<Buffer>>,
    /// Why the device was lost.
    loss: Arc<Mutex<Option<String>>>,
    awaited: Awaited,
    /// The adapter's limits; tests set smaller ones.
    pub limits: Limits,
    /// Whether outputs are filled with NaN before every solve; tests do.
    pub poison: bool,
    /// What has been moved and launched so far.
    pub traffic: Traffic,
}

impl Device {
    /// Opens an adapter, with 64-bit shaders if asked for.
    pub async fn open(adapter: &Adapter, limits: Limits, f64: bool) -> Result<Self, BackendError> {
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
            reason: one_line(&error),
        })?;
        let loss = Arc::<Mutex<Option<String>>>::default();
        let lost = Arc::clone(&loss);
        device.set_device_lost_callback(move |reason, message| {
            *lock(&lost) = Some(one_line(&format!("{reason:?} {message}")));
        });
        let uncaptured = Arc::clone(&loss);
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            lock(&uncaptured).get_or_insert(one_line(&error));
        }));
        Ok(Self {
            device,
            queue,
            pipelines: HashMap::new(),
            buffers: vec![None; Slot::COUNT],
            loss,
            awaited: Awaited::default(),
            limits,
            poison: false,
            traffic: Traffic::default(),
        })
    }

    /// The device and the submission it is waited for, to drive it.
    #[cfg(not(target_family = "wasm"))]
    pub fn handle(&self) -> (wgpu::Device, Awaited) {
        (self.device.clone(), self.awaited.clone())
    }

    /// Runs work and returns its errors: out of memory, validation, or the loss of the device.
    pub async fn guarded<T>(
        &mut self,
        work: impl AsyncFnOnce(&mut Self) -> Result<T, BackendError>,
    ) -> Result<T, BackendError> {
        let memory = self.device.push_error_scope(ErrorFilter::OutOfMemory);
        let validation = self.device.push_error_scope(ErrorFilter::Validation);
        let result = work(self).await;
        let validation = validation.pop().await;
        let memory = memory.pop().await;
        if let Some(reason) = lock(&self.loss).clone() {
            return Err(BackendError::Lost { reason });
        }
        if let Some(error) = memory {
            let reason = one_line(&error);
            return Err(BackendError::OutOfMemory { reason });
        }
        if let Some(error) = validation {
            let reason = one_line(&error);
            return Err(BackendError::Rejected { reason });
        }
        result
    }

    /// Compiles a shader unless it is compiled already.
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

    /// Makes sure that a buffer has at least `size` bytes. Buffers never shrink.
    pub fn reserve(&mut self, slot: Slot, size: u64) {
        let size = size.max(256);
        let held = self.buffers[slot as usize].as_ref();
        if held.is_some_and(|buffer| buffer.size() >= size) {
            return;
        }
        let usage = match slot {
            Slot::ReadBack => BufferUsages::MAP_READ | BufferUsages::COPY_DST,
            Slot::Steps => BufferUsages::UNIFORM | BufferUsages::COPY_DST,
            _ => BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC,
        };
        // Room to grow, so that a growing sample does not ask for a new buffer at every step.
        let room = size
            .next_power_of_two()
            .min(self.limits.buffer_bytes / 256 * 256)
            .max(size.next_multiple_of(256));
        self.buffers[slot as usize] = Some(self.device.create_buffer(&BufferDescriptor {
            label: Some("cbwk-gpu"),
            size: room,
            usage,
            mapped_at_creation: false,
        }));
    }

    fn buffer(&self, slot: Slot) -> &Buffer {
        let buffer = self.buffers[slot as usize].as_ref();
        buffer.expect("reserved before use")
    }

    /// Bytes held by all buffers.
    pub fn held_bytes(&self) -> u64 {
        self.buffers.iter().flatten().map(Buffer::size).sum()
    }

    /// Writes a buffer from its start, which gets at least `room` bytes.
    pub fn write(&mut self, slot: Slot, bytes: &[u8], room: u64) {
        self.reserve(slot, room.max(bytes.len() as u64));
        self.write_at(slot, 0, bytes);
    }

    /// Writes to a reserved buffer from a byte on.
    pub fn write_at(&mut self, slot: Slot, offset: u64, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.queue.write_buffer(self.buffer(slot), offset, bytes);
            self.traffic.bytes_up += bytes.len() as u64;
        }
    }

    /// Reserves a buffer for outputs. In tests they are NaN at first, so that a value that was never computed cannot pass
    /// for a result.
    pub fn reserve_output(&mut self, slot: Slot, size: u64) {
        self.reserve(slot, size);
        if self.poison && size > 0 {
            let nan = vec![0xff; size as usize];
            self.queue.write_buffer(self.buffer(slot), 0, &nan);
        }
    }

    /// Binds parts of buffers to a shader, compiled if need be.
    pub fn bind(&mut self, shader: Shader, parts: &[Part]) -> Bound {
        self.compile(shader);
        let entry = |(binding, part): (usize, &Part)| BindGroupEntry {
            binding: binding as u32,
            resource: BindingResource::Buffer(BufferBinding {
                buffer: self.buffer(part.slot),
                offset: part.offset,
                size: wgpu::BufferSize::new(part.size),
            }),
        };
        let entries: Vec<BindGroupEntry> = parts.iter().enumerate().map(entry).collect();
        let group = self.device.create_bind_group(&BindGroupDescriptor {
            label: Some(shader.entry_point()),
            layout: &self.pipelines[&shader].0,
            entries: &entries,
        });
        Bound { shader, group }
    }

    /// Submits dispatches in one command buffer.
    pub fn submit(&mut self, launches: impl Iterator<Item = Launch>) -> SubmissionIndex {
        let mut encoder = self
            .device
            .create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            let mut current = None;
            for Launch {
                bound,
                offsets,
                workgroups: [x, y, z],
            } in launches
            {
                if current.replace(bound.shader) != Some(bound.shader) {
                    pass.set_pipeline(&self.pipelines[&bound.shader].1);
                }
                pass.set_bind_group(0, &bound.group, &offsets);
                pass.dispatch_workgroups(x, y, z);
                self.traffic.dispatches += 1;
            }
        }
        self.queue.submit([encoder.finish()])
    }

    /// Copies the first bytes of a buffer back to the host.
    pub async fn read(
        &mut self,
        slot: Slot,
        size: u64,
        timeout: Duration,
    ) -> Result<Vec<u8>, BackendError> {
        let mut encoder = self
            .device
            .create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        // Out of its slot while it is mapped: if this future is dropped, the next read takes a new buffer.
        self.reserve(Slot::ReadBack, size);
        let back = self.buffers[Slot::ReadBack as usize].take();
        let back = back.expect("reserved above");
        encoder.copy_buffer_to_buffer(self.buffer(slot), 0, &back, 0, size);
        let index = self.queue.submit([encoder.finish()]);
        let (sender, mapped) = oneshot();
        back.map_async(wgpu::MapMode::Read, 0..size, |result| sender.send(result));
        self.awaited.set(index, timeout);
        let lost = |reason: String| BackendError::Lost { reason };
        match mapped.await {
            Some(Ok(())) => {}
            Some(Err(error)) => return Err(lost(one_line(&error))),
            None => return Err(lost("the result was never returned".into())),
        }
        let bytes = back
            .get_mapped_range(0..size)
            .map_err(|error| lost(one_line(&error)))?
            .to_vec();
        back.unmap();
        self.buffers[Slot::ReadBack as usize] = Some(back);
        self.traffic.bytes_down += size;
        Ok(bytes)
    }

    /// Waits for a submission.
    pub async fn finish(
        &self,
        index: SubmissionIndex,
        timeout: Duration,
    ) -> Result<(), BackendError> {
        let (sender, done) = oneshot();
        self.queue.on_submitted_work_done(|| sender.send(()));
        self.awaited.set(index, timeout);
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
pub fn one_line(message: &impl Display) -> String {
    let text = message.to_string();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
