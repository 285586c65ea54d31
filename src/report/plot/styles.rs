//! Colours and dashes belong to a policy, not to its place: the same name looks the same in every picture.

use super::frame::{COLOURS, DASHES};

/// Colour and dash of the policies that come with the program.
const KNOWN: [(&str, (usize, usize)); 9] = [
    ("mimic-opt-dp", (0, 0)),
    ("square-cbwk", (1, 1)),
    ("logistic-ucb1", (2, 2)),
    ("tight-opt-dp", (3, 0)),
    ("thompson-opt-dp", (4, 1)),
    ("fluid", (5, 3)),
    ("clairvoyant", (6, 4)),
    ("myopic", (4, 3)),
    ("random", (5, 2)),
];

/// Colour and dash of each name. Known ones have theirs; another takes those that its letters lead to, or the next ones
/// that are free, so that two names of one picture only look alike where there are more names than looks.
pub fn styles<'n>(names: impl IntoIterator<Item = &'n str>) -> Vec<(usize, usize)> {
    let names: Vec<&str> = names.into_iter().collect();
    let known = |name: &str| KNOWN.iter().find(|(n, _)| *n == name).map(|known| known.1);
    let mut taken: Vec<(&str, (usize, usize))> = Vec::new();
    for name in &names {
        taken.extend(known(name).map(|style| (*name, style)));
    }
    for name in &names {
        if taken.iter().all(|(n, _)| n != name) {
            let style = free(name, &taken);
            taken.push((name, style));
        }
    }
    let style = |name: &&str| taken.iter().find(|(n, _)| n == name).map(|found| found.1);
    names.iter().filter_map(style).collect()
}

/// The look of opt beside rewards, which no policy has.
pub const OPT: (usize, usize) = (6, 2);

/// The same for the curves of one chart: a policy that comes several times keeps its colour and takes another dash, as long as
/// there are looks that no other curve has.
pub fn looks(names: &[&str]) -> Vec<(usize, usize)> {
    let first = styles(names.iter().copied());
    let mut taken: Vec<(usize, usize)> = vec![OPT];
    for (i, look) in first.iter().enumerate() {
        if !names[..i].contains(&names[i]) {
            taken.push(*look);
        }
    }
    let mut looks = Vec::with_capacity(names.len());
    for (i, &(colour, dash)) in first.iter().enumerate() {
        if !names[..i].contains(&names[i]) {
            looks.push((colour, dash));
            continue;
        }
        let own = (1..DASHES.len()).map(|k| (colour, (dash + k) % DASHES.len()));
        let any = (0..COLOURS.len() * DASHES.len()).map(|k| {
            (
                (colour + k) % COLOURS.len(),
                (dash + k / COLOURS.len()) % DASHES.len(),
            )
        });
        let look = own.chain(any).find(|look| !taken.contains(look));
        let look = look.unwrap_or((colour, dash + i));
        taken.push(look);
        looks.push(look);
    }
    looks
}

/// A colour that nobody has where there is one, else a pair that nobody has.
fn free(name: &str, taken: &[(&str, (usize, usize))]) -> (usize, usize) {
    let start = letters(name);
    let pair = |i: usize| {
        let place = start + i;
        (
            place % COLOURS.len(),
            (place / COLOURS.len()) % DASHES.len(),
        )
    };
    let all = || (0..COLOURS.len() * DASHES.len()).map(pair);
    let unlike =
        all().find(|pair| taken.iter().all(|(_, other)| other.0 != pair.0) && *pair != OPT);
    let unused = || all().find(|pair| taken.iter().all(|(_, other)| other != pair) && *pair != OPT);
    unlike.or_else(unused).unwrap_or(pair(0))
}

/// A number that follows from the letters alone (FNV-1a).
fn letters(name: &str) -> usize {
    let hash = name.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    hash as usize % (COLOURS.len() * DASHES.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_keeps_its_look_in_any_company() {
        let alone = styles(["logistic-ucb1"]);
        let second = styles(["mimic-opt-dp", "logistic-ucb1", "mine"]);
        assert_eq!(alone[0], second[1]);
        assert_eq!(styles(["mine"])[0], styles(["mine", "random"])[0]);
        assert_eq!(styles(["a", "b", "a"]).len(), 3);
        assert_eq!(styles(["a", "b", "a"])[0], styles(["a", "b", "a"])[2]);
    }

    #[test]
    fn curves_of_a_chart_look_different_as_long_as_there_are_looks() {
        let known = KNOWN.map(|known| known.0);
        for folders in 1..=3 {
            let names: Vec<&str> = (0..folders).flat_map(|_| known).collect();
            let mut found = looks(&names);
            assert_eq!(found[..known.len()], styles(known));
            found.push(OPT);
            found.sort_unstable();
            found.dedup();
            assert_eq!(found.len(), names.len() + 1, "{folders} folders");
        }
        // More curves than looks.
        assert_eq!(looks(&["a"; 40]).len(), 40);
    }

    #[test]
    fn names_of_a_picture_look_different() {
        let names: Vec<String> = (0..20).map(|i| format!("policy {i}")).collect();
        let names = names.iter().map(String::as_str).chain(KNOWN.map(|k| k.0));
        let mut found = styles(names);
        let count = found.len();
        found.sort_unstable();
        found.dedup();
        assert_eq!(found.len(), count);
        let few = styles(["a", "b", "c", "d", "e", "f", "g"]);
        let mut colours: Vec<usize> = few.iter().map(|style| style.0).collect();
        colours.sort_unstable();
        assert_eq!(colours, [0, 1, 2, 3, 4, 5, 6]);
    }
}
