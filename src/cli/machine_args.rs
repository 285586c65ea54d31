//! Options for backend, precision and output, shared by several commands.

use clap::{Args, ValueEnum};

use super::args::TableFormat;

/// How to compute and print.
#[derive(Debug, Args)]
pub struct MachineArgs {
    /// Where Optimistic-DP runs.
    #[arg(long, value_enum, default_value_t = BackendChoice::Auto)]
    pub backend: BackendChoice,
    /// Graphics adapter, by its number in `cbwk-gpu devices` or a part of its name.
    #[arg(long, value_name = "NAME-OR-INDEX")]
    pub adapter: Option<String>,
    /// Precision of Optimistic-DP. Default: f64 on the CPU, f32 on a GPU; the value table is 64-bit on the CPU either way.
    #[arg(long, value_enum)]
    pub precision: Option<Precision>,
    /// How the CPU solves Optimistic-DP; all strategies give the same values to rounding.
    #[arg(long, value_enum, default_value_t = StrategyChoice::Auto)]
    pub strategy: StrategyChoice,
    /// Worker threads. Default: one per core.
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// No progress bar and no notes.
    #[arg(long)]
    pub quiet: bool,
    /// What standard output gets.
    #[arg(long, value_enum, default_value_t = TableFormat::Table)]
    pub format: TableFormat,
}

/// Where Optimistic-DP runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BackendChoice {
    /// A hardware GPU if there is one and it is faster, else the CPU.
    Auto,
    /// The CPU.
    Cpu,
    /// The best graphics adapter, software ones included.
    Gpu,
}

/// Floating-point precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Precision {
    /// 32 bits.
    F32,
    /// 64 bits.
    F64,
}

/// How the CPU solves Optimistic-DP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StrategyChoice {
    /// For each problem the one that is likely the fastest.
    Auto,
    /// Every (step, budget, context, action): the reference.
    Dense,
    /// Auctions whose bounds do not depend on the context.
    AuctionEnvelope,
    /// Actions that all cost 1, contexts that serve several steps (`solve` without rows).
    SharedEnvelope,
}
