//! Which links are the same: URLs that differ only in what does not lead anywhere else.

use crate::limits::URL_BYTES;
use url::{ParseError, Url};

/// A URL that somebody saves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// As it was given, without spaces around it.
    pub url: String,
    /// The same for URLs that lead to the same page.
    pub key: String,
    /// Its host without `www.`.
    pub domain: String,
}

/// A text that cannot be saved as a link.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadUrl {
    /// It is no URL.
    #[error("{given:?} is not a URL: {why}")]
    NotAUrl {
        /// What was given, shortened.
        given: String,
        /// What is wrong.
        why: String,
    },
    /// It is one that no page has.
    #[error("{scheme}: URLs are not links to pages: give one that begins with http:// or https://")]
    Scheme {
        /// Which.
        scheme: String,
    },
    /// It would show a password to everybody who sees the link.
    #[error("the URL of {host} has a user name or password in it: leave it out")]
    Credentials {
        /// Whose.
        host: String,
    },
    /// It is too long.
    #[error("a URL may have at most {URL_BYTES} bytes, and this has {bytes}")]
    TooLong {
        /// How many it has.
        bytes: usize,
    },
}

/// Parameters that say where a visitor came from, and nothing about the page.
const TRACKING: [&str; 55] = [
    "fbclid",
    "fb_action_ids",
    "fb_source",
    "gclid",
    "gclsrc",
    "dclid",
    "gbraid",
    "wbraid",
    "gad_source",
    "gad_campaignid",
    "srsltid",
    "_ga",
    "_gl",
    "msclkid",
    "twclid",
    "ttclid",
    "li_fat_id",
    "yclid",
    "ysclid",
    "mc_cid",
    "mc_eid",
    "igshid",
    "igsh",
    "epik",
    "rdt_cid",
    "ref_src",
    "ref_url",
    "_hsenc",
    "_hsmi",
    "__hstc",
    "__hssc",
    "__hsfp",
    "hsctatracking",
    "mkt_tok",
    "vero_id",
    "vero_conv",
    "oly_anon_id",
    "oly_enc_id",
    "ck_subscriber_id",
    "ml_subscriber",
    "ml_subscriber_hash",
    "_branch_match_id",
    "s_cid",
    "s_kwcid",
    "ef_id",
    "wickedid",
    "spm",
    "scm",
    "_openstat",
    "pk_campaign",
    "pk_kwd",
    "pk_keyword",
    "pk_source",
    "pk_medium",
    "pk_content",
];
/// What other such parameters begin with.
const TRACKING_PREFIXES: [&str; 3] = ["utm_", "mtm_", "hsa_"];

impl Identity {
    /// What `text` is as a link.
    pub fn of(text: &str) -> Result<Identity, BadUrl> {
        let text = text.trim();
        if text.len() > URL_BYTES {
            return Err(BadUrl::TooLong { bytes: text.len() });
        }
        let given = || text.chars().take(200).collect::<String>();
        if text.chars().any(char::is_control) {
            return Err(BadUrl::NotAUrl { given: given(), why: "it has a control character".to_owned() });
        }
        let url = Url::parse(text).map_err(|why| {
            let why = match why {
                ParseError::RelativeUrlWithoutBase => "it does not begin with http:// or https://".to_owned(),
                other => other.to_string(),
            };
            BadUrl::NotAUrl { given: given(), why }
        })?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(BadUrl::Scheme { scheme: url.scheme().to_owned() });
        }
        let host = url.host_str().unwrap_or_default().trim_end_matches('.').to_owned();
        if host.is_empty() {
            return Err(BadUrl::NotAUrl { given: given(), why: "it has no host".to_owned() });
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(BadUrl::Credentials { host });
        }
        let domain = host.strip_prefix("www.").unwrap_or(&host).to_owned();
        Ok(Identity { url: text.to_owned(), key: key(&url, &host), domain })
    }
}

