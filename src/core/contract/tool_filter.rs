//! The selection of a server's tools in a contract (001 §6). Does not know what a server offers.

/// Words that mean every tool.
const ALL: [&str; 2] = ["*", "any"];

/// A contract's selection of a server's tools, by the server's own names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolFilter {
    /// Tools to take; every tool if there is no list.
    pub allowed: Option<Vec<String>>,
    /// Tools to leave out, whatever `allowed` says.
    pub denied: Vec<String>,
}

/// True if the lists take a tool of that name. Case does not matter, and `*` and `any` mean every tool; a tool in both lists is
/// not taken.
pub(super) fn takes(allowed: Option<&[String]>, denied: &[String], tool: &str) -> bool {
    allowed.is_none_or(|allowed| names(allowed, tool)) && !names(denied, tool)
}

/// True if a name means every tool.
pub(super) fn is_wildcard(name: &str) -> bool {
    ALL.iter().any(|all| name.eq_ignore_ascii_case(all))
}

fn names(list: &[String], tool: &str) -> bool {
    let mut list = list.iter();
    list.any(|name| is_wildcard(name) || name.eq_ignore_ascii_case(tool))
}

#[cfg(test)]
mod tests {
    use super::takes;

    fn check(allowed: Option<&[&str]>, denied: &[&str], expect: &[&str]) {
        let owned = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect();
        let allowed: Option<Vec<String>> = allowed.map(owned);
        let denied: Vec<String> = owned(denied);
        let offered = ["list_files", "read_file", "write_file"];
        let taken = offered.into_iter();
        let taken = taken.filter(|tool| takes(allowed.as_deref(), &denied, tool));
        assert_eq!(taken.collect::<Vec<_>>(), expect, "{allowed:?} {denied:?}");
    }

    /// 001 §6: names without regard to case, two words for every tool, and what is denied is denied.
    /// 001/6.servers.2
    #[test]
    fn a_tool_is_taken_where_it_is_allowed_and_not_denied() {
        let all = ["list_files", "read_file", "write_file"];
        check(None, &[], &all);
        check(Some(&[]), &[], &[]);
        check(Some(&["READ_file"]), &[], &["read_file"]);
        check(Some(&["read"]), &[], &[]);
        check(Some(&["*"]), &["Write_File"], &["list_files", "read_file"]);
        check(Some(&["Any"]), &[], &all);
        check(
            Some(&["read_file", "write_file"]),
            &["write_file"],
            &["read_file"],
        );
        check(Some(&["read_file"]), &["ANY"], &[]);
        check(None, &["*"], &[]);
    }
}
