//! The structs that host and shaders share, field by field.

use bytemuck::{Pod, Zeroable};

/// Uniform parameters of one dispatch.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, Pod, Zeroable)]
pub struct Step {
    /// Steps to go, this one included.
    pub remaining: u32,
    /// Pieces that the contexts of this dispatch are split into.
    pub pieces: u32,
    /// Pieces of the same step in earlier dispatches.
    pub first_piece: u32,
    /// Pieces of the previous step.
    pub pieces_before: u32,
    /// First range of the dispatch.
    pub first_range: u32,
}

/// A problem of the batch. [`Scale32`] or [`Scale64`] follows it.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, Pod, Zeroable)]
pub struct Header {
    /// Non-null actions.
    pub actions: u32,
    /// Budgets, 0 included.
    pub width: u32,
    /// H.
    pub horizon: u32,
    /// First pair in the coefficients.
    pub first_pair: u32,
    /// First word in the costs.
    pub first_cost: u32,
    /// First value in the table.
    pub first_value: u32,
    /// First sum in each half of the partial sums.
    pub first_sum: u32,
    /// Distance between pieces in the partial sums.
    pub sum_stride: u32,
    /// Distance between the halves of the partial sums.
    pub half: u32,
    /// The largest cost.
    pub cost_max: u32,
}

/// Units of the fixed-point table of 32-bit shaders.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, Pod, Zeroable)]
pub struct Scale32 {
    /// Table units per summed reward, a power of two.
    pub unit: f32,
    /// Reward per table unit.
    pub value_of_unit: f32,
    /// The cap per step in table units; 0 means no cap.
    pub cap: u32,
}

/// Units of 64-bit shaders.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, Pod, Zeroable)]
pub struct Scale64 {
    /// Sum of the weights of a step.
    pub total: f64,
    /// r_max if values are capped, else -1.
    pub cap: f64,
}

/// A context of a step, for 32-bit shaders.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, Pod, Zeroable)]
pub struct Member32 {
    /// Weight.
    pub weight: f32,
    /// Entry within the problem (or within the window of a large problem).
    pub entry: u32,
}

/// A context of a step, for 64-bit shaders.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, Pod, Zeroable)]
pub struct Member64 {
    /// Weight.
    pub weight: f64,
    /// Entry within the problem (or within the window of a large problem).
    pub entry: u32,
    /// Fills the struct to the alignment of its widest field.
    pub padding: u32,
}

/// Where the bounds of a problem come from, as `ellipsoid.wgsl` reads it.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, Pod, Zeroable)]
pub struct Source {
    /// 0 armed, 1 an ellipsoid with the logistic link, 2 with the linear link, 3 with the bonus inside the logistic link.
    pub kind: u32,
    /// Shared contexts so far.
    pub entries: u32,
    /// First word of the records.
    pub first_record: u32,
    /// First word of the offers.
    pub first_offer: u32,
    /// First pair in the coefficients.
    pub first_pair: u32,
    /// First number in the parameters.
    pub first_parameter: u32,
    /// Armed: 1 if bounds differ by step.
    pub by_step: u32,
    /// Ellipsoid: factor of the norm.
    pub scale: f32,
    /// Ellipsoid: 1 if lcb := ucb.
    pub coupled: u32,
    /// First number in the parameters of the rewards of single contexts by action; their costs follow.
    pub first_reward: u32,
}
