//! The memory of this machine, or of the container that this process is in.

use std::fs;

const MIB: u64 = 1024 * 1024;

/// In MiB, if the system says so.
#[must_use]
pub fn machine_memory_mb() -> Option<u64> {
    let machine = fs::read_to_string("/proc/meminfo").ok();
    let container = fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    least(machine.as_deref(), container.as_deref())
}

fn least(machine: Option<&str>, container: Option<&str>) -> Option<u64> {
    let kib = machine.and_then(|text| {
        let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
        total.split_whitespace().next()?.parse::<u64>().ok()
    });
    // One that has no bound says `max`.
    let bound = container.and_then(|text| text.trim().parse::<u64>().ok());
    kib.map(|kib| kib / 1024).into_iter().chain(bound.map(|bytes| bytes / MIB)).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lesser_of_what_machine_and_container_have_counts() {
        let machine = Some("MemTotal:       24576000 kB\nMemFree:        22013576 kB\n");
        for (machine, container, expected) in [
            (machine, None, Some(24_000)),
            (machine, Some("max\n"), Some(24_000)),
            (machine, Some("1073741824\n"), Some(1_024)),
            (Some("MemTotal: 512000 kB"), Some("1073741824\n"), Some(500)),
            (None, Some("1073741824\n"), Some(1_024)),
            (None, Some("max\n"), None),
            (Some("nothing of the kind"), None, None),
        ] {
            assert_eq!(least(machine, container), expected, "{machine:?} {container:?}");
        }
    }
}
