//! The one integration binary: what is tested from outside the library. Each subject is a module.

#[cfg(test)]
mod accounting;
#[cfg(test)]
mod agent_options;
#[cfg(test)]
mod agent_page;
#[cfg(test)]
mod agent_registry;
#[cfg(test)]
mod agent_whole;
#[cfg(test)]
mod agents;
#[cfg(test)]
mod agents_below;
#[cfg(test)]
mod ai_agent;
#[cfg(test)]
mod approval;
#[cfg(test)]
mod approvals;
#[cfg(test)]
mod atif;
#[cfg(test)]
mod attribution;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod beside_store;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod beyond_folder;
#[cfg(test)]
mod bring;
#[cfg(test)]
mod browser;
#[cfg(test)]
mod canary;
#[cfg(test)]
#[cfg(unix)]
mod chat;
#[cfg(test)]
mod cli;
#[cfg(test)]
mod config_layers;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod confinement;
#[cfg(test)]
mod continuation;
#[cfg(test)]
mod contract_file;
#[cfg(test)]
mod corpus;
#[cfg(test)]
mod cuts;
#[cfg(test)]
mod delegation;
#[cfg(test)]
mod deletion;
#[cfg(test)]
mod display;
#[cfg(test)]
#[cfg(unix)]
mod edited_contract;
#[cfg(test)]
mod embed;
#[cfg(test)]
mod evidence;
#[cfg(test)]
mod failed_steps;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod first_steps;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod foreign;
#[cfg(test)]
mod found_files;
#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod guarded_files;
#[cfg(test)]
mod harness;
#[cfg(test)]
mod host;
#[cfg(test)]
mod http;
#[cfg(test)]
mod information_flow;
#[cfg(test)]
mod input_files;
mod invented;
#[cfg(test)]
mod judged_before;
#[cfg(test)]
mod kept;
#[cfg(test)]
mod keys;
#[cfg(test)]
mod kill;
#[cfg(test)]
mod laundering;
#[cfg(test)]
mod lists;
#[cfg(test)]
mod live;
#[cfg(test)]
mod local;
#[cfg(test)]
mod log;
#[cfg(test)]
mod loopback;
#[cfg(test)]
#[cfg(unix)]
mod many;
#[cfg(test)]
mod marked;
#[cfg(test)]
mod migrate;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod missing_files;
#[cfg(test)]
mod mutants;
#[cfg(test)]
#[cfg(unix)]
mod nested_repositories;
#[cfg(test)]
mod newcomer;
#[cfg(test)]
mod next_step;
#[cfg(test)]
mod oauth;
#[cfg(test)]
mod oauth_server;
#[cfg(test)]
mod openapi;
#[cfg(test)]
mod own_state;
#[cfg(test)]
mod ownership;
#[cfg(test)]
mod parallel;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod permissions;
#[cfg(test)]
mod pieces;
#[cfg(test)]
mod planted;
#[cfg(test)]
mod proxies;
#[cfg(test)]
#[cfg(unix)]
mod questions;
#[cfg(test)]
mod reach;
#[cfg(test)]
#[cfg(unix)]
mod reasons;
#[cfg(test)]
#[cfg(unix)]
mod recipes;
#[cfg(test)]
mod recorded;
#[cfg(test)]
mod refused;
#[cfg(test)]
mod replay_modes;
#[cfg(test)]
mod replay_open;
#[cfg(test)]
mod resume;
#[cfg(test)]
mod run_input;
#[cfg(test)]
#[cfg(unix)]
mod same_name;
#[cfg(test)]
mod sampling;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod sandbox_faults;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod sandbox_grants;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod sandbox_view;
#[cfg(test)]
#[cfg(unix)]
mod screens;
#[cfg(test)]
mod semantics;
#[cfg(test)]
mod server;
#[cfg(test)]
mod servers;
#[cfg(test)]
mod session_contract;
#[cfg(test)]
mod session_pipe;
#[cfg(test)]
#[cfg(unix)]
mod severities;
#[cfg(test)]
mod show;
#[cfg(test)]
mod statements;
#[cfg(test)]
mod strict;
#[cfg(test)]
mod suspend;
#[cfg(test)]
mod tamper;
#[cfg(test)]
#[cfg(unix)]
mod terminal;
#[cfg(test)]
mod tidy;
#[cfg(test)]
mod tokenizers;
#[cfg(test)]
#[cfg(unix)]
mod tool_faults;
#[cfg(test)]
#[cfg(unix)]
mod trusted_layers;
#[cfg(test)]
#[cfg(unix)]
mod unchanged_files;
#[cfg(test)]
mod undo;
#[cfg(test)]
#[cfg(unix)]
mod unproven;
#[cfg(test)]
mod verifier;
#[cfg(test)]
mod way_out;
#[cfg(test)]
#[cfg(unix)]
mod work;
#[cfg(test)]
mod work_page;
#[cfg(test)]
mod work_transcript;
#[cfg(test)]
mod workflow;
