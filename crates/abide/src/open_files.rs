//! How many files this process may have open: a socket is one, and so is a connection.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises what this process may have open to what the system lets it; says how many that is.
pub(crate) fn raise() -> u64 {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current == maximum || setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).is_ok() {
        return maximum.unwrap_or(u64::MAX);
    }
    // Some systems have a bound that they do not tell.
    current.unwrap_or(u64::MAX)
}
