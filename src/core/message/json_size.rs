//! Members, items and levels of a JSON text, counted without building it. Knows no limits.

/// How large a JSON text is, found without building anything from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct JsonSize {
    /// How deeply objects and lists nest; a scalar is 0 deep.
    pub depth: u64,
    /// The members of all objects and the items of all lists.
    pub values: u64,
}

impl JsonSize {
    /// Of a text without white space between its tokens; of any other text it is a bound.
    pub(crate) fn of(text: &str) -> Self {
        let (mut size, mut depth) = (Self::default(), 0_u64);
        let (mut in_string, mut escaped, mut opened) = (false, false, false);
        for byte in text.bytes() {
            if in_string {
                match byte {
                    _ if escaped => escaped = false,
                    b'\\' => escaped = true,
                    b'"' => in_string = false,
                    _ => {}
                }
                continue;
            }
            let first = opened && !matches!(byte, b'}' | b']');
            size.values = size.values.saturating_add(u64::from(first || byte == b','));
            opened = matches!(byte, b'{' | b'[');
            match byte {
                b'"' => in_string = true,
                b'{' | b'[' => depth = depth.saturating_add(1),
                b'}' | b']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            size.depth = size.depth.max(depth);
        }
        size
    }
}

#[cfg(test)]
mod tests {
    use super::JsonSize;

    #[test]
    fn members_items_and_levels_are_counted() {
        let check = |text: &str, values: u64, depth: u64| {
            assert_eq!(JsonSize::of(text), JsonSize { depth, values }, "{text}");
        };
        check("", 0, 0);
        check("7", 0, 0);
        check(r#""[,{""#, 0, 0);
        check("[]", 0, 1);
        check("[[],{}]", 2, 2);
        check(r#"{"a":[1,2,{"b":"\",[{"}],"c":{}}"#, 6, 3);
        check(&"[".repeat(10_000), 9_999, 10_000);
    }
}
