//! Preprocessing: workers, callbacks, bytes and pixels.

use super::family::{Family, Sort};
use abide_preprocess::Numbers;

/// Families of the service.
pub(super) fn families(numbers: &Numbers) -> Vec<Family> {
    let mut callbacks = Family::new(
        "abide_preprocess_callbacks_total",
        Sort::Counter,
        "Callbacks of workers, by what they told.",
    );
    callbacks.add(&[("status", "success")], numbers.callbacks_succeeded_total);
    callbacks.add(&[("status", "error")], numbers.callbacks_failed_total);
    let single = |name, sort, help, value: u64| Family::single(name, sort, help, value);
    vec![
        single(
            "abide_preprocess_spawned_total",
            Sort::Counter,
            "Workers that were started.",
            numbers.spawned_total,
        ),
        single("abide_preprocess_in_flight", Sort::Gauge, "Workers at it now.", numbers.in_flight),
        single("abide_preprocess_runs_total", Sort::Counter, "Workers that ended.", numbers.runs_total),
        single(
            "abide_preprocess_run_ms_total",
            Sort::Counter,
            "Milliseconds from the start of workers to their ends, which follow their callbacks.",
            numbers.run_ms_total,
        ),
        single(
            "abide_preprocess_callback_ms_total",
            Sort::Counter,
            "Milliseconds from the start of workers to their callbacks.",
            numbers.callback_ms_total,
        ),
        single(
            "abide_preprocess_input_bytes_total",
            Sort::Counter,
            "Bytes of inputs that workers were started on.",
            numbers.input_bytes_total,
        ),
        single(
            "abide_preprocess_pixels_total",
            Sort::Counter,
            "Pixels that workers made.",
            numbers.pixels_total,
        ),
        callbacks,
    ]
}
