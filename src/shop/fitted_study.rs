//! `study.toml` of a task folder: a world fitted to the log, for `simulate` and `solve`.

use serde_json::{Value, json};
use toml::Table;

use crate::history::fit::{Fitted, Model, ModelKind, phi_weights};
use crate::history::{Offers, TaskFile};

const HEAD: &str = "# The world that log.csv looks like: its contexts by step, how often nobody came, and the fitted acceptance.\n# Everything in it is an estimate; `cbwk-gpu evaluate` says how far it carries.\n";

const LEARNER: &str = "# The learner starts without data. With `initial_log = \"log.csv\"` it starts from the log (all its actions must be above).\n# norm_bound is twice the norm fitted to the log: with a bound taken from data the learner's guarantee is practical, not\n# formal.\n";

/// The text of the study.
pub(super) fn study_text(task: &TaskFile, fitted: &Fitted) -> String {
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
    let study = json!({ "episodes": 200, "horizon": fitted.task.horizon(), "replications": 20 });
    for section in [
        json!({ "study": study }),
        json!({ "budget": budget(fitted) }),
        json!({ "application": application(task, &offers) }),
        json!({ "contexts": contexts(task, fitted) }),
        json!({ "conversion": conversion(task, fitted, &planned) }),
    ] {
        text += &format!("\n{}", toml_text(section));
    }
    text += &format!("\n{LEARNER}");
    for policy in policies(fitted, &offers) {
        text += &toml_text(json!({ "policies": [policy] }));
        text += "\n";
    }
    text
}

fn toml_text(value: Value) -> String {
    let table = Table::try_from(value).expect("finite numbers, texts and lists");
    toml::to_string(&table).expect("tables can be written")
}

/// The starting budgets of the log, in its order.
fn budget(fitted: &Fitted) -> Value {
    let largest = fitted.task.budget_max();
    let episodes = fitted.log.episodes().iter();
    let budgets: Vec<u32> = episodes
        .map(|e| e.budget.unwrap_or(largest).min(largest))
        .collect();
    match budgets.iter().all(|b| *b == budgets[0]) {
        true => json!({ "kind": "constant", "value": budgets[0] }),
        false => json!({ "kind": "cycle", "values": budgets }),
    }
}

fn application(task: &TaskFile, offers: &Offers) -> Value {
    let mut application = match offers {
        Offers::Pricing { prices } => json!({ "kind": "pricing", "prices": prices }),
        Offers::Procurement { wages } => json!({ "kind": "procurement", "wages": wages }),
        Offers::Auction { bids } => json!({ "kind": "auction", "bids": bids }),
    };
    for (key, column) in [
        ("quantity", &task.columns.quantity),
        ("rate", &task.columns.relative_to),
    ] {
        if let Some(column) = column {
            let multiplier = task.multiplier(column);
            let m = multiplier.expect("the task was checked");
            application[key] = json!({
                "feature": m.feature + 1, "mean": m.mean, "deviation": m.deviation, "most": m.most
            });
        }
    }
    application
}

fn contexts(task: &TaskFile, fitted: &Fitted) -> Value {
    let steps = fitted.file.steps.iter();
    let no_arrival: Vec<f64> = steps.map(|step| 1.0 - step.rate).collect();
    json!({
        "kind": "log",
        "path": super::LOG_FILE,
        "pooled_below": fitted.file.pooled_below.min(i64::MAX as u64),
        "features": task.encoding.names(),
        "no_arrival": no_arrival,
    })
}

fn conversion(task: &TaskFile, fitted: &Fitted, planned: &[usize]) -> Value {
    let d = fitted.data.dimension;
    match &fitted.fit.model {
        Model::Rates(rates) => {
            let rates: Vec<f64> = planned.iter().map(|a| rates[a - 1]).collect();
            json!({ "kind": "armed", "probabilities": rates })
        }
        Model::Logistic { .. }
            if fitted.file.model.kind == ModelKind::Logistic && task.encoding.constant =>
        {
            let weights = phi_weights(&fitted.fit.coefficients, task);
            json!({ "kind": "logistic", "weights": weights })
        }
        Model::Logistic { intercepts, slopes } => {
            let intercepts: Vec<f64> = planned.iter().map(|a| intercepts[a - 1]).collect();
            let rows = planned.iter().map(|a| &slopes[(a - 1) * d..a * d]);
            json!({
                "kind": "logistic-by-action",
                "intercepts": intercepts,
                "weights": rows.collect::<Vec<_>>(),
            })
        }
        Model::Kernel(expansion) => {
            let scale = &task.action;
            // phi of a study has the action's own value and the constant: lengths make up for both.
            let center = |center: &Vec<f64>| {
                let (s, x) = center.split_last().expect("a point has the action");
                let constant = vec![1.0; expansion.first];
                [&constant[..], x, &[s * scale.deviation + scale.mean]].concat()
            };
            let mut lengths = vec![expansion.length; d];
            lengths.push(expansion.length * scale.deviation);
            json!({
                "kind": "rkhs",
                "centers": expansion.centers.iter().map(center).collect::<Vec<_>>(),
                "weights": expansion.weights,
                "kernel": { "kind": "squared-exponential", "length": lengths },
            })
        }
    }
}

/// A learner, the clairvoyant, and the offer that was made most often.
fn policies(fitted: &Fitted, offers: &Offers) -> [Value; 3] {
    let norm_bound = fitted.file.norm_bound;
    let oracle = match fitted.file.model.kind {
        ModelKind::Rates => json!({ "kind": "armed", "bounds": "beta-binomial" }),
        _ => json!({ "kind": "logistic", "bounds": "mixture", "norm_bound": norm_bound }),
    };
    let values = offers.spec().action_values();
    let planned = fitted.file.actions.iter();
    let planned = planned.filter(|a| values.contains(&a.value));
    let usual = planned
        .max_by_key(|a| a.offers)
        .map_or(values[0], |a| a.value);
    [
        json!({ "kind": "tight-opt-dp", "oracle": oracle }),
        json!({ "kind": "clairvoyant" }),
        json!({ "kind": "fixed", "name": format!("always {usual}"), "value": usual }),
    ]
}

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
            offered: None,
            rails: Default::default(),
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
