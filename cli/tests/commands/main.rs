//! The commands of the real binary, with a data folder and with a server on loopback.

mod journey;
mod profiles;
mod targets;
mod watching;
mod world;
