//! One Rust file, with a switch at each place where the program could behave otherwise.
//!
//! It knows the syntax alone: an edit that does not compile is found by the compiler, and then left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::{Range, RangeInclusive};

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, BinOp, Expr, ImplItem, Item, Lit, Meta, Pat, Signature, Stmt};

/// The methods that answer yes or no.
const ASKING: [&str; 15] = [
    "all",
    "any",
    "contains",
    "contains_key",
    "ends_with",
    "eq",
    "holds",
    "insert",
    "is_empty",
    "is_none",
    "is_none_or",
    "is_ok",
    "is_some",
    "is_some_and",
    "starts_with",
];

/// The effect of a switch on the code around which it is placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// A condition is turned round.
    Flip,
    /// A text is another one.
    Text,
    /// A number is another one.
    Number,
    /// A statement is left out.
    Drop,
    /// An arm of a match is never taken.
    Arm,
    /// A variant without fields is another one of its type.
    Variant,
}

/// A place where the program can be made to behave otherwise.
#[derive(Clone, Debug)]
pub struct Mutant {
    pub change: Change,
    pub bytes: Range<usize>,
    pub line: usize,
    last_line: usize,
    /// The lines of the body that it stands in.
    pub body: RangeInclusive<usize>,
    /// The other variant.
    other: String,
}

impl Mutant {
    /// True if an error at one of these lines may be the mutant's.
    pub fn stands_at(&self, lines: &BTreeSet<usize>) -> bool {
        let last = match self.change {
            Change::Drop | Change::Arm => self.last_line,
            Change::Flip | Change::Text | Change::Number | Change::Variant => self.line,
        };
        lines.range(self.line..=last).next().is_some()
    }
}

/// The mutants of a file, and the functions that stop being `const` for their sake.
pub struct Edits<'a> {
    mutants: Vec<Mutant>,
    body: RangeInclusive<usize>,
    unconst: Vec<Range<usize>>,
    keep_const: &'a BTreeSet<String>,
    /// The variants without fields that the file names, by their type.
    variants: BTreeMap<String, BTreeSet<String>>,
}

impl<'a> Edits<'a> {
    /// The mutants of `text`; none inside functions that must stay `const`.
    pub fn of(text: &str, keep_const: &'a BTreeSet<String>) -> Self {
        let mut edits = Self {
            mutants: Vec::new(),
            body: 0..=0,
            unconst: Vec::new(),
            keep_const,
            variants: BTreeMap::new(),
        };
        edits.visit_file(&syn::parse_file(text).unwrap());
        edits.choose_variants(text);
        edits
            .mutants
            .sort_by_key(|m| (m.bytes.start, usize::MAX - m.bytes.end));
        edits.mutants.dedup_by(|a, b| a.bytes == b.bytes);
        edits
    }

    pub fn mutants(self) -> (Vec<Mutant>, Vec<Range<usize>>) {
        (self.mutants, self.unconst)
    }

    /// Gives each variant another one of its type that the file names; one that has none is no mutant.
    fn choose_variants(&mut self, text: &str) {
        let variants = &self.variants;
        self.mutants.retain_mut(|mutant| {
            if mutant.change != Change::Variant {
                return true;
            }
            let (of, name) = text[mutant.bytes.clone()].split_once("::").unwrap();
            let other = variants[of].iter().find(|other| *other != name);
            mutant.other = other
                .map(|other| format!("{of}::{other}"))
                .unwrap_or_default();
            other.is_some()
        });
    }

    fn add(&mut self, change: Change, span: Span) {
        self.mutants.push(Mutant {
            change,
            bytes: span.byte_range(),
            line: span.start().line,
            last_line: span.end().line,
            body: self.body.clone(),
            other: String::new(),
        });
    }

    fn body(&mut self, block: &syn::Block) {
        let outer = self.body.clone();
        self.body = block.span().start().line..=block.span().end().line;
        self.visit_block(block);
        self.body = outer;
    }

    /// True if the body of the function may hold mutants.
    fn enters(&mut self, attrs: &[Attribute], sig: &Signature) -> bool {
        if is_test(attrs) {
            return false;
        }
        let Some(constness) = &sig.constness else {
            return true;
        };
        if self.keep_const.contains(&sig.ident.to_string()) {
            return false;
        }
        self.unconst.push(constness.span().byte_range());
        true
    }
}

