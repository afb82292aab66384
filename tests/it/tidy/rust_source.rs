use std::collections::BTreeSet;
use std::ops::Range;

use proc_macro2::{Delimiter, Group, Ident, LineColumn, Literal, Spacing, TokenStream, TokenTree};
use quote::ToTokens;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Item, Meta, Type};

use super::tree::{Tree, folder_of, place_of};

/// A Rust file: what it names and what it defines, tests included.
#[derive(Debug, Default)]
pub struct SourceFile {
    pub path: String,
    /// In the order of the code.
    pub names: Vec<Name>,
    /// The names of its items, with `*` where a macro defines some.
    pub items: BTreeSet<String>,
    /// The lines of the items at the top that are no `use`, no `mod x;` and no test code.
    pub logic: Vec<usize>,
    /// The files that it declares by `mod x;`.
    pub modules: Vec<String>,
    /// The modules that others may see.
    pub open_modules: Vec<String>,
    /// The modules that are declared under `#[cfg(test)]`.
    test_modules: Vec<String>,
    tests: Vec<Range<LineColumn>>,
    /// The modules written inside the file.
    inner_modules: Vec<Range<LineColumn>>,
    self_types: Vec<LineColumn>,
    in_attribute: bool,
    /// The position of the text that is being read as code.
    text: Option<LineColumn>,
}

/// A path such as `std::fs::read`, with groups multiplied out and without a `self` at its end. A word is a path of
/// one segment. In a module that is written inside a file, `super` leads out of the file as it does outside of it.
#[derive(Debug)]
pub struct Name {
    pub segments: Vec<String>,
    pub form: Form,
    pub line: usize,
    /// Under `#[cfg(test)]`, or in a file that is declared so.
    pub test: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Form {
    /// A leaf of a `use` and the name that it brings in, `*` for a glob.
    Use(String),
    Path,
    /// The self type of an `impl` block without a trait.
    SelfType,
    /// A macro that is called.
    Macro,
    /// A method that is called.
    Method,
    /// A field, or the word `await`.
    Field,
    /// The `cfg` of a feature, as attribute or macro.
    Feature,
}

impl Name {
    /// True if the path is `prefix` or begins with it.
    pub fn starts_with(&self, prefix: &str) -> bool {
        let mut segments = self.segments.iter();
        prefix
            .split("::")
            .all(|p| segments.next().is_some_and(|s| s == p))
    }

    pub fn text(&self) -> String {
        self.segments.join("::")
    }
}

/// The Rust files of `src/`. [`Tree::code`] keeps them.
pub fn read_sources(tree: &Tree) -> Vec<SourceFile> {
    let read = |(path, text)| SourceFile::read(path, text);
    let mut files: Vec<SourceFile> = tree.sources().map(read).collect();
    let declared = |file: &SourceFile| {
        let module = file.module();
        let tests = file.test_modules.clone().into_iter();
        tests.map(move |test| [&*module, &[test]].concat())
    };
    let tests: Vec<_> = files.iter().flat_map(declared).collect();
    for file in &mut files {
        let module = file.module();
        if tests.iter().any(|test| module.starts_with(test)) {
            file.names.iter_mut().for_each(|name| name.test = true);
        }
    }
    files
}

impl SourceFile {
    /// # Panics
    /// At text that is no Rust.
    pub fn read(path: &str, text: &str) -> Self {
        let code = syn::parse_file(text)
            .unwrap_or_else(|e| panic!("{path}:{}: {e}", e.span().start().line));
        let mut file = Self {
            path: path.to_owned(),
            ..Self::default()
        };
        file.visit_file(&code);
        let is_use = |item: &Item| matches!(item, Item::Use(_));
        let is_logic = |item: &&Item| match item {
            Item::Use(_) | Item::ExternCrate(_) => false,
            // A group of the facade holds nothing but re-exports.
            Item::Mod(module) => {
                let content = module.content.as_ref();
                content.is_some_and(|(_, items)| !items.iter().all(is_use))
            }
            _ => true,
        };
        let logic = code.items.iter().filter(is_logic);
        let logic = logic.map(|item| item.span().start());
        file.logic = logic
            .filter(|at| !within(&file.tests, at))
            .map(|at| at.line)
            .collect();
        file.walk(code.into_token_stream(), &[], false);
        file
    }

    /// The file's place in one tree of modules that spans the crates: `core` and `host` add no level to it.
    pub fn module(&self) -> Vec<String> {
        let path = place_of(&self.path).unwrap_or(&self.path);
        let path = path.trim_end_matches(".rs");
        let path = ["/mod", "/lib"]
            .iter()
            .find_map(|root| path.strip_suffix(root))
            .unwrap_or(path);
        let parts = path.split('/').filter(|_| path != "lib");
        parts.map(str::to_owned).collect()
    }

