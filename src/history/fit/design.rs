//! Candidate models of acceptance, the simplest first, and the columns of the logistic ones.
//!
//! With s the scaled value of the action and x the features:
//!
//! ```text
//! rates          one rate per action
//! logistic       1, x, s
//! categories     1, x, s, and a term for each action of its own
//! interactions   1, x, s, s x
//! kernel         kernel ridge regression on (x, s), for few offers
//! ```

use serde::{Deserialize, Serialize};

use super::data::OfferData;

/// A kind of model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModelKind {
    /// One rate per action.
    Rates,
    /// Logistic in features and action.
    Logistic,
    /// Logistic, with a term for each action.
    Categories,
    /// Logistic, with products of action and features.
    Interactions,
    /// Kernel ridge regression.
    Kernel,
}

impl ModelKind {
    /// All kinds, the simpler first.
    pub const ALL: [Self; 5] = [
        Self::Rates,
        Self::Logistic,
        Self::Categories,
        Self::Interactions,
        Self::Kernel,
    ];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rates => "rates",
            Self::Logistic => "logistic",
            Self::Categories => "categories",
            Self::Interactions => "interactions",
            Self::Kernel => "kernel",
        }
    }

    /// A short description.
    pub fn title(self, action: &str) -> String {
        match self {
            Self::Rates => format!("one rate per {action}"),
            Self::Logistic => format!("logistic in features and {action}"),
            Self::Categories => format!("logistic, every {action} with a term of its own"),
            Self::Interactions => format!("logistic, {action} x features"),
            Self::Kernel => format!("kernel regression on features and {action}"),
        }
    }
}

/// The columns of a logistic model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DesignColumns {
    kind: ModelKind,
    /// Features without the constant.
    features: usize,
    /// Index of the first of them in a context.
    first: usize,
    actions: usize,
}

impl DesignColumns {
    /// The columns of a logistic kind for these data.
    pub fn new(kind: ModelKind, data: &OfferData) -> Self {
        let first = usize::from(data.has_constant);
        Self {
            kind,
            features: data.dimension - first,
            first,
            actions: data.action_count(),
        }
    }

    /// Number of columns.
    pub fn len(&self) -> usize {
        let own = match self.kind {
            ModelKind::Categories => self.actions,
            ModelKind::Interactions => self.features,
            _ => 0,
        };
        self.features + 2 + own
    }

    /// The columns of a context and an action with this scaled value.
    pub fn fill(&self, theta: &[f64], action: usize, scaled: f64, out: &mut Vec<f64>) {
        out.clear();
        out.push(1.0);
        let x = &theta[self.first..];
        out.extend_from_slice(x);
        out.push(scaled);
        match self.kind {
            ModelKind::Categories => {
                out.extend((1..=self.actions).map(|a| f64::from(u8::from(a == action))));
            }
            ModelKind::Interactions => out.extend(x.iter().map(|x| x * scaled)),
            _ => {}
        }
    }

    /// All offers, row by row.
    pub fn rows(&self, data: &OfferData) -> Vec<f64> {
        let mut rows = Vec::with_capacity(data.len() * self.len());
        let mut row = Vec::with_capacity(self.len());
        for (i, &action) in data.actions.iter().enumerate() {
            let scaled = data.scaled[action as usize - 1];
            self.fill(data.theta(i), action as usize, scaled, &mut row);
            rows.extend_from_slice(&row);
        }
        rows
    }

    /// Names of the columns.
    pub fn names(&self, features: &[String], action: &str, values: &[f64]) -> Vec<String> {
        let mut names = vec!["constant".to_string()];
        let x = &features[self.first..];
        names.extend_from_slice(x);
        names.push(action.to_string());
        match self.kind {
            ModelKind::Categories => names.extend(values.iter().map(|v| format!("{action}={v}"))),
            ModelKind::Interactions => {
                names.extend(x.iter().map(|name| format!("{action} x {name}")));
            }
            _ => {}
        }
        names
    }

    /// Intercept and slopes (over all features of a context) of each action: the model is f(intercept + slopes.theta).
    pub fn by_action(&self, coefficients: &[f64], scaled: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let n = self.features;
        let (x, own) = (&coefficients[1..=n], &coefficients[n + 2..]);
        let (mut intercepts, mut slopes) = (Vec::new(), Vec::new());
        for (a, s) in scaled.iter().enumerate() {
            let term = match self.kind {
                ModelKind::Categories => own[a],
                _ => 0.0,
            };
            intercepts.push(coefficients[0] + coefficients[n + 1] * s + term);
            slopes.extend(vec![0.0; self.first]);
            match self.kind {
                ModelKind::Interactions => slopes.extend(x.iter().zip(own).map(|(x, v)| x + s * v)),
                _ => slopes.extend_from_slice(x),
            }
        }
        (intercepts, slopes)
    }
}
