//! The contexts of a log as samples: the law of each group of days, for plans, and the days themselves as rows, for replay.
//! Plans and evaluations take theirs from here.

use std::collections::HashMap;
use std::sync::Arc;

use super::fit::{Fitted, Model, ModelKind};
use super::law::EmpiricalLaw;
use crate::dp::{
    ArrayList, Backend, BackendError, Coefficients, ContextSample, Problem, RowEntry, SampleArrays,
    ValueTable,
};
use crate::task::Task;

/// The distinct contexts of a log, and the laws of its groups of days.
#[derive(Debug)]
pub struct LogLaws<'f> {
    /// The fitted log.
    pub fitted: &'f Fitted,
    /// The task of the planned actions.
    pub task: Arc<Task>,
    /// Numbers of the planned actions in the log, from 1.
    pub actions: Vec<usize>,
    /// The number of each arrival's context.
    context_of: Vec<u32>,
    contexts: usize,
    /// Whether each planned action is supported for each context; empty if all are.
    supported: Vec<bool>,
    groups: Vec<GroupLaw>,
    thinned: Option<usize>,
    /// Distinct costs, increasing.
    costs: Vec<u32>,
}

/// The law of a group of days: for each list of steps that share contexts, these contexts.
#[derive(Debug)]
struct GroupLaw {
    lists: Vec<LawList>,
    list_of_step: Vec<usize>,
}

/// The distinct contexts of steps that share a law.
#[derive(Debug, Default)]
struct LawList {
    /// One arrival for each context.
    contexts: Vec<u32>,
    /// Every arrival: its day and the index of its context.
    arrivals: Vec<(u32, u32)>,
}

/// A sample whose entries are arrivals of the log.
#[derive(Debug)]
pub struct LogSample {
    /// The sample.
    pub sample: ContextSample,
    /// One arrival of the log for each entry.
    pub arrivals: Vec<u32>,
}

impl<'f> LogLaws<'f> {
    /// The laws of a fitted log. Where they have more than `most` decisions (step, budget, context), they use fewer
    /// contexts, evenly spaced.
    pub fn new(fitted: &'f Fitted, task: Arc<Task>, most: Option<usize>) -> Self {
        let log = &fitted.log;
        let alike = fitted.file.model.kind == ModelKind::Rates
            && !task.application().depends_on_context()
            && fitted.limits().is_none();
        let mut places: HashMap<Vec<u64>, u32> = HashMap::new();
        let mut context_of = |i: usize| {
            // If neither acceptance nor reward depends on the context, one represents all.
            let theta = if alike { &[] } else { log.theta(i) };
            let bits = theta.iter().map(|x| (x + 0.0).to_bits()).collect();
            let next = places.len() as u32;
            *places.entry(bits).or_insert(next)
        };
        let context_of: Vec<u32> = (0..log.arrivals().len()).map(&mut context_of).collect();
        let mut laws = Self {
            contexts: places.len(),
            supported: Vec::new(),
            context_of,
            groups: Vec::new(),
            thinned: None,
            costs: task.application().costs(),
            actions: fitted.planned(),
            fitted,
            task,
        };
        laws.supported = laws.support();
        laws.groups = laws.groups_of(1.0);
        let share = laws.decisions() as f64 / most.unwrap_or(usize::MAX) as f64;
        if share > 1.0 {
            laws.groups = laws.groups_of(share);
            let lists = laws.groups.iter().flat_map(|group| &group.lists);
            laws.thinned = Some(lists.map(|list| list.contexts.len()).sum());
        }
        laws
    }

    /// Number of contexts in use, if fewer than the log's.
    pub fn thinned(&self) -> Option<usize> {
        self.thinned
    }

    fn support(&self) -> Vec<bool> {
        if self.fitted.limits().is_none() {
            return Vec::new();
        }
        let actions = self.actions.len();
        let mut supported = vec![false; self.contexts * actions];
        let mut known = vec![false; self.contexts];
        for (i, context) in self.context_of.iter().map(|c| *c as usize).enumerate() {
            if !std::mem::replace(&mut known[context], true) {
                let own = self.fitted.supported(self.fitted.log.theta(i));
                supported[context * actions..(context + 1) * actions].copy_from_slice(&own);
            }
        }
        supported
    }

