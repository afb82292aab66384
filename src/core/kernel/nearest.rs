//! Names that are nearest to one that is not offered (semantics §6): pure, and bounded by the length of what is compared.

/// Maximum number of results.
const MOST_NAMED: usize = 3;
/// The most characters of a name that are compared: work grows with their square.
const COMPARED: usize = 128;

/// The offered names that are nearest to `name` by edit distance; those that are equally near in byte order.
pub(super) fn nearest<'n>(name: &str, offered: impl Iterator<Item = &'n str>) -> Vec<String> {
    let mut ranked: Vec<(usize, &str)> = offered.map(|one| (distance(name, one), one)).collect();
    ranked.sort_unstable();
    let named = ranked.into_iter().take(MOST_NAMED);
    named.map(|(_, one)| one.to_owned()).collect()
}

/// Returns the number of characters to insert, delete or replace to turn one into the other (Levenshtein).
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().take(COMPARED).collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.chars().take(COMPARED).enumerate() {
        let mut before = i;
        let mut left = i + 1;
        for (b, above) in other.iter().zip(row.iter_mut().skip(1)) {
            let replaced = before + usize::from(a != *b);
            before = *above;
            left = replaced.min(before + 1).min(left + 1);
            *above = left;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_is_the_number_of_single_changes() {
        for (one, other, expect) in [
            ("", "", 0),
            ("", "read", 4),
            ("read", "", 4),
            ("read", "read", 0),
            ("read", "raed", 2),
            ("kitten", "sitting", 3),
            ("lesen", "Lesen", 1),
            ("дом", "дым", 1),
        ] {
            assert_eq!(distance(one, other), expect, "{one} {other}");
            assert_eq!(distance(other, one), expect, "{other} {one}");
        }
    }

    #[test]
    fn three_are_told_and_ties_stand_in_byte_order() {
        let offered = ["write", "read_b", "read_a", "Read", "list"];
        assert_eq!(
            nearest("read", offered.into_iter()),
            ["Read", "read_a", "read_b"]
        );
        assert_eq!(nearest("read", ["b", "a"].into_iter()), ["a", "b"]);
        assert_eq!(nearest("read", std::iter::empty()), Vec::<String>::new());
    }

    #[test]
    fn a_name_of_any_length_is_compared_by_its_beginning() {
        let long = "x".repeat(5_000_000);
        assert_eq!(distance(&long, "x"), COMPARED - 1);
    }
}
