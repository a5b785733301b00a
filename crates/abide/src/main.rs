//! The `abide` binary.

use std::process::ExitCode;

/// Requests are made on one thread, become rows on a second, are written by a third and answered by the first: an allocator
/// that is cheap when another thread drops what one made.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    abide_cli::main()
}