/// Returns the text with a switch around each mutant, which holds the given number. Lines keep their numbers.
pub fn edited(text: &str, mutants: &[(u32, Mutant)], unconst: &[Range<usize>]) -> String {
    // Where, its rank among those at that place, whether it closes, and the text.
    let mut inserts: Vec<(usize, usize, bool, String)> = Vec::new();
    for (number, mutant) in mutants {
        let Range { start, end } = mutant.bytes;
        let width = end - start;
        let mut open = String::new();
        let call = match mutant.change {
            Change::Flip => "flip",
            Change::Text => "text",
            Change::Number => "number",
            Change::Variant => "either",
            Change::Drop | Change::Arm => "keep",
        };
        match mutant.change {
            Change::Arm => {
                inserts.push((end, 0, false, format!(" if crate::mutants::keep({number})")));
                continue;
            }
            Change::Drop => write!(open, "if crate::mutants::keep({number}) {{ ").unwrap(),
            _ => write!(open, "crate::mutants::{call}({number}, ").unwrap(),
        }
        let close = match mutant.change {
            Change::Drop => " }".to_owned(),
            Change::Variant => format!(", {})", mutant.other),
            _ => ")".to_owned(),
        };
        // Of switches that begin together the widest is opened first; of those that end together the narrowest closes first.
        inserts.push((start, usize::MAX - width, false, open));
        inserts.push((end, width, true, close));
    }
    let mut out = String::new();
    let mut at = 0;
    inserts.sort_by_key(|insert| (insert.0, !insert.2, insert.1));
    let mut cuts = unconst.to_vec();
    cuts.sort_by_key(|cut| cut.start);
    let mut cuts = cuts.into_iter().peekable();
    for (place, _, _, inserted) in inserts {
        while let Some(cut) = cuts.next_if(|cut| cut.start < place) {
            out.push_str(&text[at..cut.start]);
            at = cut.end;
        }
        out.push_str(&text[at..place]);
        out.push_str(&inserted);
        at = place;
    }
    for cut in cuts {
        out.push_str(&text[at..cut.start]);
        at = cut.end;
    }
    out.push_str(&text[at..]);
    out
}