fn key(url: &Url, host: &str) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    let path = plain(url.path());
    let path = path.trim_end_matches('/');
    let mut pairs: Vec<(String, String)> = url
        .query_pairs()
        .filter(|(name, _)| !is_tracking(name))
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect();
    // Those of one name stay in their order, which servers may go by.
    pairs.sort_by(|(one, _), (other, _)| one.cmp(other));
    let query = match pairs.is_empty() {
        true => String::new(),
        false => {
            format!("?{}", url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish())
        }
    };
    // Fragments that are routes of an application lead to other pages; others lead down the same one.
    let route = url.fragment().filter(|fragment| fragment.starts_with(['!', '/']));
    let fragment = route.map(|route| format!("#{route}")).unwrap_or_default();
    format!("{}://{host}{port}{path}{query}{fragment}", url.scheme())
}

/// A path in which only what must be is percent-encoded, in one way: `%61` is `a`, and `%c3` is `%C3`.
fn plain(path: &str) -> String {
    let mut plain = String::with_capacity(path.len());
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('%') {
        plain.push_str(before);
        rest = after;
        match after.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                rest = &after[2..];
                let is_unreserved = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
                plain.push_str(&if is_unreserved {
                    char::from(byte).to_string()
                } else {
                    format!("%{byte:02X}")
                });
            }
            None => plain.push('%'),
        }
    }
    plain + rest
}

fn is_tracking(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    TRACKING.contains(&name.as_str()) || TRACKING_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_one_page_have_one_key() {
        for (given, key, domain) in [
            ("https://Example.com", "https://example.com", "example.com"),
            ("https://example.com/", "https://example.com", "example.com"),
            ("  https://example.com:443/a/ ", "https://example.com/a", "example.com"),
            ("https://www.example.com/a#part", "https://www.example.com/a", "example.com"),
            ("https://example.com/a?utm_source=x&fbclid=y", "https://example.com/a", "example.com"),
            (
                "https://example.com/a?_gl=1*x&srsltid=y&b=2&mtm_group=z",
                "https://example.com/a?b=2",
                "example.com",
            ),
            (
                "https://example.com/a?hsCtaTracking=x&ref=2&pk=3",
                "https://example.com/a?pk=3&ref=2",
                "example.com",
            ),
            ("https://example.com/a?b=2&UTM_Medium=z&a=1", "https://example.com/a?a=1&b=2", "example.com"),
            ("https://example.com/a?b=2&b=1&a=3", "https://example.com/a?a=3&b=2&b=1", "example.com"),
            ("https://example.com/a/../b/./c/", "https://example.com/b/c", "example.com"),
            ("https://example.com/%61%7e%c3%bc%2f%", "https://example.com/a~%C3%BC%2F%", "example.com"),
            ("https://example.com./x", "https://example.com/x", "example.com"),
            ("http://example.com:8080/x", "http://example.com:8080/x", "example.com"),
            ("https://app.example.com/#/inbox", "https://app.example.com#/inbox", "app.example.com"),
            ("https://münchen.example/ü", "https://xn--mnchen-3ya.example/%C3%BC", "xn--mnchen-3ya.example"),
        ] {
            let identity = Identity::of(given).unwrap();
            assert_eq!((identity.key.as_str(), identity.domain.as_str()), (key, domain), "{given}");
            assert_eq!(identity.url, given.trim());
        }
    }

    #[test]
    fn what_is_no_link_is_refused_by_name() {
        for (given, expected) in [
            ("a\u{1}b", "\"a\\u{1}b\" is not a URL: it has a control character"),
            ("", "\"\" is not a URL: it does not begin with http:// or https://"),
            ("example.com", "\"example.com\" is not a URL: it does not begin with http:// or https://"),
            (
                "ftp://example.com/",
                "ftp: URLs are not links to pages: give one that begins with http:// or https://",
            ),
            (
                "javascript:alert(1)",
                "javascript: URLs are not links to pages: give one that begins with http:// or https://",
            ),
            (
                "https://me:secret@example.com/",
                "the URL of example.com has a user name or password in it: leave it out",
            ),
        ] {
            assert_eq!(Identity::of(given).unwrap_err().to_string(), expected);
        }
        assert_eq!(
            Identity::of(&format!("https://e.com/{}", "a".repeat(9_000))),
            Err(BadUrl::TooLong { bytes: 9_014 })
        );
    }
}
