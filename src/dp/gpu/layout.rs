//! A batch of problems as the flat arrays that the shaders read.

use bytemuck::bytes_of;

use super::cut::{Cut, Place};
use super::fixed_point::FixedPoint;
use super::limits::Limits;
use super::shader::cost_max;
use super::singles::SingleStore;
use super::structs::{Header, Member32, Member64, Scale32, Scale64, Step};
use crate::dp::{BackendError, Problem};

/// The smallest lcb of the 32-bit shaders: times the huge gap of an infeasible action it outweighs any gain.
const LCB_FLOOR: f32 = 1e-20;

/// (first, count) of contexts.
pub type Range = [u32; 2];

/// Everything that a batch uploads.
#[derive(Debug, Default)]
pub struct Upload {
    /// [`Header`] and [`Scale32`] or [`Scale64`] per problem.
    pub headers: Vec<u8>,
    /// Members per dispatch and problem.
    pub ranges: Vec<Range>,
    /// [`Member32`] or [`Member64`]: the contexts of the steps.
    pub members: Vec<u8>,
    /// (gain, lcb) per pair, in 32 or 64 bits.
    pub coefficients: Vec<u8>,
    /// A word of cost counts per entry (narrow shader) or a cost per pair.
    pub costs: Vec<u32>,
    /// The dispatches, in order.
    pub dispatches: Vec<Dispatch>,
}

/// One dispatch and the windows of the buffers it sees.
#[derive(Debug, Clone, Copy)]
pub struct Dispatch {
    /// Uniform parameters.
    pub step: Step,
    /// Byte offsets of the windows of members, coefficients and costs.
    pub offsets: [u32; 3],
    /// Candidates, the unit of work.
    pub candidates: u64,
    /// Whether it is over single contexts.
    pub singles: bool,
}

/// A dispatch before its step is known.
struct Pass {
    singles: bool,
    pieces: u32,
    offsets: [u32; 3],
    ranges: Vec<Range>,
}

impl Upload {
    /// Lays out a group of problems by a cut made for them.
    pub fn new(problems: &[Problem], cut: &Cut) -> Result<Self, BackendError> {
        let mut upload = Self::default();
        let mut blocks = Vec::with_capacity(problems.len());
        for (problem, place) in problems.iter().zip(&cut.places) {
            upload.push_header(problem, cut, place);
            upload.push_costs(problem, cut);
            upload.push_coefficients(problem, cut)?;
            blocks.push(upload.push_members(problem, cut));
        }
        upload.push_dispatches(problems, |remaining| {
            let pass = |window| {
                let mut ranges = ranges_of(problems, remaining, |i, h| blocks[i][h][window]);
                let first_member = match cut.moving {
                    true => std::mem::take(&mut ranges[0][0]),
                    false => 0,
                };
                let [pair_offset, cost_offset] = cut.window_offsets(window);
                let member_offset = first_member * cut.bellman.pair_bytes() as u32;
                Pass {
                    singles: false,
                    pieces: cut.pieces,
                    offsets: [member_offset, pair_offset, cost_offset],
                    ranges,
                }
            };
            (0..cut.windows()).map(pass).collect()
        });
        Ok(upload)
    }

    /// Lays out only what changes from plan to plan, for problems whose contexts are on the adapter: headers, and
    /// dispatches over `members` by [problem][step] (the shared contexts) and over the windows of single contexts, with
    /// the given number of pieces each.
    pub fn of_resident(
        problems: &[Problem],
        cut: &mut Cut,
        members: Option<&[Vec<Range>]>,
        singles: Option<(&SingleStore, u32)>,
        limits: &Limits,
    ) -> Result<Self, BackendError> {
        let mut upload = Self::default();
        let most_pieces = upload.push_dispatches(problems, |remaining| {
            let shared = members.map(|members| Pass {
                singles: false,
                pieces: cut.pieces,
                offsets: [0; 3],
                ranges: ranges_of(problems, remaining, |i, h| members[i][h]),
            });
            let singles = singles.into_iter().flat_map(|(store, pieces)| {
                let windows = store.windows(remaining, limits).into_iter();
                windows.map(move |window| Pass {
                    singles: true,
                    pieces,
                    offsets: [store.offset(&window), 0, 0],
                    ranges: window.ranges,
                })
            });
            shared.into_iter().chain(singles).collect()
        });
        cut.reserve_pieces(u64::from(most_pieces), limits)?;
        for (problem, place) in problems.iter().zip(&cut.places) {
            upload.push_header(problem, cut, place);
        }
        Ok(upload)
    }

