//! The shaders and the constants they are compiled with.

use crate::dp::Problem;

/// Costs up to this are handled by the narrow shader.
const NARROW_COSTS: u32 = 4;

/// Costs up to this are handled at all.
pub const COST_LIMIT: u32 = 255;

/// Actions up to this are handled by the narrow shader, which counts them in a byte.
const NARROW_ACTIONS: usize = 255;

/// What the bellman shaders share, and the 32-bit ones besides.
const PRELUDE: &str = include_str!("../../../shaders/prelude.wgsl");
const FIXED_POINT: &str = include_str!("../../../shaders/fixed_point.wgsl");
/// What shaders of tables share, those with gaps in registers, and those that evaluate bounds.
const TABLES: &str = include_str!("../../../shaders/tables.wgsl");
const NARROW: &str = include_str!("../../../shaders/narrow.wgsl");
const ELLIPSOID: &str = include_str!("../../../shaders/ellipsoid.wgsl");

/// A shader with its constants: what a pipeline is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// `bellman.wgsl`: f32, costs up to `costs`, gaps in registers.
    Narrow {
        /// Vectors of four budgets in a tile.
        tile_vectors: u32,
        /// Costs 1..=costs.
        costs: u32,
        /// Threads in a workgroup.
        threads: u32,
    },
    /// `bellman_wide.wgsl`: f32, any costs up to 255.
    Wide {
        /// Vectors of four budgets in a tile.
        tile_vectors: u32,
        /// Threads in a workgroup.
        threads: u32,
    },
    /// `bellman_f64.wgsl`: f64, any costs up to 255.
    F64 {
        /// Threads in a workgroup.
        threads: u32,
    },
}

/// What a pipeline is made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shader {
    /// A step of Optimistic-DP.
    Bellman(Kernel),
    /// `append.wgsl`: new contexts and changed weights.
    Append {
        /// Threads in a workgroup.
        threads: u32,
    },
    /// `bounds.wgsl`: bounds from fitted parameters.
    Bounds {
        /// Non-null actions.
        actions: u32,
        /// Features of a context.
        dimension: u32,
        /// Whether a source has its bonus inside the link.
        inside: bool,
        /// Contexts that one thread takes.
        contexts: u32,
        /// Threads in a workgroup.
        threads: u32,
    },
    /// `plan.wgsl`: a step of Optimistic-DP over single contexts, with bounds from fitted parameters.
    Plan {
        /// Its tiles, costs and threads.
        kernel: Kernel,
        /// Non-null actions.
        actions: u32,
        /// Features of a context.
        dimension: u32,
        /// Whether a source has its bonus inside the link.
        inside: bool,
        /// Whether rewards depend on theta.
        auction: bool,
    },
}

impl Shader {
    /// The bounds shader of an instance, where its loops are short enough to be unrolled.
    pub fn bounds(actions: usize, dimension: usize, inside: bool, contexts: u32) -> Option<Self> {
        (actions <= 64 && dimension <= 16).then_some(Self::Bounds {
            actions: actions as u32,
            dimension: dimension as u32,
            inside,
            contexts,
            threads: 64,
        })
    }

    /// File stem and entry point.
    pub fn entry_point(&self) -> &'static str {
        match self {
            Self::Bellman(kernel) => kernel.entry_point(),
            Self::Append { .. } => "append",
            Self::Plan { .. } => "plan",
            Self::Bounds { .. } => "bounds",
        }
    }

    /// The shader's text with its constants set.
    pub fn source(&self) -> String {
        match *self {
            Self::Bellman(kernel) => kernel.source(),
            Self::Append { threads } => set(
                include_str!("../../../shaders/append.wgsl"),
                "THREADS",
                threads,
            ),
            Self::Bounds {
                actions,
                dimension,
                inside,
                contexts,
                threads,
            } => {
                let text = include_str!("../../../shaders/bounds.wgsl");
                let text = &[ELLIPSOID, text].join("\n");
                let text = set(&set(text, "ACTIONS", actions), "DIMENSION", dimension);
                let text = set(&text, "INSIDE", u32::from(inside));
                set(&set(&text, "THREADS", threads), "CONTEXTS", contexts)
            }
            Self::Plan {
                kernel,
                actions,
                dimension,
                inside,
                auction,
            } => {
                let text = include_str!("../../../shaders/plan.wgsl");
                let text = [PRELUDE, FIXED_POINT, NARROW, ELLIPSOID, text].join("\n");
                let text = set(&text, "TILE_VECTORS", kernel.tile() / 4);
                let text = set(&set(&text, "COSTS", kernel.costs()), "ACTIONS", actions);
                let text = set(&set(&text, "DIMENSION", dimension), "INSIDE", inside.into());
                let text = set(&text, "AUCTION", auction.into());
                set(&text, "THREADS", kernel.threads())
            }
        }
    }

    /// Threads in a workgroup.
    pub fn threads(&self) -> u32 {
        match *self {
            Self::Bellman(kernel) | Self::Plan { kernel, .. } => kernel.threads(),
            Self::Append { threads } | Self::Bounds { threads, .. } => threads,
        }
    }
}

