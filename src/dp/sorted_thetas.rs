//! The private values theta of an auction's contexts at one step, kept in order as rows are appended, with sums above
//! every value. They make the mean of a piecewise linear function of theta a matter of its corners.

/// Values in a block; inserting one moves and adds up so many numbers at most.
const BLOCK: usize = 512;

/// Pending values are inserted one by one up to this share of those in place; more are sorted together with them.
const REBUILD_SHARE: usize = 16;

/// Weighted thetas in rising order, in blocks of bounded size. Equal ones are merged; those that no bid can gain from
/// are left out.
#[derive(Debug, Clone)]
pub struct SortedThetas {
    origin: f64,
    count: usize,
    /// The smallest theta of each block but the first, which stands for everything below.
    firsts: Vec<f64>,
    blocks: Vec<Block>,
    pending: Vec<(f64, f64)>,
}

/// Neighbouring thetas. `above[k]` sums over the block's thetas from number k on, `later` over all later blocks.
#[derive(Debug, Clone, Default)]
struct Block {
    thetas: Vec<f64>,
    weights: Vec<f64>,
    above: Vec<Above>,
    later: Above,
}

/// What lies above a value x: sum of w and sum of w (theta - origin).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Above {
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

impl SortedThetas {
    /// No thetas yet. Distances are taken from `origin`, the smallest bid: they are then no larger than rewards, and
    /// thetas below it are never of use.
    pub fn new(origin: f64) -> Self {
        Self {
            origin,
            count: 0,
            firsts: Vec::new(),
            blocks: Vec::new(),
            pending: Vec::new(),
        }
    }

    /// Number of distinct thetas above the origin.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether no theta lies above the origin.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds weight to a theta; [`SortedThetas::settle`] puts it in place.
    pub fn push(&mut self, theta: f64, weight: f64) {
        if theta > self.origin {
            self.pending.push((theta, weight));
        }
    }

    /// Puts pending thetas in place: one by one where they are few, else by sorting everything anew.
    pub fn settle(&mut self) {
        if self.pending.len() * REBUILD_SHARE <= self.count {
            for (theta, weight) in std::mem::take(&mut self.pending) {
                self.insert(theta, weight);
            }
        } else if !self.pending.is_empty() {
            self.rebuild();
        }
    }

    fn rebuild(&mut self) {
        let mut all = std::mem::take(&mut self.pending);
        for block in &self.blocks {
            let weighted = block.thetas.iter().zip(&block.weights);
            all.extend(weighted.map(|(theta, weight)| (*theta, *weight)));
        }
        all.sort_by(|x, y| x.0.total_cmp(&y.0));
        all.dedup_by(|next, kept| {
            let equal = next.0 == kept.0;
            if equal {
                kept.1 += next.1;
            }
            equal
        });
        self.count = all.len();
        // Half full blocks leave room for what is appended later.
        let blocks = all.chunks(BLOCK / 2).map(|chunk| {
            let mut block = Block {
                thetas: chunk.iter().map(|pair| pair.0).collect(),
                weights: chunk.iter().map(|pair| pair.1).collect(),
                ..Block::default()
            };
            block.add_up(self.origin);
            block
        });
        self.blocks = blocks.collect();
        self.firsts = self.blocks[1..].iter().map(|b| b.thetas[0]).collect();
        self.add_up_blocks();
    }

    fn insert(&mut self, theta: f64, weight: f64) {
        let number = self.firsts.partition_point(|first| *first <= theta);
        let block = &mut self.blocks[number];
        let place = block.thetas.partition_point(|t| *t < theta);
        if block.thetas.get(place) == Some(&theta) {
            block.weights[place] += weight;
        } else {
            block.thetas.insert(place, theta);
            block.weights.insert(place, weight);
            self.count += 1;
            if block.thetas.len() > BLOCK {
                let mut upper = Block {
                    thetas: block.thetas.split_off(BLOCK / 2),
                    weights: block.weights.split_off(BLOCK / 2),
                    ..Block::default()
                };
                upper.add_up(self.origin);
                self.firsts.insert(number, upper.thetas[0]);
                self.blocks.insert(number + 1, upper);
            }
        }
        self.blocks[number].add_up(self.origin);
        self.add_up_blocks();
    }

    /// Sums in two levels, blocks and within them, so that rounding stays small however many thetas there are.
    fn add_up_blocks(&mut self) {
        let mut later = Above::default();
        for block in self.blocks.iter_mut().rev() {
            block.later = later;
            later = later.plus(block.above[0]);
        }
    }

    /// Sums over the thetas whose distance from the origin exceeds `distance`.
    #[inline]
    pub fn above(&self, distance: f64) -> Above {
        let x = self.origin + distance;
        let number = self.firsts.partition_point(|first| *first <= x);
        let Some(block) = self.blocks.get(number) else {
            return Above::default();
        };
        let place = block.thetas.partition_point(|theta| *theta <= x);
        block.above[place].plus(block.later)
    }
}

impl Block {
    fn add_up(&mut self, origin: f64) {
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
                    sorted.push(theta, all[all.len() - 1].1);
                }
                sorted.settle();
                let distance = 6.0 * rng.random::<f64>();
                let (mine, plain) = (sorted.above(distance), literal(&all, 1.0, 1.0 + distance));
                approx::assert_relative_eq!(mine.weight, plain.weight, max_relative = 1e-13);
                approx::assert_relative_eq!(mine.distance, plain.distance, max_relative = 1e-13);
            }
            assert!(sorted.len() <= distinct && !sorted.is_empty());
        }
        assert_eq!(SortedThetas::new(0.0).above(1.0), Above::default());
    }
}