    /// Returns the names used outside its tests.
    pub fn shipped(&self) -> impl Iterator<Item = &Name> {
        self.names.iter().filter(|name| !name.test)
    }

    fn attributes(&mut self, attributes: &[Attribute], node: &impl Spanned) {
        if attributes.iter().any(|a| is_test(&a.meta)) {
            self.tests.push(range(node));
        }
    }
}

macro_rules! parts {
    ($($visit:ident: $node:ident $(defines $($ident:ident).+)?,)*) => {
        $(fn $visit(&mut self, node: &'ast syn::$node) {
            self.attributes(&node.attrs, node);
            $(self.items.insert(plain(&node.$($ident).+));)?
            visit::$visit(self, node);
        })*
    };
}

/// First the parts of the file.
impl<'ast> Visit<'ast> for SourceFile {
    parts! {
        visit_arm: Arm,
        visit_expr_block: ExprBlock,
        visit_expr_call: ExprCall,
        visit_expr_method_call: ExprMethodCall,
        visit_field: Field,
        visit_field_pat: FieldPat,
        visit_field_value: FieldValue,
        visit_impl_item_const: ImplItemConst,
        visit_impl_item_fn: ImplItemFn,
        visit_item_const: ItemConst defines ident,
        visit_item_enum: ItemEnum defines ident,
        visit_item_fn: ItemFn defines sig.ident,
        visit_item_static: ItemStatic defines ident,
        visit_item_struct: ItemStruct defines ident,
        visit_item_trait: ItemTrait defines ident,
        visit_item_type: ItemType defines ident,
        visit_item_union: ItemUnion defines ident,
        visit_item_use: ItemUse,
        visit_local: Local,
        visit_stmt_macro: StmtMacro,
        visit_trait_item_fn: TraitItemFn,
        visit_variant: Variant,
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        self.attributes(&module.attrs, module);
        if module.content.is_some() {
            self.items.insert(plain(&module.ident));
            self.inner_modules.push(range(module));
        } else {
            self.modules.push(plain(&module.ident));
            if !matches!(module.vis, syn::Visibility::Inherited) {
                self.open_modules.push(plain(&module.ident));
            }
            if within(&self.tests, &module.span().start()) {
                self.test_modules.push(plain(&module.ident));
            }
        }
        visit::visit_item_mod(self, module);
    }

    fn visit_item_macro(&mut self, call: &'ast syn::ItemMacro) {
        self.attributes(&call.attrs, call);
        let name = call.ident.as_ref().map_or("*".to_owned(), plain);
        self.items.insert(name);
    }

    fn visit_item_impl(&mut self, block: &'ast syn::ItemImpl) {
        self.attributes(&block.attrs, block);
        if block.trait_.is_none() && matches!(*block.self_ty, Type::Path(_)) {
            self.self_types.push(block.self_ty.span().start());
        }
        visit::visit_item_impl(self, block);
    }
}

fn range(node: &impl Spanned) -> Range<LineColumn> {
    node.span().start()..node.span().end()
}

fn within(ranges: &[Range<LineColumn>], at: &LineColumn) -> bool {
    ranges.iter().any(|range| range.contains(at))
}

/// True if `#[…]` is `#[cfg(test)]` or `#[cfg(all(test, …))]`.
fn is_test(attribute: &Meta) -> bool {
    fn needs_test(condition: &Meta) -> bool {
        let path = condition.path();
        path.is_ident("test") || path.is_ident("all") && any_needs_test(condition)
    }
    fn any_needs_test(list: &Meta) -> bool {
        let parts = syn::punctuated::Punctuated::<Meta, syn::Token![,]>::parse_terminated;
        let parts = list
            .require_list()
            .and_then(|list| list.parse_args_with(parts));
        parts.is_ok_and(|parts| parts.iter().any(needs_test))
    }
    attribute.path().is_ident("cfg") && any_needs_test(attribute)
}

/// The identifier without the mark of a raw one.
fn plain(ident: &Ident) -> String {
    ident.to_string().trim_start_matches("r#").to_owned()
}

/// Then its names, from the tokens: the bodies of macros and the arguments of attributes are nothing else to syn.
impl SourceFile {
    fn name(&mut self, mut segments: Vec<String>, form: Form, at: LineColumn) {
        let at = self.text.unwrap_or(at);
        self.span_crates(&mut segments);
        let around = self
            .inner_modules
            .iter()
            .filter(|range| range.contains(&at));
        let ups = segments.iter().take_while(|segment| *segment == "super");
        let inside = around.count().min(ups.count());
        segments.splice(..inside, (inside > 0).then(|| "self".to_owned()));
        let form = match form {
            Form::Path if self.self_types.contains(&at) => Form::SelfType,
            form => form,
        };
        let test = within(&self.tests, &at);
        self.names.push(Name {
            segments,
            form,
            line: at.line,
            test,
        });
    }

