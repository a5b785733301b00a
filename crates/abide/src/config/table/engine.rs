//! How objects run.

use abide_core::limits;

section! {
    /// How objects run.
    engine: Engine {
        /// Memory for rows of objects that were used lately.
        cache_mib: usize = {
            kind: Kind::Integer { min: 1, max: 1 << 20 },
            default: DefaultValue::Integer(64),
        }
        /// Threads that read the database beside its writer.
        readers: usize = {
            kind: Kind::Integer { min: 1, max: 64 },
            default: DefaultValue::Integer(2),
        }
        /// Calls that may wait for one object before the next is refused as overloaded.
        inbox_calls: usize = {
            kind: Kind::Integer { min: 1, max: 1_000_000 },
            default: DefaultValue::Integer(limits::INBOX_CALLS as i64),
        }
    }
}