impl<'ast> Visit<'ast> for Edits<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        match item {
            Item::Fn(function) if self.enters(&function.attrs, &function.sig) => {
                self.body(&function.block);
            }
            Item::Impl(block) if !is_test(&block.attrs) => {
                for item in &block.items {
                    if let ImplItem::Fn(function) = item
                        && self.enters(&function.attrs, &function.sig)
                    {
                        self.body(&function.block);
                    }
                }
            }
            Item::Mod(module) if !is_test(&module.attrs) => visit::visit_item_mod(self, module),
            // What is constant, and what is defined for another place.
            _ => {}
        }
    }

    fn visit_stmt(&mut self, stmt: &'ast Stmt) {
        if let Stmt::Expr(expr, Some(semi)) = stmt {
            let assigns = matches!(expr, Expr::Binary(b) if is_assignment(&b.op));
            if assigns || matches!(expr, Expr::MethodCall(_) | Expr::Call(_) | Expr::Assign(_)) {
                let span = expr.span().join(semi.span()).unwrap_or_else(|| expr.span());
                self.add(Change::Drop, span);
            }
        }
        visit::visit_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'ast Expr) {
        match expr {
            Expr::If(branch) if !has_let(&branch.cond) => {
                self.add(Change::Flip, branch.cond.span());
            }
            Expr::Binary(binary) if is_question(&binary.op) && !has_let(expr) => {
                self.add(Change::Flip, expr.span());
            }
            Expr::MethodCall(call) if ASKING.contains(&call.method.to_string().as_str()) => {
                self.add(Change::Flip, expr.span());
            }
            Expr::MethodCall(call)
                if ["then", "then_some"].contains(&call.method.to_string().as_str()) =>
            {
                self.add(Change::Flip, call.receiver.span());
            }
            Expr::Call(call) if matches!(&*call.func, Expr::Path(path) if path.path.is_ident("holds")) =>
            {
                self.add(Change::Flip, expr.span());
                return call
                    .args
                    .iter()
                    .for_each(|argument| self.visit_expr(argument));
            }
            Expr::Macro(call) if call.mac.path.is_ident("matches") => {
                self.add(Change::Flip, expr.span());
            }
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(_) => self.add(Change::Text, expr.span()),
                Lit::Int(_) => self.add(Change::Number, expr.span()),
                Lit::Bool(_) => self.add(Change::Flip, expr.span()),
                _ => {}
            },
            // A variant with fields is a function here.
            Expr::Call(call) if matches!(&*call.func, Expr::Path(_)) => {
                return call
                    .args
                    .iter()
                    .for_each(|argument| self.visit_expr(argument));
            }
            Expr::Path(path) if variant(path).is_some() => {
                let (of, name) = variant(path).unwrap();
                self.variants.entry(of).or_default().insert(name);
                self.add(Change::Variant, expr.span());
            }
            Expr::Path(path)
                if path
                    .path
                    .segments
                    .last()
                    .is_some_and(|s| is_constant(&s.ident.to_string())) =>
            {
                self.add(Change::Number, expr.span());
            }
            Expr::Match(choice) => {
                let (last, arms) = choice.arms.split_last().unwrap();
                if takes_all(&last.pat) {
                    let plain = arms.iter().filter(|arm| !matches!(arm.pat, Pat::Guard(_)));
                    for arm in plain {
                        self.add(Change::Arm, arm.pat.span());
                    }
                }
                for arm in &choice.arms {
                    if let Pat::Guard(guarded) = &arm.pat
                        && !has_let(&guarded.guard)
                    {
                        self.add(Change::Flip, guarded.guard.span());
                        self.visit_expr(&guarded.guard);
                    }
                }
            }
            // Its length is constant.
            Expr::Repeat(repeat) => return self.visit_expr(&repeat.expr),
            Expr::Const(_) => return,
            _ => {}
        }
        visit::visit_expr(self, expr);
    }

    fn visit_pat(&mut self, _: &'ast Pat) {}

    fn visit_type(&mut self, _: &'ast syn::Type) {}

    fn visit_attribute(&mut self, _: &'ast Attribute) {}
}

/// The type and the name of a variant, where the path may name one.
fn variant(path: &syn::ExprPath) -> Option<(String, String)> {
    let mut segments = path.path.segments.iter();
    let (of, name) = (segments.next()?, segments.next()?);
    let (of, name) = (of.ident.to_string(), name.ident.to_string());
    let capital = |name: &str| name.starts_with(char::is_uppercase) && !is_constant(name);
    (segments.next().is_none() && capital(&of) && capital(&name)).then_some((of, name))
}

/// True if the pattern takes all that no arm before it took; a name in capitals is a variant.
fn takes_all(pat: &Pat) -> bool {
    match pat {
        Pat::Wild(_) => true,
        Pat::Ident(name) => {
            name.subpat.is_none() && name.ident.to_string().starts_with(char::is_lowercase)
        }
        _ => false,
    }
}

/// `#[test]`, `#[cfg(test)]` and their like.
fn is_test(attrs: &[Attribute]) -> bool {
    attrs.iter().any(|attr| match &attr.meta {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string().contains("test"),
        Meta::NameValue(_) => false,
    })
}

fn is_constant(name: &str) -> bool {
    name.len() > 1
        && name
            .chars()
            .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

const fn is_question(op: &BinOp) -> bool {
    use BinOp::{And, Eq, Ge, Gt, Le, Lt, Ne, Or};
    matches!(
        op,
        And(_) | Or(_) | Eq(_) | Ne(_) | Lt(_) | Le(_) | Gt(_) | Ge(_)
    )
}

const fn is_assignment(op: &BinOp) -> bool {
    use BinOp::{AddAssign, BitAndAssign, BitOrAssign, MulAssign, SubAssign};
    matches!(
        op,
        AddAssign(_) | SubAssign(_) | MulAssign(_) | BitAndAssign(_) | BitOrAssign(_)
    )
}

/// True if the condition binds names: then only its other parts can be negated.
fn has_let(expr: &Expr) -> bool {
    match expr {
        Expr::Let(_) => true,
        Expr::Binary(binary) => has_let(&binary.left) || has_let(&binary.right),
        Expr::Paren(paren) => has_let(&paren.expr),
        _ => false,
    }
}
