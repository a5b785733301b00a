//! One organization never sees another's log, whichever route it tries.

use crate::server::{Server, every_service, sync_service};
use crate::wire::{Wire, event};
use abide_engine::machine::MachineOptions;
use abide_links::auth::jwt::{Audience, Claims, sign_with_secret};
use abide_links::auth::{Authority, JwtKeys, Verifier};
use abide_server::{Role, Services, routes};
use abide_store::memory::MemoryStore;
use serde_json::json;

const SECRET: &str = "0123456789abcdef0123456789abcdef";
const NOT_A_MEMBER: &str = "Access denied: not a member of this organization";

fn services() -> Services {
    let keys = JwtKeys::Secret(SECRET.to_owned());
    let verifier = Verifier::new(&keys, Some("me".to_owned()), Some("me".to_owned()))
        .expect("a key that is long enough");
    Services {
        sync: Some(sync_service(Authority::Checked { tokens: Some(Box::new(verifier)) })),
        ..every_service()
    }
}

fn server() -> Server {
    Server::with(MemoryStore::new(), MachineOptions::default(), services())
}

fn claims(org: &str) -> Claims {
    Claims {
        sub: "user".to_owned(),
        org_id: org.to_owned(),
        exp: 4_000_000_000,
        nbf: None,
        iat: None,
        iss: Some("me".to_owned()),
        aud: Some(Audience::One("me".to_owned())),
        email: None,
    }
}

fn token(claims: &Claims) -> String {
    sign_with_secret(claims, SECRET).expect("claims that can be signed")
}

/// The payload as the published client sends it: encoded twice.
fn query(store: &str, token: &str) -> String {
    format!("storeId={store}&transport=ws&payload=%257B%2522authToken%2522%253A%2522{token}%2522%257D")
}

#[test]
fn a_member_gets_in_and_its_socket_is_for_its_store_alone() {
    let server = server();
    let mut wire =
        Wire::with(&server, &query("acme", &token(&claims("acme")))).unwrap_or_else(|e| panic!("{e:?}"));
    wire.push(json!("1"), "acme", &[event(1, "n")], None);
    assert_eq!(wire.next()["exit"]["_tag"], "Success");
    for other in ["other", ""] {
        wire.pull(json!("2"), other, true, None);
        assert_eq!(wire.next()["exit"]["cause"]["error"]["_tag"], "UnknownError");
        wire.push(json!("3"), other, &[event(1, "n")], None);
        assert_eq!(wire.next()["exit"]["cause"]["error"]["_tag"], "UnknownError");
    }
}

#[test]
fn everybody_else_is_refused_with_400_and_the_reason() {
    let server = server();
    let refused = |token: &str| Wire::with(&server, &query("acme", token)).err().expect("it is refused");
    assert_eq!(refused(&token(&claims("other"))), (400, NOT_A_MEMBER.to_owned()));
    let cases = [
        (Claims { exp: 1_000_000_000, ..claims("acme") }, "expired"),
        (Claims { nbf: Some(3_900_000_000), ..claims("acme") }, "not valid yet"),
        (Claims { iss: Some("you".to_owned()), ..claims("acme") }, "issuer"),
        (Claims { iss: None, ..claims("acme") }, "issuer"),
        (Claims { aud: Some(Audience::Many(vec!["you".to_owned()])), ..claims("acme") }, "audience"),
        (Claims { sub: String::new(), ..claims("acme") }, "subject"),
    ];
    for (claims, says) in cases {
        let (status, text) = refused(&token(&claims));
        assert!(status == 400 && text.contains(says), "{says}: {status} {text}");
    }
    let forged = sign_with_secret(&claims("acme"), "another secret that is as long as it").unwrap();
    for bad in [forged.as_str(), "x", "lb_0123456789abcdef_00"] {
        assert_eq!(refused(bad).0, 400, "{bad}");
    }
    let nothing = Wire::with(&server, "storeId=acme&transport=ws").err().expect("it is refused");
    assert!(nothing.0 == 400 && nothing.1.contains("no token"), "{nothing:?}");
}

#[test]
fn no_sync_route_shows_a_store_to_another_organization() {
    let server = server();
    let stranger = format!("Bearer {}", token(&claims("other")));
    let member = format!("Bearer {}", token(&claims("acme")));
    let body = r#"{"events":[],"clientId":"c","sessionId":"s","key":"k"}"#;
    let mut tried = 0;
    for route in routes(&services()).iter().filter(|route| route.path.starts_with("/sync/{store}")) {
        assert_eq!(route.role, Role::Anyone);
        let line = format!("{} {}", route.method, route.path.replace("{store}", "acme"));
        for headers in [vec![("Authorization", stranger.as_str())], vec![]] {
            let reply = server.client().request(&line, &headers, body).unwrap();
            assert!(reply.status == 403 && reply.body.contains("Access denied"), "{line}: {reply}");
        }
        tried += 1;
    }
    assert_eq!(tried, 4);
    let reply = server.client().request("GET /sync/acme", &[("Authorization", &member)], "").unwrap();
    assert_eq!(reply.status, 200, "{reply}");
    let pull =
        json!({"_tag": "Request", "id": "0", "tag": "SyncHttpRpc.Pull", "payload": {"storeId": "acme"}});
    let line = format!("POST /sync?{}", query("acme", &token(&claims("other"))).replace("=ws", "=http"));
    let reply = server.ask(&line, &pull.to_string());
    assert_eq!((reply.status, reply.body.as_str()), (400, NOT_A_MEMBER));
}

#[test]
fn pages_of_other_sites_may_ask_only_where_tokens_are_asked_for() {
    let foreign = [("Origin", "https://example.org")];
    let open = Server::start();
    let reply = open.client().request("OPTIONS /sync", &foreign, "").unwrap();
    assert_eq!(reply.status, 403, "{reply}");
    let checked = server();
    let reply = checked.client().request("OPTIONS /sync", &foreign, "").unwrap();
    assert_eq!((reply.status, reply.header("access-control-allow-origin")), (204, Some("*")));
}
