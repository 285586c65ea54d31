//! The shaders and the constants they are compiled with.

use crate::dp::Problem;

/// The largest cost that the narrow shader handles.
const NARROW_COSTS: u32 = 4;

/// The largest cost that any shader handles.
pub const COST_LIMIT: u32 = 255;

/// The most actions that the narrow shader handles: it counts them in a byte.
const NARROW_ACTIONS: usize = 255;

/// Threads in a workgroup of `append.wgsl` and `bounds.wgsl`.
pub const THREADS: u32 = 64;

macro_rules! wgsl {
    ($stem:literal) => {
        include_str!(concat!("../../../shaders/", $stem, ".wgsl"))
    };
}

/// What a pipeline is compiled from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shader {
    /// A step of Optimistic-DP over tables of coefficients.
    Bellman(Bellman),
    /// `append.wgsl`: new contexts and changed weights.
    Append,
    /// `bounds.wgsl`: bounds from fitted parameters.
    Bounds {
        /// Size of the instance.
        shape: BoundsShape,
        /// Contexts per thread.
        contexts: u32,
    },
    /// `plan.wgsl`: a step of Optimistic-DP over single contexts, with bounds from fitted parameters.
    Plan {
        /// Tiles, costs and threads.
        bellman: Bellman,
        /// Size of the instance.
        shape: BoundsShape,
        /// Whether rewards depend on theta.
        auction: bool,
    },
}

/// A Bellman shader with its constants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Bellman {
    /// Which of the three.
    pub variant: Variant,
    /// Vectors of four budgets in a tile.
    pub tile_vectors: u32,
    /// The largest cost.
    pub costs: u32,
    /// Threads in a workgroup.
    pub threads: u32,
}

/// The Bellman shaders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Variant {
    /// `bellman.wgsl`: f32, costs up to 4, gaps in registers, actions sorted by cost.
    Narrow,
    /// `bellman_wide.wgsl`: f32, costs up to 255.
    Wide,
    /// `bellman_f64.wgsl`: f64, costs up to 255.
    F64,
}

/// The sizes that unrolled loops over bounds depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BoundsShape {
    /// Non-null actions.
    pub actions: u32,
    /// Features of a context.
    pub dimension: u32,
    /// Whether a source has its bonus inside the link.
    pub inside: bool,
}

impl BoundsShape {
    fn constants(&self) -> [(&'static str, u32); 3] {
        [
            ("ACTIONS", self.actions),
            ("DIMENSION", self.dimension),
            ("INSIDE", self.inside.into()),
        ]
    }
}

impl Shader {
    /// File stem and entry point.
    pub fn entry_point(&self) -> &'static str {
        match self {
            Self::Bellman(bellman) => bellman.entry_point(),
            Self::Append => "append",
            Self::Plan { .. } => "plan",
            Self::Bounds { .. } => "bounds",
        }
    }

    /// The WGSL text, shared files first, with its constants set.
    pub fn source(&self) -> String {
        match self {
            Self::Bellman(bellman) => bellman.source(),
            Self::Append => wgsl!("append").into(),
            Self::Bounds { shape, contexts } => {
                let text = [wgsl!("ellipsoid"), wgsl!("bounds")].join("\n");
                let text = with_constants(text, &shape.constants());
                with_constants(text, &[("CONTEXTS", *contexts)])
            }
            Self::Plan {
                bellman,
                shape,
                auction,
            } => {
                let shared = [wgsl!("prelude"), wgsl!("fixed_point"), wgsl!("narrow")];
                let text = [&shared[..], &[wgsl!("ellipsoid"), wgsl!("plan")]].concat();
                let text = with_constants(text.join("\n"), &bellman.constants());
                let text = with_constants(text, &shape.constants());
                with_constants(text, &[("AUCTION", u32::from(*auction))])
            }
        }
    }

    /// Threads in a workgroup.
    pub fn threads(&self) -> u32 {
        match self {
            Self::Bellman(bellman) | Self::Plan { bellman, .. } => bellman.threads,
            Self::Append | Self::Bounds { .. } => THREADS,
        }
    }
}

