//! A table of tricks: what the guard says to a URL before anything is dialled, and to what a name resolves to.

use crate::world::FakeNames;
use abide_fetch::guard::{Downgrade, Guard, NameError, Reach};
use abide_fetch::refused::Refused;
use std::net::IpAddr;
use std::sync::Arc;

/// What the guard says, as one line.
fn verdict(guard: &Guard, url: &str) -> String {
    match guard.url(url) {
        Ok(url) => format!("passes {url}"),
        Err(refused) => word(&refused),
    }
}

fn word(refused: &Refused) -> String {
    match refused {
        Refused::TooLong { .. } => "too long".into(),
        Refused::NotAUrl { .. } => "not a URL".into(),
        Refused::Scheme { .. } => "scheme".into(),
        Refused::Credentials { .. } => "credentials".into(),
        Refused::Port { port, .. } => format!("port {port}"),
        Refused::LocalName { .. } => "local name".into(),
        Refused::Address { address, range, .. } => format!("{address} {range}"),
        Refused::Downgrade { .. } => "downgrade".into(),
    }
}

fn check(cases: &[(&str, &str)]) {
    let guard = Guard::with_names(Reach::Public, Arc::new(FakeNames::default()));
    for (url, expected) in cases {
        assert_eq!(verdict(&guard, url), *expected, "{url:?}");
    }
}

#[test]
fn public_urls_pass() {
    check(&[
        ("http://example.org", "passes http://example.org/"),
        ("  https://EXAMPLE.org:443/a/../b?q=1#part ", "passes https://example.org/b?q=1"),
        ("https://example.org.:8443/", "passes https://example.org.:8443/"),
        ("https://bücher.example/", "passes https://xn--bcher-kva.example/"),
        ("http://8.8.8.8/", "passes http://8.8.8.8/"),
        ("http://134744072/", "passes http://8.8.8.8/"),
        ("http://[2606:4700::1111]/", "passes http://[2606:4700::1111]/"),
        ("http://localhost.example.org/", "passes http://localhost.example.org/"),
        ("http://10.example.org/", "passes http://10.example.org/"),
        ("http://127.0.0.1.example.org/", "passes http://127.0.0.1.example.org/"),
        ("http://example.org/@127.0.0.1", "passes http://example.org/@127.0.0.1"),
        ("http://example.org/?u=http://127.0.0.1", "passes http://example.org/?u=http://127.0.0.1"),
    ]);
}

#[test]
fn decimal_octal_hex_and_short_hosts_are_addresses() {
    check(&[
        ("http://127.0.0.1/", "127.0.0.1 loopback"),
        ("http://2130706433/", "127.0.0.1 loopback"),
        ("http://0x7f000001/", "127.0.0.1 loopback"),
        ("http://0X7F000001/", "127.0.0.1 loopback"),
        ("http://017700000001/", "127.0.0.1 loopback"),
        ("http://0177.0.0.1/", "127.0.0.1 loopback"),
        ("http://0x7f.0.0.1/", "127.0.0.1 loopback"),
        ("http://0x7f.1/", "127.0.0.1 loopback"),
        ("http://127.1/", "127.0.0.1 loopback"),
        ("http://127.0.1/", "127.0.0.1 loopback"),
        ("http://0177.0x0.1/", "127.0.0.1 loopback"),
        ("http://00000177.1/", "127.0.0.1 loopback"),
        ("http://127.0.0.1./", "127.0.0.1 loopback"),
        ("http://0/", "0.0.0.0 this network"),
        ("http://0.0.0.0/", "0.0.0.0 this network"),
        ("http://0x0/", "0.0.0.0 this network"),
        ("http://2852039166/", "169.254.169.254 cloud metadata"),
        ("http://0xa9fea9fe/", "169.254.169.254 cloud metadata"),
        ("http://0251.0376.0251.0376/", "169.254.169.254 cloud metadata"),
        ("http://10.1/", "10.0.0.1 private"),
        ("http://167772161/", "10.0.0.1 private"),
        ("http://0xc0.0xa8.1/", "192.168.0.1 private"),
        ("http://4294967295/", "255.255.255.255 broadcast"),
        ("http://4294967296/", "not a URL"),
        ("http://256.0.0.1/", "not a URL"),
        ("http://1.2.3.4.5/", "not a URL"),
    ]);
}

