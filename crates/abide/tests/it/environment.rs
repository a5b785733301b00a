//! What the environment may and may not say.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::place::Place;

/// What `abide config check` says with this variable set.
fn check(name: &str, value: &str) -> String {
    Place::new().env(name, value).run("config check").to_string()
}

#[test]
fn unknown_variables_are_refused_with_the_nearest_known_one() {
    insta::assert_snapshot!(check("ABIDE_SERVER_LISTN", "127.0.0.1:1"), @"
    exit 2
    error: unknown variable ABIDE_SERVER_LISTN; the nearest known variable is ABIDE_SERVER_LISTEN
    ");
    insta::assert_snapshot!(check("ABIDE_LISTEN", "127.0.0.1:1"), @"
    exit 2
    error: unknown variable ABIDE_LISTEN; the nearest known variable is ABIDE_SERVER_LISTEN
    ");
    insta::assert_snapshot!(check("ABIDE_DATA_DIR", "/tmp"), @"
    exit 2
    error: unknown variable ABIDE_DATA_DIR; the nearest known variable is ABIDE_STORE_DATA_DIR
    ");
    insta::assert_snapshot!(check("ABIDE_CONFIGS", "/tmp"), @"
    exit 2
    error: unknown variable ABIDE_CONFIGS; the nearest known variable is ABIDE_CONFIG
    ");
}

#[test]
fn bad_values_are_refused_naming_the_variable() {
    insta::assert_snapshot!(check("ABIDE_ENGINE_READERS", "many"), @r#"
    exit 2
    error: ABIDE_ENGINE_READERS is "many", expected a whole number from 1 to 64
    "#);
    insta::assert_snapshot!(check("ABIDE_ENGINE_READERS", "65"), @r#"
    exit 2
    error: ABIDE_ENGINE_READERS is "65", expected a whole number from 1 to 64
    "#);
    insta::assert_snapshot!(check("ABIDE_ENGINE_READERS", ""), @r#"
    exit 2
    error: ABIDE_ENGINE_READERS is "", expected a whole number from 1 to 64
    "#);
    insta::assert_snapshot!(check("ABIDE_STORE_DATA_DIR", ""), @r#"
    exit 2
    error: ABIDE_STORE_DATA_DIR is "", expected a path that is UTF-8, not empty and does not begin with ~
    "#);
    insta::assert_snapshot!(check("ABIDE_LOG", "loud"), @r#"
    exit 2
    error: ABIDE_LOG is "loud", expected one of off, error, warn, info, debug, trace
    "#);
}

#[test]
fn variables_of_others_are_passed_over() {
    for name in ["ABIDE_SERVICE_HOST", "ABIDE_PORT", "ABIDE_PORT_8787_TCP", "abide_server_listen", "ABIDES"] {
        assert!(check(name, "tcp://10.0.0.1:8787").starts_with("exit 0"), "{name}");
    }
}

#[test]
fn without_a_home_the_data_directory_must_be_said() {
    let place = Place::new().without_env();
    insta::assert_snapshot!(place.run("config check"), @"
    exit 2
    error: store.data_dir has no default because neither XDG_DATA_HOME nor HOME is an absolute path; set ABIDE_STORE_DATA_DIR
    ");
    assert_eq!(place.show("store.data_dir", "--data-dir /srv/abide"), "/srv/abide flag --data-dir");
}

#[test]
fn what_is_not_text_is_refused_or_displayed() {
    let broken = OsStr::from_bytes(b"/srv/\xff");
    insta::assert_snapshot!(Place::new().env_os("ABIDE_STORE_DATA_DIR", broken).run("config check"), @r#"
    exit 2
    error: ABIDE_STORE_DATA_DIR is "/srv/\xFF", expected a path that is UTF-8, not empty and does not begin with ~
    "#);
    let place = Place::new().env_os("XDG_DATA_HOME", broken);
    assert_eq!(place.show("store.data_dir", ""), "/srv/\u{fffd}/abide default");
    let run = place.run("config show --json");
    assert!(run.stdout.contains(r#""value": "/srv/�/abide""#), "{run}");
}
