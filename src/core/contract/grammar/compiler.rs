//! Compiles a JSON Schema into parts of a grammar. Does not print them.

use serde_json::{Map, Value};

use super::combine::{disjoint, merge, resolve};
use super::expr::{ClosingCost, Expr};
use super::keywords::{COMBINING, REFUSED, STRUCTURE, fault, is, is_vacuous, span, types_of};
use super::numbers::numbers;
use super::pattern::pattern;
use crate::contract::schema_bounds::{SchemaFault, join};

/// The most parts of the grammar of one schema.
const MAX_PARTS: usize = 20_000;
/// The most schemas that are looked at, each as often as it is reached.
const MAX_STEPS: usize = 20_000;
/// Maximum nesting of schemas once references are followed.
const MAX_DEPTH: usize = 96;
/// Maximum nesting of a reference in itself; deeper, only values without it are offered.
const MAX_RECURSION: usize = 2;

/// The limits that apply if the schema itself is wider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limits {
    /// Items of an array.
    pub(super) array_items: u32,
    /// Characters of a string.
    pub(super) string_characters: u32,
}

/// Turns schemas into parts of one grammar. None means a schema that no value fits.
#[derive(Debug)]
pub(super) struct Compiler<'s> {
    depth: usize,
    pub(super) limits: Limits,
    parts: usize,
    /// References that are being followed.
    open: Vec<String>,
    root: &'s Value,
    pub(super) closings: Vec<ClosingCost>,
    pub(super) rules: Vec<Expr>,
    steps: usize,
}

impl<'s> Compiler<'s> {
    /// A compiler for one document, whose rules come after `rules`.
    pub(super) fn new(
        root: &'s Value,
        limits: Limits,
        rules: Vec<Expr>,
        closings: Vec<ClosingCost>,
    ) -> Self {
        Self {
            depth: 0,
            limits,
            parts: 0,
            open: Vec::new(),
            root,
            closings,
            rules,
            steps: 0,
        }
    }

    /// The grammar of a tool's arguments: always an object.
    pub(super) fn arguments(&mut self) -> Result<Expr, SchemaFault> {
        let root = self.root;
        let Some(schema) = root.as_object() else {
            return Err(fault("", "it is not a JSON object"));
        };
        let typed =
            schema.contains_key("type") || COMBINING.iter().any(|k| schema.contains_key(*k));
        let compiled = if typed {
            self.value(root, "")?
        } else {
            self.object(schema, "")?
        };
        let compiled = compiled.ok_or_else(|| fault("", "no value fits it"))?;
        let begins = self.begins(&compiled);
        if begins.iter().all(|first| *first == Some('{')) {
            Ok(compiled)
        } else {
            Err(fault("", "it allows arguments that are no object"))
        }
    }

    /// The first character of everything that a part may be, as far as it is a literal's.
    fn begins(&self, expr: &Expr) -> Vec<Option<char>> {
        match expr {
            Expr::Literal(text) => vec![text.chars().next()],
            Expr::Alt(parts) => parts.iter().flat_map(|part| self.begins(part)).collect(),
            Expr::Seq(parts) => parts.first().map_or(vec![None], |part| self.begins(part)),
            Expr::Rule(index) => self
                .rules
                .get(*index)
                .map_or(vec![None], |rule| self.begins(rule)),
            Expr::Class(_) | Expr::Lexeme(_) | Expr::Repeat(..) => vec![None],
        }
    }

    /// Keeps a part as a rule, so that it can be named more than once.
    pub(super) fn rule(&mut self, expr: Expr, at: &str) -> Result<Expr, SchemaFault> {
        if matches!(expr, Expr::Rule(_) | Expr::Literal(_)) {
            return Ok(expr);
        }
        self.parts += expr.size();
        if self.parts > MAX_PARTS {
            let rule = format!("its grammar would have more than {MAX_PARTS} parts");
            return Err(fault(at, &rule));
        }
        self.closings.push(expr.closing(&self.closings));
        self.rules.push(expr);
        Ok(Expr::Rule(self.rules.len() - 1))
    }

