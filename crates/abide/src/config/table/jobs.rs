//! How jobs run in this process.

use abide_core::limits;

section! {
    /// How jobs run in this process.
    jobs: Jobs {
        /// Jobs that this process runs at the same time; as many as it has cores by default.
        workers: usize = {
            kind: Kind::Integer { min: 1, max: 1_024 },
            default: DefaultValue::Cores,
        }
        /// How long a job stays with a worker that stopped its heartbeat.
        lease_ms: i64 = {
            kind: Kind::Integer { min: 1_000, max: 600_000 },
            default: DefaultValue::Integer(limits::LEASE_MS),
        }
    }
}
