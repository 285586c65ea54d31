//! Study files that come with the program.

/// A study file by name.
#[derive(Debug, Clone, Copy)]
pub struct Preset {
    /// Name on the command line.
    pub name: &'static str,
    /// The study file.
    pub text: &'static str,
}

impl Preset {
    /// The first comment line of the file.
    pub fn title(&self) -> &'static str {
        self.text
            .lines()
            .next()
            .unwrap_or("")
            .trim_start_matches("# ")
    }
}

macro_rules! presets {
    ($($name:literal),* $(,)?) => {
        &[$(Preset { name: $name, text: include_str!(concat!("presets/", $name, ".toml")) }),*]
    };
}

/// All presets, in the order they are listed.
pub const PRESETS: &[Preset] = presets![
    "paper-auction",
    "paper-pricing",
    "unlabeled-auction",
    "linear-pricing",
    "smooth-pricing",
    "nonlinear-pricing",
    "one-customer",
    "crowd-procurement",
    "rush-hour-pricing",
    "hotel-pricing",
    "ad-auction-budgets",
    "loan-table",
];

/// The preset of a name.
pub fn preset(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

/// The preset name that is most similar to a word.
pub fn nearest_preset(name: &str) -> Option<&'static str> {
    super::section::nearest(name, PRESETS.iter().map(|preset| preset.name))
}
