//! The buffers of a device, which parts of them a shader sees, and how.

use wgpu::{
    BindGroup, BindGroupLayout, BindGroupLayoutDescriptor, BindGroupLayoutEntry, BindingType,
    BufferBindingType, ShaderStages,
};

use super::kernel::Shader;

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
    /// Features of single contexts that stay on the adapter.
    Singles,
    /// Words to write into them.
    SingleWords,
}

impl Slot {
    /// Number of slots.
    pub const COUNT: usize = Self::SingleWords as usize + 1;

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
        Shader::Plan { .. } => &[Uniform, Read, Read, MovingRead, Read, Read, Write, Write],
        Shader::Append { .. } => &[Read, Write],
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