#[test]
fn encoded_and_look_alike_hosts_are_addresses() {
    check(&[
        ("http://%31%32%37.0.0.1/", "127.0.0.1 loopback"),
        ("http://127%2e0%2E0%2e1/", "127.0.0.1 loopback"),
        ("http://１２７.０.０.１/", "127.0.0.1 loopback"),
        ("http://127。0。0。1/", "127.0.0.1 loopback"),
        ("http://127．0．0．1/", "127.0.0.1 loopback"),
        ("http://①②⑦.⓪.⓪.①/", "127.0.0.1 loopback"),
        ("http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/", "local name"),
        ("http://loc%61lhost/", "local name"),
        ("http://local\u{ad}host/", "local name"),
        ("http:\\\\127.0.0.1\\", "127.0.0.1 loopback"),
        ("http:/127.0.0.1/", "127.0.0.1 loopback"),
        ("http:127.0.0.1/", "127.0.0.1 loopback"),
        ("http:///127.0.0.1/", "127.0.0.1 loopback"),
        ("ht\ntp://127.0.\t0.1/", "127.0.0.1 loopback"),
        ("\u{0}http://127.0.0.1/", "127.0.0.1 loopback"),
        ("http://127.0.0.1%00.example.org/", "not a URL"),
        ("http://exa mple.org/", "not a URL"),
    ]);
}

#[test]
fn ipv6_hosts_are_addresses_in_every_form() {
    check(&[
        ("http://[::1]/", "::1 loopback"),
        ("http://[0:0:0:0:0:0:0:1]/", "::1 loopback"),
        ("http://[0000:0000:0000:0000:0000:0000:0000:0001]/", "::1 loopback"),
        ("http://[::]/", ":: unspecified"),
        ("http://[::ffff:127.0.0.1]/", "::ffff:127.0.0.1 IPv4-mapped"),
        ("http://[::ffff:7f00:1]/", "::ffff:127.0.0.1 IPv4-mapped"),
        ("http://[0:0:0:0:0:ffff:a9fe:a9fe]/", "::ffff:169.254.169.254 IPv4-mapped"),
        ("http://[::127.0.0.1]/", "::7f00:1 IPv4-compatible"),
        ("http://[::ffff:0:127.0.0.1]/", "::ffff:0:7f00:1 IPv4-translated"),
        ("http://[64:ff9b::7f00:1]/", "64:ff9b::7f00:1 NAT64"),
        ("http://[64:ff9b::8.8.8.8]/", "64:ff9b::808:808 NAT64"),
        ("http://[64:ff9b:1::a00:1]/", "64:ff9b:1::a00:1 NAT64"),
        ("http://[2002:7f00:1::]/", "2002:7f00:1:: 6to4"),
        ("http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/", "2001:0:4136:e378:8000:63bf:3fff:fdd2 Teredo"),
        ("http://[fe80::1]/", "fe80::1 link-local"),
        ("http://[fe80::1%25eth0]/", "not a URL"),
        ("http://[fec0::1]/", "fec0::1 link-local"),
        ("http://[fc00::1]/", "fc00::1 unique local"),
        ("http://[fd00:ec2::254]/", "fd00:ec2::254 cloud metadata"),
        ("http://[ff02::1]/", "ff02::1 multicast"),
        ("http://[2001:db8::1]/", "2001:db8::1 documentation"),
        ("http://[3fff::1]/", "3fff::1 documentation"),
        ("http://[100::1]/", "100::1 discard-only"),
        ("http://[::1]:80:80/", "not a URL"),
        ("http://::1/", "not a URL"),
    ]);
}

