//! Proves what the crawler promises, on a site served on loopback.

mod expected;
mod killed;
mod run;
mod server;
mod site;
mod skipped;