    /// The laws of all groups, of one in `share` arrivals.
    fn groups_of(&self, share: f64) -> Vec<GroupLaw> {
        let log = &self.fitted.log;
        let mut day_of = vec![0; log.arrivals().len()];
        for (day, episode) in log.episodes().iter().enumerate() {
            day_of[episode.arrivals.clone()].fill(day as u32);
        }
        let mut place = vec![u32::MAX; self.contexts];
        let mut list = |arrivals: &Vec<u32>| {
            let mut list = LawList::default();
            let count = ((arrivals.len() as f64 / share).ceil() as usize).min(arrivals.len());
            for i in (0..count).map(|i| arrivals[i * arrivals.len() / count]) {
                let place = &mut place[self.context_of[i as usize] as usize];
                if *place == u32::MAX {
                    *place = list.contexts.len() as u32;
                    list.contexts.push(i);
                }
                list.arrivals.push((day_of[i as usize], *place));
            }
            let contexts = list.contexts.iter();
            contexts.for_each(|&i| place[self.context_of[i as usize] as usize] = u32::MAX);
            list
        };
        let of_law = |law: &EmpiricalLaw| GroupLaw {
            lists: law.groups.iter().map(&mut list).collect(),
            list_of_step: law.group_of_step[..self.task.horizon()].to_vec(),
        };
        self.fitted.laws.iter().map(of_law).collect()
    }

    /// Decisions (step, budget, context) of all laws.
    fn decisions(&self) -> usize {
        let of_group = |group: &GroupLaw| {
            let lists = group.list_of_step.iter();
            lists.map(|l| group.lists[*l].contexts.len()).sum::<usize>()
        };
        self.groups.iter().map(of_group).sum::<usize>() * self.task.budget_max() as usize
    }

    /// The law of every group, where days have these weights: at every step, the contexts of its list by their share of the
    /// weight, times the rate of arrivals. A group without weight has the law of all days.
    pub fn of_days(&self, weights: &[f64]) -> Vec<LogSample> {
        let groups = &self.fitted.group_of_day;
        let law = |group: usize| {
            let own = |day: usize| f64::from(u8::from(groups[day] == group)) * weights[day];
            let total: f64 = (0..weights.len()).map(own).sum();
            match total > 0.0 {
                true => self.law(group, &own),
                false => self.law(group, &|_| 1.0),
            }
        };
        (0..self.groups.len()).map(law).collect()
    }

    fn law(&self, group: usize, weight: &dyn Fn(usize) -> f64) -> LogSample {
        let GroupLaw {
            lists,
            list_of_step,
        } = &self.groups[group];
        let Fitted { log, exposure, .. } = self.fitted;
        let rates = exposure.rates(log, self.task.horizon(), weight);
        // The used contexts of each list, with their shares.
        let mut arrivals = Vec::new();
        let mut shares: Vec<(usize, Vec<f64>)> = Vec::new();
        for list in lists {
            let mut sums = vec![0.0; list.contexts.len()];
            for &(day, context) in &list.arrivals {
                sums[context as usize] += weight(day as usize);
            }
            let total: f64 = sums.iter().sum();
            let used = list.contexts.iter().zip(sums).filter(|(_, sum)| *sum > 0.0);
            let first = arrivals.len();
            let share = |(arrival, sum): (&u32, f64)| {
                arrivals.push(*arrival);
                sum / total
            };
            shares.push((first, used.map(share).collect()));
        }
        // Steps with the same law share one list.
        let mut lists = Vec::new();
        let mut known = HashMap::new();
        let list_of_step = (0..self.task.horizon()).map(|step| {
            let (first, shares) = &shares[list_of_step[step]];
            let law = (list_of_step[step], rates[step].to_bits());
            *known.entry(law).or_insert_with(|| {
                lists.push(ArrayList {
                    first: *first,
                    weights: shares.iter().map(|share| rates[step] * share).collect(),
                });
                lists.len() - 1
            })
        });
        let list_of_step = list_of_step.collect();
        self.sample(arrivals, lists, list_of_step)
    }