#[test]
fn names_of_this_machine_and_its_network_are_refused() {
    check(&[
        ("http://localhost/", "local name"),
        ("http://LOCALHOST/", "local name"),
        ("http://localhost./", "local name"),
        ("http://localhost../", "local name"),
        ("http://a.localhost/", "local name"),
        ("http://printer.local/", "local name"),
        ("http://metadata.google.internal/", "local name"),
        ("http://metadata/", "local name"),
        ("http://router.lan./", "local name"),
        ("http://localhost.localdomain/", "local name"),
        ("http://nas.home.arpa/", "local name"),
        ("http://kubernetes/", "local name"),
        ("http://expyuzz4wqqyqhjn.onion/", "local name"),
    ]);
}

#[test]
fn only_plain_web_urls_pass() {
    check(&[
        ("file:///etc/passwd", "scheme"),
        ("ftp://example.org/", "scheme"),
        ("gopher://example.org:70/_x", "scheme"),
        ("dict://example.org:11211/", "scheme"),
        ("data:text/plain,hello", "scheme"),
        ("javascript:alert(1)", "scheme"),
        ("ws://example.org/", "scheme"),
        ("unix:/var/run/docker.sock", "scheme"),
        ("example.org/a", "not a URL"),
        ("//example.org/a", "not a URL"),
        ("/a", "not a URL"),
        ("", "not a URL"),
        ("http://", "not a URL"),
        ("http:///", "not a URL"),
        ("http://user@example.org/", "credentials"),
        ("http://user:secret@example.org/", "credentials"),
        ("http://:secret@example.org/", "credentials"),
        ("http://example.org@127.0.0.1/", "credentials"),
        ("http://127.0.0.1:80@example.org/", "credentials"),
        ("http://example.org:secret@127.0.0.1:80/", "credentials"),
        ("http://example.org:0/", "port 0"),
        ("http://example.org:22/", "port 22"),
        ("http://example.org:25/", "port 25"),
        ("http://example.org:6379/", "port 6379"),
        ("http://example.org:11211/", "port 11211"),
        ("http://example.org:65536/", "not a URL"),
        ("http://example.org:-1/", "not a URL"),
        ("https://example.org:80/", "passes https://example.org:80/"),
    ]);
    let long = format!("http://example.org/{}", "a".repeat(8 * 1024));
    check(&[(&long, "too long")]);
    // Grows when it is encoded.
    let wide = format!("http://example.org/{}", "é".repeat(3_000));
    check(&[(&wide, "too long")]);
}

#[test]
fn an_error_does_not_repeat_credentials() {
    let guard = Guard::with_names(Reach::Public, Arc::new(FakeNames::default()));
    for url in ["http://user:secret@example.org/", "http://user:secret@/", "http://user:secret@exa mple/"] {
        let text = guard.url(url).unwrap_err().to_string();
        assert!(!text.contains("secret"), "{text}");
    }
}

#[test]
fn redirects_are_checked_from_where_they_start() {
    let guard = Guard::with_names(Reach::Public, Arc::new(FakeNames::default()));
    let from = guard.url("https://example.org/a/b").unwrap();
    let check = |location: &str, expected: &str| {
        let found =
            guard.redirect(&from, location).map_or_else(|refused| word(&refused), |url| url.to_string());
        assert_eq!(found, expected, "{location:?}");
    };
    check("c", "https://example.org/a/c");
    check("/c#x", "https://example.org/c");
    check("//other.example/c", "https://other.example/c");
    check("?q", "https://example.org/a/b?q");
    check("", "https://example.org/a/b");
    check("//127.0.0.1/", "127.0.0.1 loopback");
    check("//0x7f.1", "127.0.0.1 loopback");
    check("\\\\127.0.0.1\\x", "127.0.0.1 loopback");
    check("//[::ffff:10.0.0.1]/", "::ffff:10.0.0.1 IPv4-mapped");
    check("//localhost./", "local name");
    check("http://example.org/", "downgrade");
    check("http://127.0.0.1/", "127.0.0.1 loopback");
    check("file:///etc/passwd", "scheme");
    check("//user@other.example/", "credentials");
    check("//other.example:22/", "port 22");

    let lax = guard.clone().with_downgrade(Downgrade::Allow);
    assert_eq!(lax.redirect(&from, "http://example.org/").unwrap().as_str(), "http://example.org/");
}