    /// Turns a path through a member crate into one from the root of the tree that spans the crates.
    fn span_crates(&self, segments: &mut Vec<String>) {
        let whole = ["cli", "conformance", "service"];
        let Some(first) = segments.first_mut() else {
            return;
        };
        let inner = match first.as_str() {
            "crate" => folder_of(&self.path).filter(|own| whole.contains(own)),
            other => match other.strip_prefix("monolith_") {
                Some("core" | "host") => None,
                Some(member) => whole.iter().copied().find(|name| *name == member),
                None => return,
            },
        };
        let inner = inner.map(str::to_owned);
        "crate".clone_into(first);
        segments.splice(1..1, inner);
    }

    fn walk(&mut self, tokens: TokenStream, prefix: &[String], mut using: bool) {
        let trees: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while let Some(tree) = trees.get(at) {
            match tree {
                TokenTree::Group(group) if opens_attribute(&trees[..at]) => {
                    self.attribute(group.stream());
                }
                TokenTree::Group(group) => self.walk(group.stream(), &[], false),
                TokenTree::Literal(literal) if self.in_attribute => self.literal(literal),
                TokenTree::Ident(word) if word == "use" => using = !is(&trees, at + 1, '<'),
                TokenTree::Ident(first) => {
                    let path = [prefix, &[plain(first)]].concat();
                    at = self.path(&trees, at + 1, path, using, first.span().start());
                    continue;
                }
                TokenTree::Punct(star) if using && star.as_char() == '*' => {
                    let path = [prefix, &["*".to_owned()]].concat();
                    self.name(path, Form::Use("*".to_owned()), star.span().start());
                }
                TokenTree::Punct(mark) => using &= mark.as_char() != ';',
                TokenTree::Literal(_) => {}
            }
            at += 1;
        }
    }

    /// Reads on after the first word of a path, which ends before `at`; returns where the path ends.
    fn path(
        &mut self,
        trees: &[TokenTree],
        mut at: usize,
        mut path: Vec<String>,
        using: bool,
        start: LineColumn,
    ) -> usize {
        let member = at > 1 && is(trees, at - 2, '.') && !(at > 2 && is(trees, at - 3, '.'));
        while is_joint_colon(trees, at) && is(trees, at + 1, ':') {
            match trees.get(at + 2) {
                Some(TokenTree::Ident(next)) => path.push(plain(next)),
                Some(TokenTree::Punct(star)) if star.as_char() == '*' => path.push("*".to_owned()),
                Some(TokenTree::Group(group)) => {
                    self.walk(group.stream(), &path, using);
                    return at + 3;
                }
                _ => break,
            }
            at += 3;
        }
        let called = usize::from(is(trees, at, '!'));
        let arguments = match trees.get(at + called) {
            Some(TokenTree::Group(group)) => Some(group),
            _ => None,
        };
        let in_parentheses = |group: &Group| group.delimiter() == Delimiter::Parenthesis;
        let form = if using {
            path.truncate(path.len() - usize::from(path.last().is_some_and(|s| s == "self")));
            let alias = match (trees.get(at), trees.get(at + 1)) {
                (Some(TokenTree::Ident(word)), Some(TokenTree::Ident(alias))) if word == "as" => {
                    at += 2;
                    plain(alias)
                }
                _ => path.last().cloned().unwrap_or_default(),
            };
            Form::Use(alias)
        } else if called == 1 && arguments.is_some() {
            Form::Macro
        } else if member && arguments.is_some_and(in_parentheses) {
            Form::Method
        } else if member {
            Form::Field
        } else {
            Form::Path
        };
        if matches!(&*path, [cfg] if cfg == "cfg" || cfg == "cfg_attr")
            && arguments.is_some_and(|group| group.stream().to_string().contains("feature"))
        {
            self.name(path.clone(), Form::Feature, start);
        }
        self.name(path, form, start);
        at
    }

    fn attribute(&mut self, tokens: TokenStream) {
        let Some(TokenTree::Ident(name)) = tokens.clone().into_iter().next() else {
            return;
        };
        if name != "doc" {
            self.in_attribute = true;
            self.walk(tokens, &[], false);
            self.in_attribute = false;
        }
    }