impl Kernel {
    /// The kernel for a batch.
    pub fn for_batch(batch: &[Problem], threads: u32, f64: bool) -> Self {
        if f64 {
            return Self::F64 { threads };
        }
        let widest = batch.iter().map(|p| p.budget_max + 1).max().unwrap_or(1);
        let costs = batch.iter().map(cost_max).max().unwrap_or(1);
        // With several costs a tile of four vectors does as much per budget as one of eight with half the registers.
        let most = if (2..=NARROW_COSTS).contains(&costs) {
            4
        } else {
            8
        };
        let vectors = widest.div_ceil(4);
        let tile_vectors = vectors.div_ceil(vectors.div_ceil(most)).max(2);
        let actions = batch.iter().map(|p| p.sample.actions()).max().unwrap_or(1);
        match costs {
            0..=1 if actions <= NARROW_ACTIONS => Self::Narrow {
                tile_vectors,
                costs: 1,
                threads,
            },
            2..=NARROW_COSTS if actions <= NARROW_ACTIONS => Self::Narrow {
                tile_vectors,
                costs: NARROW_COSTS,
                threads,
            },
            _ => Self::Wide {
                tile_vectors,
                threads,
            },
        }
    }

    /// File stem and entry point.
    pub fn entry_point(&self) -> &'static str {
        match self {
            Self::Narrow { .. } => "bellman",
            Self::Wide { .. } => "bellman_wide",
            Self::F64 { .. } => "bellman_f64",
        }
    }

    /// The shader's text, what it shares with others in front, with its constants set.
    pub fn source(&self) -> String {
        match *self {
            Self::Narrow {
                tile_vectors,
                costs,
                threads,
            } => {
                let text = include_str!("../../../shaders/bellman.wgsl");
                let text = [PRELUDE, TABLES, FIXED_POINT, NARROW, text].join("\n");
                let text = set(&text, "TILE_VECTORS", tile_vectors);
                set(&set(&text, "COSTS", costs), "THREADS", threads)
            }
            Self::Wide {
                tile_vectors,
                threads,
            } => {
                let text = include_str!("../../../shaders/bellman_wide.wgsl");
                let text = [PRELUDE, TABLES, FIXED_POINT, text].join("\n");
                let text = set(&text, "TILE_VECTORS", tile_vectors);
                set(&text, "THREADS", threads)
            }
            Self::F64 { threads } => {
                let text = include_str!("../../../shaders/bellman_f64.wgsl");
                set(&[PRELUDE, TABLES, text].join("\n"), "THREADS", threads)
            }
        }
    }

    /// The largest cost the shader is made for.
    pub fn costs(&self) -> u32 {
        match *self {
            Self::Narrow { costs, .. } => costs,
            Self::Wide { .. } | Self::F64 { .. } => COST_LIMIT,
        }
    }

    /// Whether gaps are kept in registers and actions sorted by cost.
    pub fn is_narrow(&self) -> bool {
        matches!(self, Self::Narrow { .. })
    }

    /// Whether the shader computes in 64 bits.
    pub fn is_f64(&self) -> bool {
        matches!(self, Self::F64 { .. })
    }

    /// Threads in a workgroup.
    pub fn threads(&self) -> u32 {
        match *self {
            Self::Narrow { threads, .. } | Self::Wide { threads, .. } | Self::F64 { threads } => {
                threads
            }
        }
    }

    /// Budgets in a tile.
    pub fn tile(&self) -> u32 {
        match *self {
            Self::Narrow { tile_vectors, .. } | Self::Wide { tile_vectors, .. } => 4 * tile_vectors,
            Self::F64 { .. } => 16,
        }
    }

    /// Loop iterations a thread goes through for one context, counting loops over a tile as unrolled.
    pub fn iterations_per_context(&self, actions: u32) -> u64 {
        match *self {
            Self::Narrow { costs, .. } => u64::from(actions + 3 * costs + 4),
            Self::Wide { .. } | Self::F64 { .. } => u64::from(actions + 4),
        }
    }

    /// Bytes of a pair's coefficients.
    pub fn pair_bytes(&self) -> usize {
        if self.is_f64() { 16 } else { 8 }
    }

    /// Bytes of a member.
    pub fn member_bytes(&self) -> usize {
        if self.is_f64() { 16 } else { 8 }
    }

    /// Bytes of a table value.
    pub fn value_bytes(&self) -> usize {
        if self.is_f64() { 8 } else { 4 }
    }

    /// Bytes of a partial sum.
    pub fn sum_bytes(&self) -> usize {
        if self.is_f64() { 8 } else { 4 }
    }
}

/// The largest cost of a problem's sample.
pub fn cost_max(problem: &Problem) -> u32 {
    problem
        .sample
        .distinct_costs()
        .iter()
        .copied()
        .max()
        .unwrap_or(1)
}

/// Replaces `const NAME = ...;` by a constant of the given value.
fn set(text: &str, name: &str, value: u32) -> String {
    let start = text
        .find(&format!("const {name} = "))
        .expect("the shader has the constant");
    let end = start + text[start..].find(';').expect("the constant ends");
    format!("{}const {name} = {value}u{}", &text[..start], &text[end..])
}
