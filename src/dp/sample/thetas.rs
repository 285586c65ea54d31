//! The private values theta of an auction's contexts at one step, kept sorted, with the sums above every value. With them
//! the mean of a piecewise linear function of theta needs only its corners.
//!
//! Thetas lie in blocks, and sums are added up within blocks and over them, so that rounding stays small however many there
//! are. Whether a theta begins a block depends on its own bits: sums depend on what was inserted, not on the order.

/// One theta in this many begins a block.
const PER_BLOCK: u64 = 256;

/// Weighted thetas in rising order. Equal ones are merged; those that no bid can gain from are left out.
#[derive(Debug, Clone)]
pub(in crate::dp) struct SortedThetas {
    origin: f64,
    largest: f64,
    count: usize,
    /// The smallest theta of each block but the first, which holds what lies below them all.
    firsts: Vec<f64>,
    blocks: Vec<Block>,
}

/// Neighbouring thetas. `above[k]` sums over the block's thetas from number k on, `later` over all later blocks.
#[derive(Debug, Clone)]
struct Block {
    thetas: Vec<f64>,
    weights: Vec<f64>,
    above: Vec<Above>,
    later: Above,
    /// Whether `above` has yet to be added up.
    changed: bool,
}

/// What lies above a value x: sum of w and sum of w (theta - origin).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(in crate::dp) struct Above {
    /// Sum of weights.
    pub weight: f64,
    /// Sum of weighted distances from the origin.
    pub distance: f64,
}

impl Above {
    fn plus(self, other: Self) -> Self {
        Self {
            weight: self.weight + other.weight,
            distance: self.distance + other.distance,
        }
    }
}

/// Whether a theta begins a block: its bits, mixed (the finisher of SplitMix64), decide.
fn begins_block(theta: f64) -> bool {
    let mut bits = theta.to_bits();
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (bits ^ (bits >> 31)).is_multiple_of(PER_BLOCK)
}

impl SortedThetas {
    /// No thetas yet. Distances are taken from `origin`, the smallest bid: they are then no larger than rewards, and
    /// thetas below it are never of use.
    pub fn new(origin: f64) -> Self {
        Self {
            origin,
            largest: origin,
            count: 0,
            firsts: Vec::new(),
            blocks: vec![Block::empty()],
        }
    }

    /// Number of distinct thetas above the origin.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Adds weight to a theta; sums are wrong until [`SortedThetas::add_up`].
    pub fn insert(&mut self, theta: f64, weight: f64) {
        let is_useful = theta > self.origin;
        if !is_useful {
            return;
        }
        self.largest = self.largest.max(theta);
        let number = self.firsts.partition_point(|first| *first <= theta);
        let block = &mut self.blocks[number];
        block.changed = true;
        let place = block.thetas.partition_point(|t| *t < theta);
        if block.thetas.get(place) == Some(&theta) {
            block.weights[place] += weight;
            return;
        }
        self.count += 1;
        block.thetas.insert(place, theta);
        block.weights.insert(place, weight);
        if begins_block(theta) {
            let upper = Block {
                thetas: block.thetas.split_off(place),
                weights: block.weights.split_off(place),
                changed: true,
                ..Block::empty()
            };
            self.firsts.insert(number, theta);
            self.blocks.insert(number + 1, upper);
        }
    }

    /// Brings the sums up to date.
    pub fn add_up(&mut self) {
        if !self.blocks.iter().any(|block| block.changed) {
            return;
        }
        let mut later = Above::default();
        for block in self.blocks.iter_mut().rev() {
            if block.changed {
                block.add_up(self.origin);
            }
            block.later = later;
            later = later.plus(block.above[0]);
        }
    }

