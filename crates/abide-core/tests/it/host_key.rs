//! The key of a URL's host.

use abide_core::host_key::host_key;

#[test]
fn a_host_has_one_key() {
    let table = [
        ("HTTP://EXAMPLE.COM:443/path", "example.com"),
        ("https://EXAMPLE.COM:443/path", "example.com"),
        ("http://example.com:80", "example.com"),
        ("example.com:443", "example.com"),
        ("  api.crossref.org.", "api.crossref.org"),
        ("api.crossref.org", "api.crossref.org"),
        ("münchen.example", "xn--mnchen-3ya.example"),
        ("https://MÜNCHEN.example/ä?ö#ü", "xn--mnchen-3ya.example"),
        ("https://example.com:8443/", "example.com:8443"),
        ("example.com:8080", "example.com:8080"),
        ("example.com:80", "example.com"),
        ("https://user:secret@example.com/", "example.com"),
        ("https://user@example.com:99/", "example.com:99"),
        ("http://[2001:DB8::1]/", "[2001:db8::1]"),
        ("http://[2001:db8:0::1]:8080/x", "[2001:db8::1]:8080"),
        ("http://127.0.0.1/", "127.0.0.1"),
        ("http://0x7f.1/", "127.0.0.1"),
        ("localhost", "localhost"),
    ];
    for (url, key) in table {
        assert_eq!(host_key(url).as_deref(), Ok(key), "{url}");
    }
}

#[test]
fn what_has_no_host_is_refused() {
    let without = [
        "",
        "   ",
        "mailto:a@example.com",
        "a@example.com",
        "ftp://example.com/",
        "file:///etc/passwd",
        "/etc/passwd",
        "//example.com/x",
        "http://",
        "https:///",
        "a b",
        ".",
        "data:text/plain,a",
        "example.com:port",
    ];
    for url in without {
        assert!(host_key(url).is_err(), "{url:?} gives {:?}", host_key(url));
    }
    let error = host_key("ftp://example.com").unwrap_err().to_string();
    assert_eq!(error, r#""ftp://example.com" has no host: give an http or https URL, or a host name"#);
}
