//! The fluid relaxation of Appendix A.3 for every step and budget left: its value UB_t, and the plan that follows it.

use std::sync::Arc;

use super::cut::Edge;
use super::{Cut, Hull, Mix};
use crate::dp::{BoundSource, Coefficients, ContextSample};
use crate::oracle::{Known, Truth};
use crate::task::{Context, Task};

/// Visits the edges of all entries; `coefficients` must hold rho r and rho of the sample's pairs.
pub(super) fn for_each_edge(
    sample: &ContextSample,
    coefficients: &Coefficients,
    mut visit: impl FnMut(Edge),
) {
    let actions = sample.actions();
    let (costs, mut hull) = (sample.distinct_costs(), Hull::default());
    for entry in 0..sample.len() {
        let pairs = entry * actions..(entry + 1) * actions;
        let bounds = coefficients.lcb[pairs.clone()]
            .iter()
            .zip(&coefficients.gain[pairs]);
        let rows = sample.cost_rows_of(entry).iter();
        hull.set(rows.zip(bounds).map(|(&row, (lcb, gain))| {
            let cost = f64::from(costs[row as usize]);
            (lcb * cost, *gain)
        }));
        let edges = hull.edges();
        edges.for_each(|(slope, cost)| visit(Edge { slope, entry, cost }));
    }
}

/// Edges of all entries, steepest first.
fn sorted_edges(sample: &ContextSample, coefficients: &Coefficients) -> Vec<Edge> {
    let mut edges = Vec::new();
    for_each_edge(sample, coefficients, |edge| edges.push(edge));
    edges.sort_by(Edge::order);
    edges
}

/// Adds the arrivals of a step to those of each entry: weights divided by `total`.
pub(super) fn add_arrivals(sample: &ContextSample, step: usize, total: f64, arrivals: &mut [f64]) {
    for (entry, weight) in sample.step(step).iter() {
        arrivals[entry] += weight / total;
    }
}

/// The value and the cut for budgets 0..=`budget_max`, in one pass over the edges.
fn buy_all(edges: &[Edge], arrivals: &[f64], budget_max: u32) -> Vec<(f64, Cut)> {
    let (mut spent, mut earned) = (0.0, 0.0);
    let mut queue = edges.iter().filter(|e| arrivals[e.entry] > 0.0).peekable();
    let cost_of = |edge: &Edge| arrivals[edge.entry] * edge.cost;
    (0..=budget_max)
        .map(|budget| {
            let budget = f64::from(budget);
            while let Some(edge) = queue.next_if(|edge| spent + cost_of(edge) <= budget) {
                spent += cost_of(edge);
                earned += cost_of(edge) * edge.slope;
            }
            queue.peek().map_or((earned, Cut::EVERYTHING), |edge| {
                let cut = Cut {
                    slope: edge.slope,
                    entry: edge.entry,
                    share: ((budget - spent) / cost_of(edge)).clamp(0.0, 1.0),
                };
                (earned + (budget - spent) * edge.slope, cut)
            })
        })
        .collect()
}

/// UB for budgets 0..=`budget_max`. `coefficients` must hold rho r and rho of the sample's pairs.
pub(crate) fn fluid_bounds(
    sample: &ContextSample,
    coefficients: &Coefficients,
    budget_max: u32,
) -> Vec<f64> {
    let edges = sorted_edges(sample, coefficients);
    let mut arrivals = vec![0.0; sample.len()];
    (0..sample.horizon())
        .for_each(|step| add_arrivals(sample, step, sample.total(), &mut arrivals));
    let all = buy_all(&edges, &arrivals, budget_max);
    all.into_iter().map(|(value, _)| value).collect()
}

/// Solutions of the program over steps h..=H with b units left, for every h and b, with rho and the law known.
#[derive(Debug)]
pub struct FluidPlan {
    task: Arc<Task>,
    truth: Arc<dyn Truth>,
    sample: ContextSample,
    budget_max: u32,
    /// By step, then budget.
    cuts: Vec<Cut>,
}

impl FluidPlan {
    /// `sample` is the context law, or rows drawn from it where it is continuous.
    pub fn new(task: Arc<Task>, truth: Arc<dyn Truth>, sample: ContextSample) -> Self {
        let mut coefficients = Coefficients::default();
        Known::fitted(Arc::clone(&truth)).fill(&sample, &mut coefficients);
        let budget_max = task.budget_max();
        let edges = sorted_edges(&sample, &coefficients);
        let mut arrivals = vec![0.0; sample.len()];
        let horizon = sample.horizon();
        let width = budget_max as usize + 1;
        let mut cuts = vec![Cut::EVERYTHING; horizon * width];
        for (step, row) in cuts.chunks_exact_mut(width).enumerate().rev() {
            add_arrivals(&sample, step, sample.total(), &mut arrivals);
            for (cut, (_, found)) in row.iter_mut().zip(buy_all(&edges, &arrivals, budget_max)) {
                *cut = found;
            }
        }
        Self {
            task,
            truth,
            sample,
            budget_max,
            cuts,
        }
    }

    /// What a context plays in the solution of the program from step `from` (0-based) on with `budget` units.
    pub fn mix(&self, context: &Context, from: usize, budget: u32, hull: &mut Hull) -> Mix {
        let task = &self.task;
        hull.set((1..=task.actions()).map(|a| {
            let rho = self.truth.rho(context, a);
            let (gain, rho) = Coefficients::of(rho, rho, task.reward(context, a));
            (rho * f64::from(task.cost(context, a)), gain)
        }));
        let place = from * (self.budget_max as usize + 1) + budget as usize;
        self.cuts[place].mix(hull, self.sample.find(context))
    }
}
