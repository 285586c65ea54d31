//! `study.toml` of a task folder: the world that a log looks like, to be run with `simulate` and `solve`.

use toml::{Table, Value};

use crate::history::fit::{Fitted, Model, ModelKind, phi_weights};
use crate::history::{Offers, TaskFile};

const HEAD: &str = "# The world that log.csv looks like: its contexts by step, how often nobody came, and the fitted acceptance.\n# Everything in it is an estimate; `cbwk-gpu evaluate` says how far it carries.\n";

const LEARNER: &str = "# The learner starts without data. With `initial_log = \"log.csv\"` it starts from the log (all its actions must be above).\n# norm_bound is twice the norm fitted to the log: with a bound taken from data the learner's guarantee is practical, not\n# formal.\n";

/// The text of the study.
pub fn study_text(task: &TaskFile, fitted: &Fitted) -> String {
    let planned = fitted.planned();
    let offers = task.application.only(&planned);
    let left_out = fitted
        .file
        .actions
        .iter()
        .filter(|a| !fitted.file.planned.contains(&a.value));
    let left_out: Vec<String> = left_out.map(|a| a.value.to_string()).collect();
    let mut text = HEAD.to_string();
    if !left_out.is_empty() {
        let noun = offers.noun();
        text += &format!(
            "# Left out, because offered too seldom: {noun} {}.\n",
            left_out.join(", ")
        );
    }
    let study = table([
        ("episodes", Value::Integer(200)),
        ("horizon", whole(fitted.task.horizon())),
        ("replications", Value::Integer(20)),
    ]);
    for (name, part) in [
        ("study", study),
        ("budget", budget(fitted)),
        ("application", application(&offers)),
        ("contexts", contexts(task, fitted)),
        ("conversion", conversion(task, fitted, &planned)),
    ] {
        text += &format!("\n{}", section(name, part));
    }
    text += &format!("\n{LEARNER}");
    for policy in policies(fitted, &offers) {
        let list = Value::Array(vec![Value::Table(policy)]);
        text += &toml::to_string(&table([("policies", list)])).expect("tables can be written");
        text += "\n";
    }
    text
}

fn table<const N: usize>(entries: [(&str, Value); N]) -> Table {
    entries
        .into_iter()
        .map(|(key, value)| (key.to_string(), value))
        .collect()
}

fn section(name: &str, part: Table) -> String {
    toml::to_string(&table([(name, Value::Table(part))])).expect("tables can be written")
}

fn whole(x: usize) -> Value {
    Value::Integer(i64::try_from(x).unwrap_or(i64::MAX))
}

fn text(word: &str) -> Value {
    Value::String(word.into())
}

/// The starting budgets of the log, in its order.
fn budget(fitted: &Fitted) -> Table {
    let largest = fitted.task.budget_max();
    let episodes = fitted.log.episodes().iter();
    let budgets: Vec<u32> = episodes
        .map(|e| e.budget.unwrap_or(largest).min(largest))
        .collect();
    match budgets.iter().all(|b| *b == budgets[0]) {
        true => table([
            ("kind", text("constant")),
            ("value", Value::Integer(budgets[0].into())),
        ]),
        false => table([("kind", text("cycle")), ("values", budgets.into())]),
    }
}

fn application(offers: &Offers) -> Table {
    match offers {
        Offers::Pricing { prices } => {
            table([("kind", text("pricing")), ("prices", prices.clone().into())])
        }
        Offers::Procurement { wages } => table([
            ("kind", text("procurement")),
            ("wages", wages.clone().into()),
        ]),
        Offers::Auction { bids } => {
            table([("kind", text("auction")), ("bids", bids.clone().into())])
        }
    }
}

fn contexts(task: &TaskFile, fitted: &Fitted) -> Table {
    let nobody: Vec<f64> = fitted
        .file
        .steps
        .iter()
        .map(|step| 1.0 - step.rate)
        .collect();
    table([
        ("kind", text("log")),
        ("path", text(super::LOG_FILE)),
        (
            "pooled_below",
            Value::Integer(i64::try_from(fitted.file.pooled_below).unwrap_or(i64::MAX)),
        ),
        ("features", task.encoding.names().into()),
        ("no_arrival", nobody.into()),
    ])
}

