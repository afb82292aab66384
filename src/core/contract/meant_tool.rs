//! Which offered tool an author means by a name that is not offered.

use super::Terms;

/// The offered tool that is nearest to a name: the one of that name of any server, else one whose name is spelt nearly so.
pub(super) fn meant_tool<'o>(
    name: &str,
    offered: impl Iterator<Item = &'o str> + Clone,
) -> Option<&'o str> {
    let own = |one: &&str| one.split_once("__").is_some_and(|(_, own)| own == name);
    offered.clone().find(own).or_else(|| {
        let limit = (name.chars().take(128).count() / 3).max(1);
        let short = |text: &str| text.chars().take(128).collect::<String>();
        let ranked = offered.map(|one| (strsim::osa_distance(&short(name), &short(one)), one));
        ranked
            .filter(|(distance, _)| *distance <= limit)
            .min()
            .map(|(_, one)| one)
    })
}

/// A name that no server offers, with the tool that is meant.
pub(super) fn not_offered(terms: &Terms, name: &str) -> String {
    let meant = meant_tool(name, terms.tools.iter().map(|tool| tool.name.as_str()));
    let meant = meant.map_or(String::new(), |meant| format!("; did you mean `{meant}`?"));
    format!("`{name}`, which no server offers{meant}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_suggested_by_its_own_name_and_by_its_spelling() {
        let offered = [
            "fs__read_file",
            "git__git_log",
            "git__git_status",
            "read_file",
        ];
        let check = |name: &str, expect: Option<&str>| {
            assert_eq!(meant_tool(name, offered.iter().copied()), expect, "{name}");
        };
        check("git_log", Some("git__git_log"));
        check("git__gitlog", Some("git__git_log"));
        check("raed_file", Some("read_file"));
        check("weather", None);
    }
}