    pub(super) fn value(&mut self, schema: &Value, at: &str) -> Result<Option<Expr>, SchemaFault> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return Err(fault(at, "its references lead to too many schemas"));
        }
        if self.depth >= MAX_DEPTH {
            let rule = format!("nested deeper than {MAX_DEPTH} levels");
            return Err(fault(at, &rule));
        }
        self.depth += 1;
        let compiled = match schema {
            Value::Bool(false) => Ok(None),
            Value::Bool(true) => Ok(Some(self.scalar())),
            Value::Object(map) => self.object_schema(map, at),
            Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                Err(fault(at, "it is no schema"))
            }
        };
        self.depth -= 1;
        compiled
    }

    fn object_schema(
        &mut self,
        schema: &Map<String, Value>,
        at: &str,
    ) -> Result<Option<Expr>, SchemaFault> {
        for key in REFUSED {
            if schema.contains_key(key) && !is_vacuous(key, schema) {
                let rule = format!("`{key}` cannot be said in the gate's grammar");
                return Err(fault(&join(at, key), &rule));
            }
        }
        let structured =
            STRUCTURE.iter().any(|key| schema.contains_key(*key)) || schema.contains_key("type");
        let combined: Vec<&str> = COMBINING
            .into_iter()
            .filter(|key| schema.contains_key(*key))
            .collect();
        match combined.as_slice() {
            [] => self.plain(schema, at),
            ["$ref"] if !structured => self.reference(schema, at),
            [key] => self.combination(schema, key, structured, at),
            [_, second, ..] => Err(fault(
                &join(at, second),
                "two of $ref, allOf, anyOf and oneOf beside each other cannot be said in the gate's grammar",
            )),
        }
    }

    fn reference(
        &mut self,
        schema: &Map<String, Value>,
        at: &str,
    ) -> Result<Option<Expr>, SchemaFault> {
        let pointer = join(at, "$ref");
        let target = schema
            .get("$ref")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let root = self.root;
        let (found, place) = resolve(root, target).ok_or_else(|| {
            fault(
                &pointer,
                "it names nothing in this schema by a JSON pointer",
            )
        })?;
        if self.open.iter().filter(|open| *open == place).count() >= MAX_RECURSION {
            return Ok(None);
        }
        self.open.push(place.to_owned());
        let compiled = self.value(found, place);
        self.open.pop();
        compiled
    }

    /// `$ref`, `allOf`, `anyOf` or `oneOf`, alone or beside other keywords.
    fn combination(
        &mut self,
        schema: &Map<String, Value>,
        key: &str,
        structured: bool,
        at: &str,
    ) -> Result<Option<Expr>, SchemaFault> {
        let place = join(at, key);
        let mut base = schema.clone();
        let parts = match base.shift_remove(key) {
            Some(Value::Array(parts)) if !parts.is_empty() => parts,
            Some(reference @ Value::String(_)) => {
                let mut target = Map::new();
                target.insert(key.to_owned(), reference);
                vec![Value::Object(target)]
            }
            _ => return Err(fault(&place, "it is no list of schemas")),
        };
        if matches!(key, "allOf" | "$ref") {
            if !structured && let [only] = parts.as_slice() {
                return self.value(only, &join(&place, "0"));
            }
            let mut whole = base;
            for (n, part) in parts.iter().enumerate() {
                let here = if key == "$ref" {
                    place.clone()
                } else {
                    join(&place, &n.to_string())
                };
                whole = merge(self.root, &whole, part).map_err(|rule| fault(&here, &rule))?;
            }
            return self.value(&Value::Object(whole), at);
        }
        let merged: Vec<Value> = if structured {
            let merged = parts.iter().enumerate().map(|(n, part)| {
                merge(self.root, &base, part)
                    .map(Value::Object)
                    .map_err(|rule| fault(&join(&place, &n.to_string()), &rule))
            });
            merged.collect::<Result<_, _>>()?
        } else {
            parts
        };
        if key == "oneOf" {
            for (n, one) in merged.iter().enumerate() {
                if merged
                    .iter()
                    .skip(n + 1)
                    .any(|other| !disjoint(self.root, one, other, 0))
                {
                    let rule = "nothing shows that its alternatives exclude each other: use anyOf";
                    return Err(fault(&join(&place, &n.to_string()), rule));
                }
            }
        }
        let mut alternatives = Vec::new();
        for (n, alternative) in merged.iter().enumerate() {
            if let Some(expr) = self.value(alternative, &join(&place, &n.to_string()))?
                && !alternatives.contains(&expr)
            {
                alternatives.push(expr);
            }
        }
        Ok((!alternatives.is_empty()).then(|| Expr::alt(alternatives)))
    }

    /// A schema without combining keywords.
    fn plain(
        &mut self,
        schema: &Map<String, Value>,
        at: &str,
    ) -> Result<Option<Expr>, SchemaFault> {
        let types = types_of(schema);
        for key in ["const", "enum"] {
            let values = match schema.get(key) {
                Some(Value::Array(values)) if key == "enum" => values.as_slice(),
                Some(value) if key == "const" => std::slice::from_ref(value),
                Some(_) => return Err(fault(&join(at, key), "it is no list of values")),
                None => continue,
            };
            let other = |other: &&&str| **other != key && schema.contains_key(**other);
            if let Some(other) = STRUCTURE.iter().find(other) {
                let rule = format!("`{key}` beside `{other}` cannot be said in the gate's grammar");
                return Err(fault(&join(at, key), &rule));
            }
            let mut literals: Vec<Expr> = Vec::new();
            for value in values
                .iter()
                .filter(|v| types.as_ref().is_none_or(|t| t.iter().any(|t| is(v, t))))
            {
                let literal = Expr::literal(value.to_string());
                if !literals.contains(&literal) {
                    literals.push(literal);
                }
            }
            return Ok((!literals.is_empty()).then(|| Expr::alt(literals)));
        }
        let Some(types) = types else {
            return Ok(Some(self.scalar()));
        };
        let mut forms = Vec::new();
        for kind in types {
            let form = match kind {
                "object" => self.object(schema, at)?,
                "array" => self.array(schema, at)?,
                "string" => Some(self.string(schema, at)?),
                "boolean" => Some(Expr::Alt(vec![
                    Expr::literal("true"),
                    Expr::literal("false"),
                ])),
                "null" => Some(Expr::literal("null")),
                "integer" | "number" => {
                    let rule =
                        "no number of at most 15 digits, 6 after the point, lies within its bounds";
                    let found = numbers(schema, kind == "number");
                    Some(found.ok_or_else(|| fault(at, rule))?)
                }
                _ => return Err(fault(&join(at, "type"), "it is no type of JSON")),
            };
            forms.extend(form);
        }
        Ok((!forms.is_empty()).then(|| Expr::alt(forms)))
    }

    /// Any value but arrays and objects: the grammar of an empty schema.
    pub(super) fn scalar(&self) -> Expr {
        let any = numbers(&Map::new(), true);
        let mut forms = vec![Expr::string(0, self.limits.string_characters)];
        forms.extend(any);
        forms.extend(["true", "false", "null"].map(Expr::literal));
        Expr::Alt(forms)
    }

    fn string(&self, schema: &Map<String, Value>, at: &str) -> Result<Expr, SchemaFault> {
        let most = self.limits.string_characters;
        let (low, high) = span(schema, ("minLength", "maxLength"), most, at)?;
        let Some(text) = schema.get("pattern").and_then(Value::as_str) else {
            return Ok(Expr::string(low, high));
        };
        let place = join(at, "pattern");
        let cannot = |why: &str| {
            fault(
                &place,
                &format!("it cannot be said in the gate's grammar: {why}"),
            )
        };
        let (expr, least, most) = pattern(text).map_err(cannot)?;
        if least < low || most > high {
            return Err(cannot(
                "it allows lengths that minLength or maxLength forbids",
            ));
        }
        Ok(expr)
    }
}