fn conversion(task: &TaskFile, fitted: &Fitted, planned: &[usize]) -> Table {
    let d = fitted.data.dimension;
    match &fitted.fit.model {
        Model::Rates(rates) => {
            let rates: Vec<f64> = planned.iter().map(|a| rates[a - 1]).collect();
            table([("kind", text("armed")), ("probabilities", rates.into())])
        }
        Model::Logistic { .. }
            if fitted.file.model.kind == ModelKind::Logistic && task.encoding.constant =>
        {
            let weights = phi_weights(&fitted.fit.coefficients, task);
            table([("kind", text("logistic")), ("weights", weights.into())])
        }
        Model::Logistic { intercepts, slopes } => {
            let intercepts: Vec<f64> = planned.iter().map(|a| intercepts[a - 1]).collect();
            let rows: Vec<Vec<f64>> = planned
                .iter()
                .map(|a| slopes[(a - 1) * d..a * d].to_vec())
                .collect();
            table([
                ("kind", text("logistic-by-action")),
                ("intercepts", intercepts.into()),
                ("weights", rows.into()),
            ])
        }
        Model::Kernel(expansion) => {
            let scale = &task.action;
            // phi of a study has the action's own value, and the constant: lengths make up for both.
            let center = |center: &Vec<f64>| {
                let (s, x) = center.split_last().expect("a point has the action");
                let constant = vec![1.0; expansion.first];
                [&constant[..], x, &[s * scale.deviation + scale.mean]].concat()
            };
            let mut lengths = vec![expansion.length; d];
            lengths.push(expansion.length * scale.deviation);
            let kernel = table([
                ("kind", text("squared-exponential")),
                ("length", lengths.into()),
            ]);
            table([
                ("kind", text("rkhs")),
                (
                    "centers",
                    expansion
                        .centers
                        .iter()
                        .map(center)
                        .collect::<Vec<_>>()
                        .into(),
                ),
                ("weights", expansion.weights.clone().into()),
                ("kernel", Value::Table(kernel)),
            ])
        }
    }
}

/// A learner, the optimum of this world, and the offer that was made most often.
fn policies(fitted: &Fitted, offers: &Offers) -> Vec<Table> {
    let oracle = match fitted.file.model.kind {
        ModelKind::Rates => table([("kind", text("armed")), ("bounds", text("beta-binomial"))]),
        _ => table([
            ("kind", text("logistic")),
            ("bounds", text("mixture")),
            ("norm_bound", Value::Float(fitted.file.norm_bound)),
        ]),
    };
    let values = offers.spec().action_values();
    let planned = fitted
        .file
        .actions
        .iter()
        .filter(|a| values.contains(&a.value));
    let usual = planned
        .max_by_key(|a| a.offers)
        .map_or(values[0], |a| a.value);
    vec![
        table([
            ("kind", text("tight-opt-dp")),
            ("oracle", Value::Table(oracle)),
        ]),
        table([("kind", text("clairvoyant"))]),
        table([
            ("kind", text("fixed")),
            ("name", text(&format!("always {usual}"))),
            ("value", Value::Float(usual)),
        ]),
    ]
}

/// Makes sure that a logistic study says what the model says.
#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::fit::{Fitter, OfferData};

    #[test]
    fn weights_of_phi_are_those_of_the_scaled_columns() {
        use crate::history::{ActionScale, Columns, Encoding, Sizes};
        let task = TaskFile {
            task: Sizes {
                horizon: 1,
                budget: 1,
            },
            application: Offers::Pricing {
                prices: vec![2.0, 5.0],
            },
            columns: Columns::default(),
            clock: None,
            action: ActionScale {
                mean: 3.0,
                deviation: 2.0,
            },
            encoding: Encoding {
                constant: true,
                columns: vec![],
            },
        };
        let data = OfferData {
            dimension: 1,
            has_constant: true,
            thetas: vec![1.0],
            actions: vec![1],
            labels: vec![1.0],
            episodes: vec![0],
            steps: vec![0],
            arrivals: vec![0],
            scaled: vec![-0.5, 1.0],
            episode_count: 1,
        };
        let model = Fitter::new(ModelKind::Logistic, &data).logistic(&[0.7, -0.4]);
        let weights = phi_weights(&[0.7, -0.4], &task);
        for (action, price) in [(1, 2.0), (2, 5.0)] {
            let eta = weights[0] + weights[1] * price;
            let rho = 1.0 / (1.0 + f64::exp(-eta));
            assert!((model.rho(&[1.0], action) - rho).abs() < 1e-15);
        }
    }
}