    fn push_header(&mut self, problem: &Problem, cut: &Cut, place: &Place) {
        let header = Header {
            actions: problem.sample.actions() as u32,
            width: problem.budget_max + 1,
            horizon: problem.sample.horizon() as u32,
            first_pair: place.first_pair,
            first_cost: place.first_cost,
            first_value: place.first_value,
            first_sum: place.first_sum,
            sum_stride: cut.sum_stride,
            half: cut.half,
            cost_max: cost_max(problem),
        };
        self.headers.extend_from_slice(bytes_of(&header));
        if cut.bellman.is_f64() {
            self.headers.extend_from_slice(bytes_of(&Scale64 {
                total: problem.sample.total(),
                cap: problem.cap.unwrap_or(-1.0),
            }));
        } else {
            let fixed = FixedPoint::of(problem);
            self.headers.extend_from_slice(bytes_of(&Scale32 {
                unit: fixed.unit as f32,
                value_of_unit: (1.0 / (fixed.unit * fixed.total)) as f32,
                cap: problem.cap.map_or(0, |r_max| fixed.cap(r_max)),
            }));
        }
    }

    /// Counts of actions by cost for the narrow shader, costs for the others.
    fn push_costs(&mut self, problem: &Problem, cut: &Cut) {
        let sample = problem.sample;
        let costs = sample.distinct_costs();
        let rows = (0..sample.len()).map(|entry| sample.cost_rows_of(entry));
        if !cut.bellman.is_narrow() {
            let costs = rows.flatten().map(|&row| costs[row as usize]);
            self.costs.extend(costs);
            return;
        }
        let marks: Vec<u32> = costs.iter().map(|cost| cost_mark(*cost)).collect();
        let counts = rows.map(|rows| rows.iter().map(|&row| marks[row as usize]).sum::<u32>());
        self.costs.extend(counts);
    }

    /// Coefficients of every pair; for the narrow shader the actions of an entry are sorted by cost.
    fn push_coefficients(&mut self, problem: &Problem, cut: &Cut) -> Result<(), BackendError> {
        let (gain, lcb) = (&problem.coefficients.gain, &problem.coefficients.lcb);
        let pairs = gain.iter().zip(lcb);
        if cut.bellman.is_f64() {
            let pairs: Vec<[f64; 2]> = pairs.map(|(&gain, &lcb)| [gain, lcb]).collect();
            self.coefficients
                .extend_from_slice(bytemuck::cast_slice(&pairs));
            return Ok(());
        }
        let fixed = FixedPoint::of(problem);
        fixed.check(gain)?;
        let scale = fixed.scale();
        let pairs = pairs.map(|(g, lcb)| [(g * scale) as f32, (*lcb as f32).max(LCB_FLOOR)]);
        let mut pairs: Vec<[f32; 2]> = pairs.collect();
        if cut.bellman.is_narrow() {
            sort_by_cost(problem, &mut pairs);
        }
        self.coefficients
            .extend_from_slice(bytemuck::cast_slice(&pairs));
        Ok(())
    }

    /// The members of every list and window of a problem, each written once; returns their ranges by [step][window].
    fn push_members(&mut self, problem: &Problem, cut: &Cut) -> Vec<Vec<Range>> {
        let sample = problem.sample;
        let mut written: Vec<Option<Vec<Range>>> = vec![None; sample.lists()];
        let by_step = (0..sample.horizon()).map(|h| {
            let list = sample.list_of_step(h);
            let block = written[list].get_or_insert_with(|| {
                let windows = 0..cut.windows();
                let write = |window| self.push_window(problem, list, window, cut);
                windows.map(write).collect()
            });
            block.clone()
        });
        by_step.collect()
    }

