//! A batch of problems as the flat arrays the shaders read.

use super::cut::{Cut, Place};
use super::fixed_point::FixedPoint;
use super::kernel::cost_max;
use super::limits::Limits;
use super::singles::SingleStore;
use super::structs::{Header32, Header64, Member32, Member64, Step};
use crate::dp::{BackendError, Problem};

/// The smallest lcb the 32-bit shaders see: times the huge gap of an infeasible action it outweighs any gain.
const LCB_FLOOR: f32 = 1e-20;

/// Everything a batch uploads.
#[derive(Debug, Default)]
pub struct Upload {
    /// [`Header32`] or [`Header64`] per problem.
    pub headers: Vec<u8>,
    /// (start, count) of members, per dispatch and problem.
    pub ranges: Vec<[u32; 2]>,
    /// Contexts of the steps, for 32-bit shaders.
    pub members32: Vec<Member32>,
    /// Contexts of the steps, for 64-bit shaders.
    pub members64: Vec<Member64>,
    /// (gain, lcb) per pair, for 32-bit shaders.
    pub coefficients32: Vec<[f32; 2]>,
    /// (gain, lcb) per pair, for 64-bit shaders.
    pub coefficients64: Vec<[f64; 2]>,
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
    /// Byte offset of the bound part of the members.
    pub member_offset: u32,
    /// Byte offset of the bound part of the coefficients.
    pub coefficient_offset: u32,
    /// Byte offset of the bound part of the costs.
    pub cost_offset: u32,
    /// Candidates, the unit of work.
    pub candidates: u64,
    /// Whether it goes over single contexts.
    pub singles: bool,
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
        upload.push_dispatches(problems, cut, &blocks);
        Ok(upload)
    }

    /// The members as bytes.
    pub fn members(&self) -> &[u8] {
        if self.members64.is_empty() {
            bytemuck::cast_slice(&self.members32)
        } else {
            bytemuck::cast_slice(&self.members64)
        }
    }

    /// The coefficients as bytes.
    pub fn coefficients(&self) -> &[u8] {
        if self.coefficients64.is_empty() {
            bytemuck::cast_slice(&self.coefficients32)
        } else {
            bytemuck::cast_slice(&self.coefficients64)
        }
    }

    /// Lays out only what changes from plan to plan, for problems whose contexts are on the adapter: headers, and
    /// dispatches over the given members, (first, count) by [problem][step], where there are shared contexts, and over the
    /// windows of single ones, so many pieces each.
    pub fn of_resident(
        problems: &[Problem],
        cut: &mut Cut,
        members: Option<&[Vec<[u32; 2]>]>,
        singles: Option<(&SingleStore, u32)>,
        limits: &Limits,
    ) -> Result<Self, BackendError> {
        let mut upload = Self::default();
        let longest = problems.iter().map(|p| p.sample.horizon()).max();
        let longest = longest.unwrap_or(0);
        let (mut pieces_before, mut most) = (0, 1);
        for remaining in 1..=longest + 1 {
            let mut parts = Vec::new();
            if let Some(members) = members {
                let range = |(problem, members): (&Problem, &Vec<[u32; 2]>)| {
                    let step = problem.sample.horizon().checked_sub(remaining);
                    step.map_or([0, 0], |h| members[h])
                };
                let ranges: Vec<[u32; 2]> = problems.iter().zip(members).map(range).collect();
                parts.push((false, cut.pieces, 0, ranges));
            }
            if let Some((store, pieces)) = singles {
                for window in store.windows(remaining, limits) {
                    parts.push((true, pieces, store.offset(&window), window.ranges));
                }
            }
            // The last one only folds.
            parts.truncate(if remaining > longest { 1 } else { parts.len() });
            let mut first_piece = 0;
            for (singles, pieces, member_offset, ranges) in parts {
                let work = |(problem, range): (&Problem, &[u32; 2])| {
                    let per_context = problem.sample.actions() as u64;
                    u64::from(range[1]) * per_context * u64::from(problem.budget_max + 1)
                };
                upload.dispatches.push(Dispatch {
                    step: Step {
                        remaining: remaining as u32,
                        pieces,
                        first_piece,
                        pieces_before,
                        first_range: upload.ranges.len() as u32,
                    },
                    member_offset,
                    coefficient_offset: 0,
                    cost_offset: 0,
                    candidates: problems.iter().zip(&ranges).map(work).sum(),
                    singles,
                });
                upload.ranges.extend(ranges);
                first_piece += pieces;
            }
            pieces_before = first_piece;
            most = most.max(first_piece);
        }
        cut.reserve_pieces(u64::from(most), limits)?;
        for (problem, place) in problems.iter().zip(&cut.places) {
            upload.push_header(problem, cut, place);
        }
        Ok(upload)
    }

    fn push_header(&mut self, problem: &Problem, cut: &Cut, place: &Place) {
        let actions = problem.sample.actions() as u32;
        let width = problem.budget_max + 1;
        let horizon = problem.sample.horizon() as u32;
        let cost_max = cost_max(problem);
        if cut.kernel.is_f64() {
            self.headers
                .extend_from_slice(bytemuck::bytes_of(&Header64 {
                    actions,
                    width,
                    horizon,
                    first_pair: place.first_pair,
                    first_cost: place.first_cost,
                    first_value: place.first_value,
                    first_sum: place.first_sum,
                    sum_stride: cut.sum_stride,
                    total: problem.sample.total(),
                    cap: problem.cap.unwrap_or(-1.0),
                    half: cut.half,
                    cost_max,
                }));
        } else {
            let fixed = FixedPoint::of(problem);
            self.headers
                .extend_from_slice(bytemuck::bytes_of(&Header32 {
                    actions,
                    width,
                    horizon,
                    first_pair: place.first_pair,
                    first_cost: place.first_cost,
                    first_value: place.first_value,
                    first_sum: place.first_sum,
                    sum_stride: cut.sum_stride,
                    unit: fixed.unit as f32,
                    value_of_unit: (1.0 / (fixed.unit * fixed.total)) as f32,
                    cap: problem.cap.map_or(0, |r_max| fixed.cap(r_max)),
                    half: cut.half,
                    cost_max,
                }));
        }
    }

    /// Counts of actions by cost for the narrow shader, costs for the others.
    fn push_costs(&mut self, problem: &Problem, cut: &Cut) {
        let sample = problem.sample;
        let costs = sample.distinct_costs();
        if !cut.kernel.is_narrow() {
            let rows = (0..sample.len()).flat_map(|entry| sample.cost_rows_of(entry));
            self.costs.extend(rows.map(|&row| costs[row as usize]));
            return;
        }
        // Byte c of the word counts costs up to c + 1: a cost adds one to its byte and to all above.
        let marks: Vec<u32> = costs.iter().map(|c| 0x0101_0101 << (8 * (c - 1))).collect();
        let rows = (0..sample.len()).map(|entry| sample.cost_rows_of(entry));
        self.costs
            .extend(rows.map(|rows| rows.iter().map(|&row| marks[row as usize]).sum::<u32>()));
    }

    /// Coefficients of every pair; for the narrow shader the actions of an entry are sorted by cost.
    fn push_coefficients(&mut self, problem: &Problem, cut: &Cut) -> Result<(), BackendError> {
        let (gain, lcb) = (&problem.coefficients.gain, &problem.coefficients.lcb);
        if cut.kernel.is_f64() {
            self.coefficients64
                .extend(gain.iter().zip(lcb).map(|(&gain, &lcb)| [gain, lcb]));
            return Ok(());
        }
        let fixed = FixedPoint::of(problem);
        fixed.check(gain)?;
        let scale = fixed.scale();
        let pair =
            |(gain, lcb): (&f64, &f64)| [(gain * scale) as f32, (*lcb as f32).max(LCB_FLOOR)];
        let first = self.coefficients32.len();
        self.coefficients32.extend(gain.iter().zip(lcb).map(pair));
        if cut.kernel.is_narrow() {
            self.sort_by_cost(problem, first);
        }
        Ok(())
    }

    /// Sorts the actions of each entry by cost, where they are not sorted already.
    fn sort_by_cost(&mut self, problem: &Problem, first: usize) {
        let actions = problem.sample.actions();
        let costs = problem.sample.distinct_costs();
        let cost = |row: &u32| costs[*row as usize];
        let mut order: Vec<usize> = Vec::new();
        let entries = self.coefficients32[first..].chunks_exact_mut(actions);
        for (entry, pairs) in entries.enumerate() {
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

    /// The members of every list and window of a problem, each written once; returns (first member, count) by
    /// [step][window].
    fn push_members(&mut self, problem: &Problem, cut: &Cut) -> Vec<Vec<[u32; 2]>> {
        let sample = problem.sample;
        let mut written: Vec<Option<Vec<[u32; 2]>>> = vec![None; sample.lists()];
        let mut by_step = Vec::with_capacity(sample.horizon());
        for h in 0..sample.horizon() {
            let list = sample.list_of_step(h);
            if let Some(block) = &written[list] {
                by_step.push(block.clone());
                continue;
            }
            let mut block = Vec::with_capacity(cut.windows());
            for window in 0..cut.windows() {
                // Windows start where a binding may.
                while cut.moving && !self.members().len().is_multiple_of(256) {
                    self.push_member(0, 0.0, cut);
                }
                let start = self.members().len() / cut.kernel.member_bytes();
                let mut count = 0;
                let entries = cut.window_entries(window);
                for (entry, weight) in sample.list(list).iter() {
                    if entries.contains(&entry) {
                        self.push_member((entry - entries.start) as u32, weight, cut);
                        count += 1;
                    }
                }
                block.push([start as u32, count]);
            }
            written[list] = Some(block.clone());
            by_step.push(block);
        }
        by_step
    }

    fn push_member(&mut self, entry: u32, weight: f64, cut: &Cut) {
        if cut.kernel.is_f64() {
            self.members64.push(Member64 {
                weight,
                entry,
                padding: 0,
            });
        } else {
            self.members32.push(Member32 {
                entry,
                weight: weight as f32,
            });
        }
    }

    /// One dispatch per step (and window), from the last step of the episode to the first, and one more that folds the
    /// last sums. Shorter problems of the batch sit out the dispatches beyond their horizon.
    fn push_dispatches(&mut self, problems: &[Problem], cut: &Cut, blocks: &[Vec<Vec<[u32; 2]>>]) {
        let longest = problems
            .iter()
            .map(|p| p.sample.horizon())
            .max()
            .unwrap_or(0);
        for remaining in 1..=longest + 1 {
            let windows = if remaining > longest {
                1
            } else {
                cut.windows()
            };
            for window in 0..windows {
                let first_range = self.ranges.len() as u32;
                let mut dispatch = Dispatch {
                    step: Step {
                        remaining: remaining as u32,
                        pieces: cut.pieces,
                        first_piece: window as u32 * cut.pieces,
                        pieces_before: cut.windows() as u32 * cut.pieces,
                        first_range,
                    },
                    member_offset: 0,
                    coefficient_offset: cut.window_pair_offset(window),
                    cost_offset: cut.window_cost_offset(window),
                    candidates: 0,
                    singles: false,
                };
                for (problem, block) in problems.iter().zip(blocks) {
                    let horizon = problem.sample.horizon();
                    let mut range = match horizon.checked_sub(remaining) {
                        Some(h) => block[h][window],
                        None => [0, 0],
                    };
                    dispatch.candidates += u64::from(range[1])
                        * problem.sample.actions() as u64
                        * u64::from(problem.budget_max + 1);
                    if cut.moving {
                        dispatch.member_offset = range[0] * cut.kernel.member_bytes() as u32;
                        range[0] = 0;
                    }
                    self.ranges.push(range);
                }
                self.dispatches.push(dispatch);
            }
        }
    }
}