    /// A text in an attribute may be the path of a function or type.
    fn literal(&mut self, literal: &Literal) {
        if let syn::Lit::Str(text) = syn::Lit::new(literal.clone())
            && text.parse::<Type>().is_ok()
            && let Ok(tokens) = text.value().parse()
        {
            self.text = Some(literal.span().start());
            self.walk(tokens, &[], false);
            self.text = None;
        }
    }
}

fn is(trees: &[TokenTree], at: usize, mark: char) -> bool {
    matches!(trees.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == mark)
}

fn is_joint_colon(trees: &[TokenTree], at: usize) -> bool {
    matches!(trees.get(at), Some(TokenTree::Punct(p)) if p.as_char() == ':' && p.spacing() == Spacing::Joint)
}

/// True if a bracket after these tokens begins an attribute: `#[` or `#![`.
fn opens_attribute(before: &[TokenTree]) -> bool {
    let end = before.len();
    end > 0
        && (is(before, end - 1, '#')
            || end > 1 && is(before, end - 1, '!') && is(before, end - 2, '#'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_paths(code: &str, expect: &[(usize, &str)]) {
        let file = SourceFile::read("src/a.rs", code);
        let long = file.names.iter().filter(|name| name.segments.len() > 1);
        let found: Vec<(usize, String)> = long.map(|name| (name.line, name.text())).collect();
        let expect: Vec<(usize, String)> = expect.iter().map(|&(l, p)| (l, p.to_owned())).collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn groups_are_multiplied_out() {
        check_paths(
            "use std::{fs, io::{self as i, Read as R}, fmt::{self}};\nfn f() { ::a::b(c::d) }\nuse e::{*, f::*};",
            &[
                (1, "std::fs"),
                (1, "std::io"),
                (1, "std::io::Read"),
                (1, "std::fmt"),
                (2, "a::b"),
                (2, "c::d"),
                (3, "e::*"),
                (3, "e::f::*"),
            ],
        );
    }

    #[test]
    fn a_block_after_a_path_is_no_group() {
        let code = "fn f() { match a::b { c::d => e::f, g => h::i } }";
        let paths = [(1, "a::b"), (1, "c::d"), (1, "e::f"), (1, "h::i")];
        check_paths(code, &paths);
    }

    #[test]
    fn comments_and_literals_name_nothing() {
        check_paths(
            "/// m::n\nfn f() { a::b; /* e::f */ \"k::l\"; r#\"o::p\"#; 'x'; } // c::d",
            &[(2, "a::b")],
        );
    }

    #[test]
    fn the_bodies_of_macros_and_the_arguments_of_attributes_are_read() {
        let code = "fn f() {\n println!(\"{}\", vec![a::b(x::<c::D>())]);\n matches!(x, e::F { .. });\n}\n\
                    macro_rules! m { () => { use g::{h, i::J}; } }\n\
                    #[k(l::m, with = \"n::o\", text = \"p::q r\")]\nstruct S;";
        let in_macros = [
            (2, "a::b"),
            (2, "c::D"),
            (3, "e::F"),
            (5, "g::h"),
            (5, "g::i::J"),
        ];
        check_paths(
            code,
            &[&in_macros[..], &[(6, "l::m"), (6, "n::o")]].concat(),
        );
    }

    #[test]
    fn test_items_are_not_shipped() {
        let code = "fn a() {}\n#[cfg(test)]\n#[x(y)]\nmod tests { fn b() { {} } }\nfn c() {}\n\
                    #[cfg(all(test, unix))] mod more;\n#[cfg(not(test))] fn d() { #[cfg(test)] e(); }\n\
                    struct F { #[cfg(test)] g: H }";
        let file = SourceFile::read("src/a.rs", code);
        let words: String = file.shipped().map(|name| name.text() + " ").collect();
        assert_eq!(words, "fn a fn c cfg not test fn d struct F ");
    }

    #[test]
    fn a_file_declared_for_tests_is_not_shipped() {
        let tree = Tree::of(&[
            ("src/a/mod.rs", "mod b;\n#[cfg(test)]\nmod tests;"),
            ("src/a/b.rs", "#[cfg(test)] mod more;\nfn b() {}"),
            ("src/a/b/more.rs", "fn more() {}"),
            ("src/a/tests.rs", "mod deep;"),
            ("src/a/tests/deep.rs", "fn deep() {}"),
        ]);
        let files = tree.code();
        let shipping = files.iter().filter(|file| file.shipped().next().is_some());
        let shipping: Vec<&str> = shipping.map(|file| &*file.path).collect();
        assert_eq!(shipping, ["src/a/mod.rs", "src/a/b.rs"]);
    }
}
