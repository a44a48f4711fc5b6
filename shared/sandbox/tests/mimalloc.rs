//! The tests of `child.rs` with the allocator of the program `recollect`. The functions have that of
//! the system.

use std::process::ExitCode;

use mimalloc::MiMalloc;

#[path = "child.rs"]
mod child;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    child::main()
}