    /// Sums over the thetas whose distance from the origin exceeds `distance`.
    #[inline]
    pub fn above(&self, distance: f64) -> Above {
        let x = self.origin + distance;
        // The steepest bids often meet beyond all thetas.
        if x >= self.largest {
            return Above::default();
        }
        let number = self.firsts.partition_point(|first| *first <= x);
        let block = &self.blocks[number];
        let place = block.thetas.partition_point(|theta| *theta <= x);
        block.above[place].plus(block.later)
    }
}

impl Block {
    fn empty() -> Self {
        Self {
            thetas: Vec::new(),
            weights: Vec::new(),
            above: vec![Above::default()],
            later: Above::default(),
            changed: false,
        }
    }

    fn add_up(&mut self, origin: f64) {
        self.changed = false;
        self.above.clear();
        self.above.resize(self.thetas.len() + 1, Above::default());
        let mut sum = Above::default();
        for k in (0..self.thetas.len()).rev() {
            let weight = self.weights[k];
            sum = sum.plus(Above {
                weight,
                distance: weight * (self.thetas[k] - origin),
            });
            self.above[k] = sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Above, SortedThetas};
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    fn literal(all: &[(f64, f64)], origin: f64, x: f64) -> Above {
        let above = all.iter().filter(|(theta, _)| *theta > x);
        above.fold(Above::default(), |sum, (theta, weight)| {
            sum.plus(Above {
                weight: *weight,
                distance: weight * (theta - origin),
            })
        })
    }

    /// Rows of one, some, and many thetas; repeated values; values below the origin.
    #[test]
    fn sums_equal_those_of_a_plain_list_however_thetas_arrive() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        for distinct in [3, 40, 1_000_000] {
            let mut sorted = SortedThetas::new(1.0);
            let mut all = Vec::new();
            for round in 0..400 {
                let new = if round % 97 == 5 { 700 } else { round % 4 };
                for _ in 0..new {
                    let theta = 0.5 + rng.random_range(0..distinct) as f64 / distinct as f64;
                    let theta = theta * 4.0;
                    all.push((theta, 1.0 + rng.random::<f64>()));
                    sorted.insert(theta, all[all.len() - 1].1);
                }
                sorted.add_up();
                let distance = 6.0 * rng.random::<f64>();
                let (mine, plain) = (sorted.above(distance), literal(&all, 1.0, 1.0 + distance));
                approx::assert_relative_eq!(mine.weight, plain.weight, max_relative = 1e-13);
                approx::assert_relative_eq!(mine.distance, plain.distance, max_relative = 1e-13);
            }
            assert!(sorted.len() <= distinct && sorted.len() > 0);
        }
        assert_eq!(SortedThetas::new(0.0).above(1.0), Above::default());
    }

    /// The same thetas in any order and any portions give the same bits.
    #[test]
    fn sums_do_not_depend_on_how_thetas_arrive() {
        let mut rng = ChaCha8Rng::seed_from_u64(6);
        let thetas: Vec<f64> = (0..5000).map(|_| 1.0 + 3.0 * rng.random::<f64>()).collect();
        let corners: Vec<f64> = (0..200).map(|_| 3.2 * rng.random::<f64>()).collect();
        let sums = |thetas: &[f64], portion: usize| -> Vec<Above> {
            let mut sorted = SortedThetas::new(1.0);
            for portion in thetas.chunks(portion) {
                portion.iter().for_each(|theta| sorted.insert(*theta, 1.0));
                sorted.add_up();
            }
            assert!(sorted.blocks.len() > 10, "{}", sorted.blocks.len());
            corners.iter().map(|x| sorted.above(*x)).collect()
        };
        let at_once = sums(&thetas, 5000);
        let mut backwards = thetas.clone();
        backwards.reverse();
        for portion in [1, 7, 900] {
            assert!(sums(&thetas, portion) == at_once);
            assert!(sums(&backwards, portion) == at_once);
        }
        // The comparison sees one theta moved a little.
        backwards[17] += 1e-9;
        assert!(sums(&backwards, 5000) != at_once);
    }
}
