use std::collections::BTreeMap;

use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{Attribute, BinOp, Expr, ItemConst, Lit};

use super::tree::{Finding, Tree};

/// The crates that word errors. A cause reaches them as a value.
const SURFACES: [&str; 2] = ["src/service/", "src/cli/"];

/// Methods that look for a text in another one.
const LOOKS: [&str; 15] = [
    "contains",
    "ends_with",
    "find",
    "matches",
    "replace",
    "replacen",
    "rfind",
    "rsplit_once",
    "split",
    "split_once",
    "starts_with",
    "strip_prefix",
    "strip_suffix",
    "trim_end_matches",
    "trim_start_matches",
];

/// Sentences of other programs that give nothing else, by file: the text, and its author.
const FOREIGN: [(&str, &str, &str); 6] = [
    (
        "src/service/many/input.rs",
        "at line 1 column",
        "serde_json",
    ),
    ("src/service/many/input.rs", "unknown field `", "serde_json"),
    (
        "src/service/many/input.rs",
        ", expected one of `contract`, `run_id`, `set`, `task`",
        "serde_json",
    ),
    ("src/cli/commands/man.rs", ".SH EXTRA", "clap_mangen"),
    ("src/cli/program.rs", "error: ", "clap"),
    (
        "src/service/list/outcome_names.rs",
        "expected one of ",
        "serde: the only list of a type's variants",
    ),
];

/// Code outside of tests compares no text with a sentence: a cause is an enum with its values.
pub fn sentences(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let of_surface = |path: &str| SURFACES.iter().any(|surface| path.starts_with(surface));
    for (path, text) in tree.sources().filter(|(path, _)| of_surface(path)) {
        let is_test = path.ends_with("tests.rs") || path.contains("/tests/");
        let Ok(file) = syn::parse_file(text) else {
            continue;
        };
        let mut search = Search::default();
        search.visit_file(&file);
        for (line, compared) in search.found {
            let sentence = search.consts.get(&compared).unwrap_or(&compared);
            let is_foreign =
                |(file, known, _): &(&str, &str, &str)| *file == path && known == sentence;
            if !is_test && is_sentence(sentence) && !FOREIGN.iter().any(is_foreign) {
                let what = format!("a text is compared with a sentence: {sentence:?}");
                findings.push(Finding::new(path, line, what));
            }
        }
    }
    findings
}

/// True if a text has words: a blank, and a letter.
fn is_sentence(text: &str) -> bool {
    text.contains(' ') && text.contains(|c: char| c.is_ascii_alphabetic())
}

/// The texts that a file compares others with.
#[derive(Default)]
struct Search {
    /// Constants by name.
    consts: BTreeMap<String, String>,
    /// Lines, and texts or names of constants.
    found: Vec<(usize, String)>,
}

impl Search {
    fn compare(&mut self, with: &Expr) {
        let line = with.span().start().line;
        match with {
            Expr::Lit(literal) => {
                if let Lit::Str(text) = &literal.lit {
                    self.found.push((line, text.value()));
                }
            }
            Expr::Path(path) => {
                let name = path.path.segments.last().map(|last| last.ident.to_string());
                self.found.extend(name.map(|name| (line, name)));
            }
            Expr::Reference(reference) => self.compare(&reference.expr),
            Expr::Array(array) => array.elems.iter().for_each(|one| self.compare(one)),
            Expr::Macro(built) if built.mac.path.is_ident("format") => {
                let text = built.mac.tokens.to_string();
                let text = text.split('"').nth(1).unwrap_or_default();
                self.found.push((line, text.to_owned()));
            }
            _ => {}
        }
    }
}

impl<'ast> Visit<'ast> for Search {
    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if LOOKS.iter().any(|name| call.method == name) {
            call.args
                .first()
                .into_iter()
                .for_each(|with| self.compare(with));
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        if matches!(binary.op, BinOp::Eq(_) | BinOp::Ne(_)) {
            self.compare(&binary.left);
            self.compare(&binary.right);
        }
        visit::visit_expr_binary(self, binary);
    }

    fn visit_item_const(&mut self, item: &'ast ItemConst) {
        if let Expr::Lit(literal) = &*item.expr
            && let Lit::Str(text) = &literal.lit
        {
            self.consts.insert(item.ident.to_string(), text.value());
        }
        visit::visit_item_const(self, item);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !item.attrs.iter().any(is_test) {
            visit::visit_item_mod(self, item);
        }
    }
}

fn is_test(attribute: &Attribute) -> bool {
    let list = attribute.meta.require_list();
    list.is_ok_and(|list| list.path.is_ident("cfg") && list.tokens.to_string() == "test")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::check;

    #[test]
    fn a_text_that_is_compared_with_a_sentence_is_found() {
        let code = "const ENDED: &str = \"the server ended\";\n\
                    fn f(a: &str, n: &str) {\n\
                    a.contains(\"no answer\");\n\
                    a.starts_with(ENDED);\n\
                    a.replace(&format!(\" --set {n}\"), n);\n\
                    a == \"not set\";\n\
                    a.strip_prefix(\"providers.\");\n\
                    a.split_once(\": \");\n\
                    format!(\"no answer: {a}\");\n\
                    }\n\
                    #[cfg(test)]\n\
                    mod tests {\n\
                    fn g(a: &str) { a.contains(\"no answer\"); }\n\
                    }\n";
        check(sentences, "src/service/a.rs", code, &[3, 4, 5, 6]);
        check(sentences, "src/cli/commands/a.rs", code, &[3, 4, 5, 6]);
        check(sentences, "src/host/a.rs", code, &[]);
        check(sentences, "src/service/a/tests.rs", code, &[]);
    }

    #[test]
    fn a_sentence_of_another_program_is_allowed_in_its_file() {
        let code = "fn f(a: &str) { a.split_once(\"expected one of \"); }\n";
        check(sentences, "src/service/list/outcome_names.rs", code, &[]);
        check(sentences, "src/service/list/runs.rs", code, &[1]);
    }
}
