//! The two panels of the paper's figure, for any number of actions K.

use std::path::Path;

use super::{Document, Wanted, preset};
use crate::error::InputError;

/// A panel of the paper's figure: auction or pricing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaperPanel {
    /// theta uniform on {1, ..., K+1}, bids 1..=K, rho = a/(K+1).
    Auction,
    /// Prices 1..=K under logistic demand.
    Pricing,
}

/// The policies that the paper compares, the learner first. SquareCBwK appears twice: the paper's text leaves open whether
/// its dual survives an episode.
pub const COMPARED: [&str; 4] = [
    "mimic-opt-dp",
    "square-cbwk",
    "square-cbwk-tuned",
    "logistic-ucb1",
];

/// The learner with tight bounds, which is not in the paper.
const IMPROVED: &str = "tight-opt-dp";

/// All other kinds of policies that learn, and the reference: with [`COMPARED`] and the tight learner the long comparison.
const OTHERS: [&str; 12] = [
    "thompson-opt-dp",
    "ts-fixed",
    "ts-update",
    "resolve",
    "lin-cbwk",
    "primal-dual",
    "dual-pacing",
    "pid-pacing",
    "explore-then-commit",
    "epsilon-greedy",
    "plug-in",
    "clairvoyant",
];

impl PaperPanel {
    /// Both, in the order of their presets.
    pub const ALL: [Self; 2] = [Self::Auction, Self::Pricing];

    /// `auction` or `pricing`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auction => "auction",
            Self::Pricing => "pricing",
        }
    }

    /// The preset `paper-auction` or `paper-pricing` with K actions, the paper's policies and then `tight-opt-dp`.
    pub fn document(self, actions: u32, option: &str) -> Result<Document, InputError> {
        let name = format!("paper-{}", self.name());
        let text = preset(&name).expect("the panels are presets").text;
        let mut document = Document::parse(Path::new(&format!("preset {name}")), text)?;
        let up_to = |last: u32| -> Vec<f64> { (1..=last).map(f64::from).collect() };
        match self {
            Self::Auction => {
                let wins = up_to(actions)
                    .iter()
                    .map(|a| a / f64::from(actions + 1))
                    .collect::<Vec<_>>();
                document.set_numbers("application", "bids", &up_to(actions), option);
                document.set_numbers("contexts", "values", &up_to(actions + 1), option);
                document.set_numbers("conversion", "probabilities", &wins, option);
            }
            Self::Pricing => {
                document.set_numbers("application", "prices", &up_to(actions), option);
            }
        }
        document.set_text("study", "name", &format!("{name}, K = {actions}"), option);
        let policies = COMPARED.iter().chain([&IMPROVED]);
        let policies: Vec<String> = policies.map(ToString::to_string).collect();
        document.choose_policies(&policies, option);
        Ok(document)
    }

    /// The same with every policy of the program that learns: the published baselines with tight bounds, where these have any,
    /// and Logistic-UCB1 with tight bounds beside the paper's.
    pub fn long_document(self, actions: u32, option: &str) -> Result<Document, InputError> {
        let mut document = self.document(actions, option)?;
        let policies = COMPARED.iter().chain([&IMPROVED]).chain(&OTHERS);
        let mut wanted: Vec<Wanted> = policies
            .map(|kind| Wanted::Named(kind.to_string()))
            .collect();
        let (kind, bounds) = match self {
            Self::Auction => ("armed", "beta-binomial"),
            Self::Pricing => ("logistic", "mixture"),
        };
        let ucb1 = COMPARED[3];
        let tight = format!(
            "kind = \"{ucb1}\"\nname = \"{ucb1}, tight\"\noracle = {{ kind = \"{kind}\", bounds = \"{bounds}\" }}"
        );
        wanted.push(Wanted::Stated(tight.parse().expect("a table")));
        document.set_policies(&wanted, option);
        Ok(document)
    }
}
