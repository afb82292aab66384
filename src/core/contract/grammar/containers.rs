//! Arrays and objects.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::compiler::Compiler;
use super::expr::Expr;
use super::keywords::{fault, span};
use crate::contract::schema_bounds::{SchemaFault, join};

impl Compiler<'_> {
    pub(super) fn array(
        &mut self,
        schema: &Map<String, Value>,
        at: &str,
    ) -> Result<Option<Expr>, SchemaFault> {
        let limit = self.limits.array_items;
        let (least, mut most) = span(schema, ("minItems", "maxItems"), limit, at)?;
        if schema.get("uniqueItems") == Some(&Value::Bool(true)) {
            if least > 1 {
                let rule = "two items that differ cannot be said in the gate's grammar";
                return Err(fault(&join(at, "uniqueItems"), rule));
            }
            most = most.min(1);
        }
        let item = match schema.get("items") {
            Some(items) => self.value(items, &join(at, "items"))?,
            None => Some(self.scalar()),
        };
        let empty = || Expr::literal("[]");
        let (Some(item), 1..) = (item, most) else {
            return Ok((least == 0).then(empty));
        };
        let item = self.rule(item, at)?;
        let after = Expr::seq(vec![Expr::literal(","), item.clone()]);
        let filled = Expr::seq(vec![
            Expr::literal("["),
            item,
            after.repeat(least.saturating_sub(1), most - 1),
            Expr::literal("]"),
        ]);
        Ok(Some(if least == 0 {
            Expr::Alt(vec![filled, empty()])
        } else {
            filled
        }))
    }

    /// An object with the declared members in their order; one that declares none may have at most one of any name, because
    /// a grammar cannot keep two names apart.
    pub(super) fn object(
        &mut self,
        schema: &Map<String, Value>,
        at: &str,
    ) -> Result<Option<Expr>, SchemaFault> {
        let none = Map::new();
        let properties = match schema.get("properties") {
            Some(Value::Object(properties)) => properties,
            Some(_) => return Err(fault(&join(at, "properties"), "it is no object")),
            None => &none,
        };
        let required = schema.get("required").and_then(Value::as_array);
        let required: BTreeSet<&str> = required
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let undeclared = required
            .iter()
            .find(|name| !properties.contains_key(**name));
        if let Some(name) = undeclared {
            let rule = format!("`properties` does not say what {name:?} is");
            return Err(fault(&join(at, "required"), &rule));
        }
        let count = |key: &str| schema.get(key).and_then(Value::as_u64);
        let few = count("minProperties").is_some_and(|least| least > required.len() as u64);
        let many = count("maxProperties").is_some_and(|most| most < properties.len() as u64);
        for (broken, key) in [(few, "minProperties"), (many, "maxProperties")] {
            if broken {
                let rule = "a number of members cannot be said in the gate's grammar";
                return Err(fault(&join(at, key), rule));
            }
        }
        if properties.is_empty() {
            return self.map(schema, at).map(Some);
        }
        let place = join(at, "properties");
        let mut members = Vec::new();
        for (name, member) in properties {
            let needed = required.contains(name.as_str());
            match self.value(member, &join(&place, name))? {
                Some(value) => {
                    let value = self.rule(value, at)?;
                    let key = format!("{}:", Value::from(name.as_str()));
                    members.push((needed, Expr::seq(vec![Expr::literal(key), value])));
                }
                None if needed => return Ok(None),
                None => {}
            }
        }
        // From the end: what may follow after a member, and what may follow before the first.
        let mut later = Expr::literal("}");
        let mut first = Expr::literal("}");
        for (needed, member) in members.into_iter().rev() {
            let started = Expr::seq(vec![member.clone(), later.clone()]);
            let more = Expr::seq(vec![Expr::literal(","), member, later.clone()]);
            (first, later) = if needed {
                (started, more)
            } else {
                (
                    Expr::Alt(vec![started, first]),
                    Expr::Alt(vec![more, later]),
                )
            };
            first = self.rule(first, at)?;
            later = self.rule(later, at)?;
        }
        Ok(Some(Expr::seq(vec![Expr::literal("{"), first])))
    }

    fn map(&mut self, schema: &Map<String, Value>, at: &str) -> Result<Expr, SchemaFault> {
        let empty = Expr::literal("{}");
        let one_fits = schema.get("maxProperties").and_then(Value::as_u64) != Some(0);
        let member = match schema.get("additionalProperties") {
            // The members are not described: an object that is meant to be empty, such as the arguments of a tool without any.
            None => None,
            Some(_)
                if !one_fits
                    || schema.get("unevaluatedProperties") == Some(&Value::Bool(false)) =>
            {
                None
            }
            Some(member) => self.value(member, &join(at, "additionalProperties"))?,
        };
        let Some(member) = member else {
            return Ok(empty);
        };
        let member = self.rule(member, at)?;
        let filled = vec![
            Expr::literal("{"),
            Expr::string(1, self.limits.string_characters.min(64)),
            Expr::literal(":"),
            member,
            Expr::literal("}"),
        ];
        Ok(Expr::Alt(vec![Expr::seq(filled), empty]))
    }
}
