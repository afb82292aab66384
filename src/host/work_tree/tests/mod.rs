//! Tests of the file layer, on real files.

mod collecting;
mod comparing;
mod faults;
mod fixture;
mod killed;
mod meddling;
mod publishing;
mod scanning;
mod sharing;
mod stopping;
