//! Definitions that keep the rules, and such that break one each.
