//! The buffers of a device, and which parts of them a shader sees.

use wgpu::{
    BindGroup, BindGroupLayout, BindGroupLayoutDescriptor, BindGroupLayoutEntry, BindingType,
    BufferBindingType, ShaderStages,
};

use super::shader::Shader;

/// The buffers of a device. The first eight are in the order of the Bellman shaders' bindings.
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
    /// Shared contexts that stay on the adapter.
    Resident,
    /// Words to write into them.
    Words,
    /// Where each problem's bounds come from.
    Sources,
    /// Fitted parameters.
    Parameters,
    /// Features of single contexts that stay on the adapter.
    Singles,
    /// Words to write into them.
    SingleWords,
}

impl Slot {
    /// Number of slots.
    pub const COUNT: usize = Self::SingleWords as usize + 1;

    /// The slots bound by the Bellman shaders.
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

impl Part {
    /// A buffer from its start; every buffer has at least 256 bytes.
    pub fn first(slot: Slot, size: u64) -> Self {
        let (offset, size) = (0, size.max(256));
        Self { slot, offset, size }
    }
}

/// A shader with the buffers bound to it.
#[derive(Debug, Clone)]
pub struct Bound {
    /// The shader.
    pub shader: Shader,
    /// Its buffers.
    pub group: BindGroup,
}

/// One dispatch.
#[derive(Debug)]
pub struct Launch {
    /// The shader and its buffers.
    pub bound: Bound,
    /// Dynamic offsets.
    pub offsets: Vec<u32>,
    /// Workgroups.
    pub workgroups: [u32; 3],
}

/// How a binding is used.
#[derive(Clone, Copy)]
enum Use {
    Uniform,
    Read,
    /// Read, at an offset that each dispatch sets.
    ReadAt,
    Write,
}

/// The bindings of each shader; the Bellman shaders share theirs.
fn uses(shader: Shader) -> &'static [Use] {
    use Use::{Read, ReadAt, Uniform, Write};
    match shader {
        Shader::Bellman(_) => &[Uniform, Read, Read, ReadAt, ReadAt, ReadAt, Write, Write],
        Shader::Plan { .. } => &[Uniform, Read, Read, ReadAt, Read, Read, Write, Write],
        Shader::Append => &[Read, Write],
        Shader::Bounds { .. } => &[Read, Read, Read, Write],
    }
}

/// The layout of a shader's bindings.
pub fn bind_layout(device: &wgpu::Device, shader: Shader) -> BindGroupLayout {
    let entry = |(binding, usage): (usize, &Use)| BindGroupLayoutEntry {
        binding: binding as u32,
        visibility: ShaderStages::COMPUTE,
        ty: BindingType::Buffer {
            ty: match usage {
                Use::Uniform => BufferBindingType::Uniform,
                Use::Read | Use::ReadAt => BufferBindingType::Storage { read_only: true },
                Use::Write => BufferBindingType::Storage { read_only: false },
            },
            has_dynamic_offset: matches!(usage, Use::Uniform | Use::ReadAt),
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
