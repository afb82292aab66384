//! The keys of one entry of `agents`, with types, defaults and meanings. Data only.

use crate::contract::spec::agent_values::{AgentFile, ToolPatterns};
use crate::contract::spec::declare::form;
use crate::contract::spec::form::{DefaultText, NEEDED};

form! {
    /// One entry of `agents`, where it is more than a path.
    AGENT: AgentKeys, "agent", "an agent that may be called" [pub(in crate::contract) struct AgentEntry by hand];
    "agents": {
        file: AgentFile as String => needed, DefaultText = NEEDED,
        "Its file: a `.ai` file, a profile or a contract file. A relative path begins in the folder of the file that names it.";
        tools: ToolPatterns as Vec<String>, DefaultText = DefaultText("those that its own file names"),
        "Which tools it may have, and the agents below it, as patterns of the names that a model sees: `fs__*`, `agent__*`. A call of an agent that \
         has others is refused." => nullable;
    }
}
