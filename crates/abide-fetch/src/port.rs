//! Which ports a URL from data may name.
//!
//! Below 1024 only 80 and 443. From 1024 on everything except what browsers refuse (the bad ports of the Fetch standard)
//! and the usual ports of databases, caches, brokers and control planes: services that may do harm when a line of an HTTP
//! request reaches them. The rule holds for every [`Reach`](crate::guard::Reach).

/// Whether data may name `port`.
#[must_use]
pub fn is_allowed(port: u16) -> bool {
    match port {
        80 | 443 => true,
        0..1024 => false,
        _ => !REFUSED.contains(&port),
    }
}

const REFUSED: [u16; 42] = [
    1433, 1521, 1719, 1720, 1723, 2049, 2181, 2375, 2376, 2379, 2380, 3306, 3389, 3659, 4045, 4190, 5060,
    5061, 5432, 5672, 5900, 5984, 6000, 6379, 6380, 6443, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697,
    9042, 9092, 9200, 9300, 10080, 10250, 11211, 27017,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn web_ports_pass_and_the_others_do_not() {
        for port in [80, 443, 1024, 3000, 5000, 8000, 8080, 8443, 9000, 32_768, 65_535] {
            assert!(is_allowed(port), "{port}");
        }
        for port in [
            0, 1, 21, 22, 25, 53, 110, 445, 587, 993, 1023, 2375, 3306, 5432, 6000, 6379, 6667, 9200, 10080,
            11211,
        ] {
            assert!(!is_allowed(port), "{port}");
        }
        assert!(REFUSED.is_sorted(), "easier to read in order");
    }
}