/// What the guard makes of a name's addresses.
async fn resolved(reach: Reach, answers: &[&[&str]]) -> Vec<String> {
    let names = Arc::new(FakeNames::default());
    for answer in answers {
        names.answer("site.example", answer);
    }
    let guard = Guard::with_names(reach, names);
    let mut found = Vec::new();
    for _ in answers {
        found.push(match guard.addresses("site.example").await {
            Ok(addresses) => addresses.iter().map(IpAddr::to_string).collect::<Vec<_>>().join(" "),
            Err(NameError::Refused(refused)) => word(&refused),
            Err(NameError::NoAddress { .. }) => "no address".into(),
            Err(NameError::Lookup { .. }) => "lookup".into(),
        });
    }
    found
}

#[tokio::test]
async fn only_public_answers_are_dialled() {
    let found = resolved(
        Reach::Public,
        &[
            &["8.8.8.8"],
            &["127.0.0.1"],
            &["8.8.8.8", "10.0.0.1", "2606:4700::1111", "::1"],
            &["10.0.0.1", "169.254.169.254"],
            &["::ffff:8.8.8.8"],
            &["64:ff9b::808:808"],
            &["0.0.0.0"],
            &[],
        ],
    );
    let expected = [
        "8.8.8.8",
        "127.0.0.1 loopback",
        "8.8.8.8 2606:4700::1111",
        "10.0.0.1 private",
        "::ffff:8.8.8.8 IPv4-mapped",
        "64:ff9b::808:808 NAT64",
        "0.0.0.0 this network",
        "no address",
    ];
    assert_eq!(found.await, expected);
}

#[tokio::test]
async fn a_name_that_turns_private_is_refused_when_it_does() {
    let found = resolved(Reach::Public, &[&["8.8.8.8"], &["127.0.0.1"], &["8.8.8.8"]]).await;
    assert_eq!(found, ["8.8.8.8", "127.0.0.1 loopback", "8.8.8.8"]);
}

#[tokio::test]
async fn more_addresses_than_anyone_needs_are_cut() {
    let many: Vec<String> = (1..=200).map(|last| format!("8.8.8.{last}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let found = resolved(Reach::Public, &[&many]).await;
    assert_eq!(found[0].split(' ').count(), 16);
}

#[tokio::test]
async fn the_operator_may_open_one_address_or_all() {
    let one = Reach::PublicAnd(["10.0.0.1".parse().unwrap()].into());
    assert_eq!(resolved(one.clone(), &[&["10.0.0.1", "10.0.0.2"]]).await, ["10.0.0.1"]);
    assert_eq!(resolved(Reach::Anywhere, &[&["10.0.0.1", "::1"]]).await, ["10.0.0.1 ::1"]);
    let guard = Guard::with_names(one, Arc::new(FakeNames::default()));
    assert_eq!(verdict(&guard, "http://10.0.0.1:8080/"), "passes http://10.0.0.1:8080/");
    assert_eq!(verdict(&guard, "http://10.0.0.2:8080/"), "10.0.0.2 private");
    let open = Guard::with_names(Reach::Anywhere, Arc::new(FakeNames::default()));
    assert_eq!(verdict(&open, "http://localhost:8080/"), "passes http://localhost:8080/");
    assert_eq!(verdict(&open, "http://localhost:22/"), "port 22");
    assert_eq!(verdict(&open, "http://user@localhost/"), "credentials");
    assert_eq!(verdict(&open, "file:///etc/passwd"), "scheme");
}