impl Bellman {
    /// The shader for a batch.
    pub fn for_batch(batch: &[Problem], threads: u32, f64: bool) -> Self {
        if f64 {
            return Self {
                variant: Variant::F64,
                tile_vectors: 4,
                costs: COST_LIMIT,
                threads,
            };
        }
        let widest = batch.iter().map(|p| p.budget_max + 1).max().unwrap_or(1);
        let costs = batch.iter().map(cost_max).max().unwrap_or(1);
        let actions = batch.iter().map(|p| p.sample.actions()).max().unwrap_or(1);
        // With several costs a tile of four vectors does as much per budget as one of eight with half the registers.
        let several = (2..=NARROW_COSTS).contains(&costs);
        let most = if several { 4 } else { 8 };
        let vectors = widest.div_ceil(4);
        let (variant, costs) = match costs {
            0..=1 if actions <= NARROW_ACTIONS => (Variant::Narrow, 1),
            2..=NARROW_COSTS if actions <= NARROW_ACTIONS => (Variant::Narrow, NARROW_COSTS),
            _ => (Variant::Wide, COST_LIMIT),
        };
        Self {
            variant,
            tile_vectors: vectors.div_ceil(vectors.div_ceil(most)).max(2),
            costs,
            threads,
        }
    }

    fn entry_point(&self) -> &'static str {
        match self.variant {
            Variant::Narrow => "bellman",
            Variant::Wide => "bellman_wide",
            Variant::F64 => "bellman_f64",
        }
    }

    fn source(&self) -> String {
        let own: &[&str] = match self.variant {
            Variant::Narrow => &[wgsl!("fixed_point"), wgsl!("narrow"), wgsl!("bellman")],
            Variant::Wide => &[wgsl!("fixed_point"), wgsl!("bellman_wide")],
            Variant::F64 => &[wgsl!("bellman_f64")],
        };
        let text = [&[wgsl!("prelude"), wgsl!("tables")], own].concat();
        with_constants(text.join("\n"), &self.constants())
    }

    fn constants(&self) -> [(&'static str, u32); 3] {
        [
            ("TILE_VECTORS", self.tile_vectors),
            ("COSTS", self.costs),
            ("THREADS", self.threads),
        ]
    }

    /// Whether gaps are kept in registers and actions sorted by cost.
    pub fn is_narrow(&self) -> bool {
        self.variant == Variant::Narrow
    }

    /// Whether the shader computes in 64 bits.
    pub fn is_f64(&self) -> bool {
        self.variant == Variant::F64
    }

    /// Budgets in a tile.
    pub fn tile(&self) -> u32 {
        4 * self.tile_vectors
    }

    /// Loop iterations of a thread per context. Loops over a tile count as unrolled.
    pub fn iterations_per_context(&self, actions: u32) -> u64 {
        let by_cost = if self.is_narrow() { 3 * self.costs } else { 0 };
        u64::from(actions + by_cost + 4)
    }

    /// Bytes of a table value or a partial sum.
    pub fn value_bytes(&self) -> usize {
        if self.is_f64() { 8 } else { 4 }
    }

    /// Bytes of a pair's coefficients or of a member.
    pub fn pair_bytes(&self) -> usize {
        2 * self.value_bytes()
    }
}

/// The largest cost of a problem's sample.
pub fn cost_max(problem: &Problem) -> u32 {
    let costs = problem.sample.distinct_costs();
    costs.iter().copied().max().unwrap_or(1)
}

/// Sets the value of each `const NAME = ...;`.
fn with_constants(mut text: String, constants: &[(&str, u32)]) -> String {
    for (name, value) in constants {
        let start = text.find(&format!("const {name} = "));
        let start = start.expect("the shader has the constant");
        let end = start + text[start..].find(';').expect("the constant ends");
        text.replace_range(start..end, &format!("const {name} = {value}u"));
    }
    text
}
