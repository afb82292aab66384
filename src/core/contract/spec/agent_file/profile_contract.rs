//! The contract of a profile, and the profile of front matter. Does not read the values.

use super::front::{Front, Translator, key, scalar};
use super::profile::{AGENT_PROFILE, read_profile};
use crate::contract::spec::error::SourceRange;
use crate::contract::spec::fill::child;
use crate::contract::spec::form::Read as _;
use crate::contract::spec::keys::FILE;
use crate::contract::spec::tree::{Key, Kind, Node};
use crate::contract::{AgentId, AgentProfile};

impl Translator<'_, '_> {
    /// The contract of a profile. Keys that it does not know are refused where the profile is read.
    pub(super) fn take_profile(
        &self,
        root: &mut Node,
        said: &mut Front,
        mut entries: Vec<(Key, Node)>,
    ) {
        // What the others say is put into it.
        entries.sort_by_key(|(key, _)| key.text != AGENT_PROFILE.contract.name);
        for (key, value) in entries {
            let reporter = self.reporter.below(&key.text);
            match key.text.as_str() {
                "contract" if value.is_null() => {}
                "contract" if matches!(value.kind, Kind::Map(_)) => *root = value,
                "contract" => reporter.expected(&value, "a mapping"),
                "models" if child(root, FILE.targets.name).is_some() => {
                    let rule = "name the models here or in `targets` of `contract`, not both";
                    reporter.refuse(&value, rule, None);
                }
                "system" if child(root, FILE.system.name).is_some() => {
                    let rule = "give the prompt here or in `contract`, not both";
                    reporter.refuse(&value, rule, None);
                }
                "system" => said.system = String::read(&value, &reporter),
                "models" | "tools" => self.take(root, said, &key, value),
                _ => {}
            }
        }
    }

    /// The profile that front matter states. What names the agent is the file where it says nothing.
    pub(super) fn in_front_matter(
        &self,
        mut own: Vec<(Key, Node)>,
        place: &SourceRange,
    ) -> Option<AgentProfile> {
        let name = self.file.rsplit(['/', '\\']).next().unwrap_or_default();
        let name = name.strip_suffix(".ai").unwrap_or(name);
        let id = AgentId::sanitized(name);
        let keys = &AGENT_PROFILE;
        for (name, value) in [(keys.id.name, id.as_str()), (keys.version.name, "0")] {
            if own.iter().all(|(key, _)| key.text != name) {
                own.push((key(name, place), scalar(value, place)));
            }
        }
        let kind = Kind::Map(own);
        let place = place.clone();
        read_profile(&Node { kind, place }, self.reporter, self.digest)
    }
}