    fn push_window(&mut self, problem: &Problem, list: usize, window: usize, cut: &Cut) -> Range {
        // Windows start where a binding may.
        while cut.moving && !self.members.len().is_multiple_of(256) {
            self.push_member(0, 0.0, cut);
        }
        let start = self.members.len() / cut.bellman.pair_bytes();
        let mut count = 0;
        let entries = cut.window_entries(window);
        for (entry, weight) in problem.sample.list(list).iter() {
            if entries.contains(&entry) {
                self.push_member((entry - entries.start) as u32, weight, cut);
                count += 1;
            }
        }
        [start as u32, count]
    }

    fn push_member(&mut self, entry: u32, weight: f64, cut: &Cut) {
        if cut.bellman.is_f64() {
            self.members.extend_from_slice(bytes_of(&Member64 {
                weight,
                entry,
                padding: 0,
            }));
        } else {
            let weight = weight as f32;
            self.members
                .extend_from_slice(bytes_of(&Member32 { weight, entry }));
        }
    }

    /// Adds the dispatches of every step, from the last step of the episode to the first, and one more that folds the
    /// last sums. `passes` gives those of a step from its number of steps to go. Shorter problems have no contexts beyond
    /// their horizon. Returns the largest number of pieces of a step.
    fn push_dispatches(
        &mut self,
        problems: &[Problem],
        passes: impl Fn(usize) -> Vec<Pass>,
    ) -> u32 {
        let longest = problems.iter().map(|p| p.sample.horizon()).max();
        let longest = longest.unwrap_or(0);
        let (mut pieces_before, mut most_pieces) = (0, 1);
        for remaining in 1..=longest + 1 {
            let mut passes = passes(remaining);
            if remaining > longest {
                passes.truncate(1);
            }
            let mut first_piece = 0;
            for pass in passes {
                let work = |(problem, range): (&Problem, &Range)| {
                    let per_context = problem.sample.actions() as u64;
                    u64::from(range[1]) * per_context * u64::from(problem.budget_max + 1)
                };
                self.dispatches.push(Dispatch {
                    step: Step {
                        remaining: remaining as u32,
                        pieces: pass.pieces,
                        first_piece,
                        pieces_before,
                        first_range: self.ranges.len() as u32,
                    },
                    offsets: pass.offsets,
                    candidates: problems.iter().zip(&pass.ranges).map(work).sum(),
                    singles: pass.singles,
                });
                self.ranges.extend(pass.ranges);
                first_piece += pass.pieces;
            }
            pieces_before = first_piece;
            most_pieces = most_pieces.max(first_piece);
        }
        most_pieces
    }
}

/// The ranges of all problems with so many steps to go, from those by (problem, step).
fn ranges_of(
    problems: &[Problem],
    remaining: usize,
    range: impl Fn(usize, usize) -> Range,
) -> Vec<Range> {
    let of_problem = |(i, problem): (usize, &Problem)| {
        let step = problem.sample.horizon().checked_sub(remaining);
        step.map_or([0, 0], |h| range(i, h))
    };
    problems.iter().enumerate().map(of_problem).collect()
}

/// What an action of this cost adds to the word of cost counts, whose byte c counts costs up to c + 1.
pub fn cost_mark(cost: u32) -> u32 {
    0x0101_0101 << (8 * (cost - 1))
}

/// Sorts the actions of each entry by cost, unless they are sorted already.
fn sort_by_cost(problem: &Problem, pairs: &mut [[f32; 2]]) {
    let actions = problem.sample.actions();
    let costs = problem.sample.distinct_costs();
    let cost = |row: &u32| costs[*row as usize];
    let mut order: Vec<usize> = Vec::new();
    for (entry, pairs) in pairs.chunks_exact_mut(actions).enumerate() {
        let rows = problem.sample.cost_rows_of(entry);
        if rows.is_sorted_by_key(cost) {
            continue;
        }
        order.clear();
        order.extend(0..actions);
        order.sort_by_key(|&a| cost(&rows[a]));
        let sorted: Vec<[f32; 2]> = order.iter().map(|&a| pairs[a]).collect();
        pairs.copy_from_slice(&sorted);
    }
}
