use std::collections::HashMap;

use super::rust_source::{Form, Name, SourceFile};

/// The tree of modules, in which a path is followed to the file that defines what it names.
pub struct Paths<'t> {
    modules: HashMap<Vec<String>, &'t SourceFile>,
    /// The names that each file brings in by `use`, by their local name.
    uses: HashMap<&'t str, HashMap<&'t str, Vec<&'t Name>>>,
}

/// The target of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target<'t> {
    Module(Vec<String>),
    /// The file that defines the item.
    Item(&'t str),
}

/// Maximum number of re-exports in a path.
const MOST_STEPS: usize = 10;

/// Returns the rest of a path from the root of the crate, if it says so: by `crate`, `self` or `super`.
pub fn from_root(here: &[String], path: &[String]) -> Option<Vec<String>> {
    let ups = path
        .iter()
        .take_while(|segment| *segment == "super")
        .count();
    match path.first()?.as_str() {
        "crate" | "monolith" => Some(path[1..].to_vec()),
        "self" => from_root(here, &path[1..]).or_else(|| Some([here, &path[1..]].concat())),
        "super" => Some([&here[..here.len().checked_sub(ups)?], &path[ups..]].concat()),
        _ => None,
    }
}

impl<'t> Paths<'t> {
    pub fn of(files: &'t [SourceFile]) -> Self {
        let modules = files.iter().map(|file| (file.module(), file)).collect();
        let mut uses: HashMap<&str, HashMap<&str, Vec<&Name>>> = HashMap::new();
        for file in files {
            let uses = uses.entry(&file.path).or_default();
            for name in file.shipped() {
                if let Form::Use(alias) = &name.form {
                    uses.entry(alias).or_default().push(name);
                }
            }
        }
        Self { modules, uses }
    }

    pub fn file(&self, module: &[String]) -> &'t str {
        self.modules.get(module).map_or("", |file| &file.path)
    }

    /// Returns the possible targets of a path in the module `here`; none if it leaves the crate.
    pub fn resolve(&self, here: &[String], path: &[String]) -> Vec<Target<'t>> {
        self.follow(here, path, 0)
    }

    fn follow(&self, here: &[String], path: &[String], steps: usize) -> Vec<Target<'t>> {
        let (mut targets, rest) = match from_root(here, path) {
            Some(path) => (vec![Target::Module(Vec::new())], path),
            None => (vec![Target::Module(here.to_vec())], path.to_vec()),
        };
        for (at, segment) in rest
            .iter()
            .enumerate()
            .filter(|(_, segment)| *segment != "*")
        {
            let last = at + 1 == rest.len();
            let step = |target| match target {
                Target::Module(module) => self.find(&module, segment, last, steps),
                item @ Target::Item(_) => vec![item],
            };
            targets = targets.into_iter().flat_map(step).collect();
        }
        targets
    }

    /// Returns the meaning of a name in a module: its child, its item, the target of a `use` of that name, else of its globs.
    fn find(&self, module: &[String], name: &str, last: bool, steps: usize) -> Vec<Target<'t>> {
        let Some(file) = self.modules.get(module).filter(|_| steps < MOST_STEPS) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        let child = [module, &[name.to_owned()]].concat();
        if self.modules.contains_key(&child) {
            found.push(Target::Module(child));
            if !last {
                return found;
            }
        }
        if file.items.contains(name) {
            found.push(Target::Item(&file.path));
        }
        let uses = |alias: &str| {
            let uses = self.uses.get(&*file.path).and_then(|uses| uses.get(alias));
            let uses = uses.into_iter().flatten().copied();
            uses.filter(|path| path.segments != [name])
        };
        let brings = |path: &Name| self.follow(module, &path.segments, steps + 1);
        found.extend(uses(name).flat_map(brings));
        if found.is_empty() {
            for target in uses("*").flat_map(brings) {
                match target {
                    Target::Module(from) if from != module => {
                        found.extend(self.find(&from, name, last, steps + 1));
                    }
                    _ => {}
                }
            }
        }
        if found.is_empty() && file.items.contains("*") {
            found.push(Target::Item(&file.path));
        }
        found
    }
}