    /// The sample of one day: at each of its steps, one of these arrivals, with certainty.
    pub fn day(&self, arrivals: &[u32]) -> LogSample {
        let certain = |first| ArrayList {
            first,
            weights: vec![1.0],
        };
        let steps = 0..arrivals.len();
        let lists = steps.clone().map(certain).collect();
        self.sample(arrivals.to_vec(), lists, steps.collect())
    }

    /// A sample for replay, and the given lists of arrivals as its rows.
    pub fn rows(&self, days: &[Vec<u32>]) -> (LogSample, Vec<Vec<RowEntry>>) {
        let mut entry_of = vec![u32::MAX; self.contexts];
        let mut arrivals = Vec::new();
        let mut entry = |i: u32| {
            let entry = &mut entry_of[self.context_of[i as usize] as usize];
            if *entry == u32::MAX {
                *entry = arrivals.len() as u32;
                arrivals.push(i);
            }
            let step = self.fitted.log.arrivals()[i as usize].step;
            RowEntry {
                step,
                entry: *entry,
            }
        };
        let row = |day: &Vec<u32>| day.iter().map(|i| entry(*i)).collect();
        let rows = days.iter().map(row).collect();
        let nobody = ArrayList {
            first: 0,
            weights: Vec::new(),
        };
        let steps = vec![0; self.task.horizon()];
        (self.sample(arrivals, vec![nobody], steps), rows)
    }

    fn sample(
        &self,
        arrivals: Vec<u32>,
        lists: Vec<ArrayList>,
        list_of_step: Vec<usize>,
    ) -> LogSample {
        let task = &self.task;
        let pairs = arrivals.len() * task.actions();
        let (mut rewards, mut cost_rows) = (Vec::with_capacity(pairs), Vec::with_capacity(pairs));
        for i in &arrivals {
            let context = self.fitted.log.context(task, *i as usize);
            for a in 1..=task.actions() {
                rewards.push(task.reward(&context, a));
                let cost = task.cost(&context, a);
                cost_rows.push(self.costs.partition_point(|c| *c < cost) as u32);
            }
        }
        let arrays = SampleArrays {
            actions: task.actions(),
            rewards,
            cost_rows,
            distinct_costs: self.costs.clone(),
            lists,
            list_of_step,
        };
        LogSample {
            sample: ContextSample::of_arrays(arrays).expect("the arrays fit each other"),
            arrivals,
        }
    }

    /// rho of the planned actions, by entry, then action.
    pub fn rho(&self, model: &Model, sample: &LogSample) -> Vec<f64> {
        let mut rho = Vec::with_capacity(sample.arrivals.len() * self.actions.len());
        for i in &sample.arrivals {
            let theta = self.fitted.log.theta(*i as usize);
            model.append_rho(theta, &self.actions, &mut rho);
        }
        rho
    }

    /// rho r and rho of every (entry, action) for a plan: an action without support is worse than none.
    pub fn coefficients(&self, sample: &LogSample, mut rho: Vec<f64>) -> Coefficients {
        let actions = self.actions.len();
        let pairs = rho.iter_mut().zip(sample.sample.rewards()).enumerate();
        let gain = pairs.map(|(pair, (rho, reward))| {
            let context = self.context_of[sample.arrivals[pair / actions] as usize] as usize;
            let supported = self.supported.get(context * actions + pair % actions);
            let gain;
            (gain, *rho) = match supported {
                Some(false) => (-self.task.reward_max(), 0.0),
                _ => Coefficients::of(*rho, *rho, *reward),
            };
            gain
        });
        Coefficients {
            gain: gain.collect(),
            lcb: rho,
        }
    }

    /// The Bellman tables of some laws with the point estimates of a model.
    pub fn tables(
        &self,
        laws: &[LogSample],
        model: &Model,
        backend: &mut dyn Backend,
    ) -> Result<Vec<ValueTable>, BackendError> {
        let of_law = |law: &LogSample| self.coefficients(law, self.rho(model, law));
        let coefficients: Vec<Coefficients> = laws.iter().map(of_law).collect();
        let problems = laws.iter().zip(&coefficients);
        let problems: Vec<Problem> = problems
            .map(|(law, coefficients)| Problem {
                sample: &law.sample,
                coefficients,
                budget_max: self.task.budget_max(),
                cap: None,
            })
            .collect();
        backend.solve(&problems)
    }
}
