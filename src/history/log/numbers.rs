//! Numbers of episodes by label.

use std::collections::HashMap;

/// Numbers episodes in the order of appearance.
#[derive(Debug, Default)]
pub(in crate::history) struct EpisodeNumbers {
    numbers: HashMap<String, usize>,
    last: (String, usize),
}

impl EpisodeNumbers {
    /// The number of an episode; a new one gets the next number.
    pub fn number(&mut self, label: &str) -> usize {
        // Rows of an episode are usually adjacent.
        if self.last.0 == label && !self.numbers.is_empty() {
            return self.last.1;
        }
        let next = self.numbers.len();
        let number = *self.numbers.get(label).unwrap_or(&next);
        if number == next {
            self.numbers.insert(label.to_string(), next);
        }
        self.last.0.clear();
        self.last.0.push_str(label);
        self.last.1 = number;
        number
    }

    /// The number of a known episode.
    pub fn known(&self, label: &str) -> usize {
        self.numbers[label]
    }
}
