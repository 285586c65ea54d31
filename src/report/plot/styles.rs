//! Colours and dashes by policy name: a policy has the same style in every picture.

use super::frame::{COLOURS, DASHES};

/// Colour and dash of the built-in policies.
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

/// Colour and dash of each name. Built-in policies have fixed ones; other names take the ones at their hash, or the next
/// free ones. Two names share a style only if there are more names than styles.
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

/// The style of opt, which no policy has.
pub const OPT: (usize, usize) = (6, 2);

/// Styles for the curves of one chart: a policy that occurs several times keeps its colour and takes another dash, as
/// long as there are free styles.
pub fn curve_styles(names: &[&str]) -> Vec<(usize, usize)> {
    let first = styles(names.iter().copied());
    let is_repeated = |i: usize| names[..i].contains(&names[i]);
    let mut taken: Vec<(usize, usize)> = vec![OPT];
    taken.extend(
        (0..names.len())
            .filter(|i| !is_repeated(*i))
            .map(|i| first[i]),
    );
    let (colours, dashes) = (COLOURS.len(), DASHES.len());
    let mut style = |(i, &(colour, dash)): (usize, &(usize, usize))| {
        if !is_repeated(i) {
            return (colour, dash);
        }
        let own = (1..dashes).map(|k| (colour, (dash + k) % dashes));
        let any =
            (0..colours * dashes).map(|k| ((colour + k) % colours, (dash + k / colours) % dashes));
        let free = own.chain(any).find(|style| !taken.contains(style));
        let style = free.unwrap_or((colour, dash + i));
        taken.push(style);
        style
    };
    first.iter().enumerate().map(&mut style).collect()
}

/// A free colour if there is one, else a free pair.
fn free(name: &str, taken: &[(&str, (usize, usize))]) -> (usize, usize) {
    let start = hash(name);
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

/// A hash of the name (FNV-1a).
fn hash(name: &str) -> usize {
    let hash = name.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    hash as usize % (COLOURS.len() * DASHES.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_style_of_a_policy_does_not_depend_on_others() {
        let alone = styles(["logistic-ucb1"]);
        let second = styles(["mimic-opt-dp", "logistic-ucb1", "mine"]);
        assert_eq!(alone[0], second[1]);
        assert_eq!(styles(["mine"])[0], styles(["mine", "random"])[0]);
        assert_eq!(styles(["a", "b", "a"]).len(), 3);
        assert_eq!(styles(["a", "b", "a"])[0], styles(["a", "b", "a"])[2]);
    }

    #[test]
    fn curves_have_different_styles_while_there_are_free_ones() {
        let known = KNOWN.map(|known| known.0);
        for folders in 1..=3 {
            let names: Vec<&str> = (0..folders).flat_map(|_| known).collect();
            let mut found = curve_styles(&names);
            assert_eq!(found[..known.len()], styles(known));
            found.push(OPT);
            found.sort_unstable();
            found.dedup();
            assert_eq!(found.len(), names.len() + 1, "{folders} folders");
        }
        // More curves than styles.
        assert_eq!(curve_styles(&["a"; 40]).len(), 40);
    }

    #[test]
    fn different_names_have_different_styles() {
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
