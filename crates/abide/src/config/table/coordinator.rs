//! How work items of coordinators are kept.

section! {
    /// How work items of coordinators are kept.
    coordinator: Coordinator {
        /// How long a finished item is kept when it is not among the newest 50.
        retain_finished_for_ms: i64 = {
            kind: Kind::Integer { min: 0, max: 31_536_000_000 },
            default: DefaultValue::Integer(3_600_000),
        }
    }
}
