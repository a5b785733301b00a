//! Which config file is read, and what it may not say.

use crate::place::Place;

fn drain(place: &Place, flags: &str) -> String {
    place.show("server.drain_ms", flags)
}

fn sets_drain(drain_ms: u32) -> String {
    format!("server.drain_ms = {drain_ms}\n")
}

/// What `abide config check` says of this `abide.toml`.
fn check(toml: &str) -> String {
    Place::new().file("work/abide.toml", toml).run("config check").to_string()
}

#[test]
fn the_first_file_of_flag_variable_working_directory_and_data_directory_is_read() {
    let place = Place::new();
    assert_eq!(drain(&place, ""), "10000 default");
    let place = place.file("home/.local/share/abide/abide.toml", &sets_drain(1));
    assert_eq!(drain(&place, ""), "1 <root>/home/.local/share/abide/abide.toml:1");
    let place = place.file("elsewhere/abide.toml", &sets_drain(2));
    assert_eq!(drain(&place, "--data-dir ../elsewhere"), "2 ../elsewhere/abide.toml:1");
    let place = place.file("work/abide.toml", &sets_drain(3));
    assert_eq!(drain(&place, "--data-dir ../elsewhere"), "3 abide.toml:1");
    let place = place.file("variable.toml", &sets_drain(4)).env("ABIDE_CONFIG", "<root>/variable.toml");
    assert_eq!(drain(&place, ""), "4 <root>/variable.toml:1");
    let place = place.file("work/flag.toml", &sets_drain(5));
    assert_eq!(drain(&place, "--config flag.toml"), "5 flag.toml:1");
}

#[test]
fn a_relative_path_stands_beside_its_file() {
    let place = Place::new().file("etc/abide.toml", "[store]\ndata_dir = 'data'\n");
    assert_eq!(place.show("store.data_dir", "--config ../etc/abide.toml"), "../etc/data ../etc/abide.toml:2");
}

#[test]
fn a_named_file_must_exist() {
    insta::assert_snapshot!(Place::new().run("config check --config no.toml"), @"
    exit 2
    error: cannot read the config file no.toml (named by --config): No such file or directory (os error 2)
    ");
    insta::assert_snapshot!(Place::new().env("ABIDE_CONFIG", "no.toml").run("config check"), @"
    exit 2
    error: cannot read the config file no.toml (named by ABIDE_CONFIG): No such file or directory (os error 2)
    ");
    insta::assert_snapshot!(Place::new().run("config check --config ."), @"
    exit 2
    error: cannot read the config file . (named by --config): Is a directory (os error 21)
    ");
}

#[test]
fn a_valid_file_is_said_to_be_valid() {
    insta::assert_snapshot!(check("[engine]\nreaders = 0x10\n"), @"
    exit 0
    ok: abide.toml and the environment are valid
    ");
    insta::assert_snapshot!(check(""), @"
    exit 0
    ok: abide.toml and the environment are valid
    ");
    insta::assert_snapshot!(Place::new().run("config check"), @"
    exit 0
    ok: no abide.toml was found, and the environment is valid
    ");
    insta::assert_snapshot!(Place::new().run("config check --json"), @r#"
    exit 0
    {
      "ok": true,
      "file": null
    }
    "#);
}

#[test]
fn unknown_names_are_refused_with_the_nearest_known_one() {
    insta::assert_snapshot!(check("[server]\n\nlisen = '127.0.0.1:1'\n"), @"
    exit 2
    error: abide.toml:3: unknown key server.lisen; the nearest known key is server.listen
    ");
    insta::assert_snapshot!(check("[sever]\nlisten = '127.0.0.1:1'\n"), @"
    exit 2
    error: abide.toml:1: unknown section [sever]; the nearest known section is [server]
    ");
    insta::assert_snapshot!(check("[engine]\nworkers = 1\n"), @"
    exit 2
    error: abide.toml:2: unknown key engine.workers; the nearest known key is jobs.workers
    ");
    insta::assert_snapshot!(check("listen = '127.0.0.1:1'\n"), @"
    exit 2
    error: abide.toml:1: unknown key listen; the nearest known key is server.listen
    ");
    insta::assert_snapshot!(check("server.Listen = '127.0.0.1:1'\n"), @"
    exit 2
    error: abide.toml:1: unknown key server.Listen; the nearest known key is server.listen
    ");
}

#[test]
fn bad_values_are_refused_with_what_was_expected() {
    insta::assert_snapshot!(check("[engine]\nreaders = 0\n"), @"
    exit 2
    error: abide.toml:2: engine.readers is 0, expected a whole number from 1 to 64
    ");
    insta::assert_snapshot!(check("[engine]\nreaders = '2'\n"), @r#"
    exit 2
    error: abide.toml:2: engine.readers is "2", expected a whole number from 1 to 64
    "#);
    insta::assert_snapshot!(check("[engine]\nreaders = 2.5\n"), @"
    exit 2
    error: abide.toml:2: engine.readers is 2.5, expected a whole number from 1 to 64
    ");
    insta::assert_snapshot!(check("[engine]\nreaders = 99999999999999999999\n"), @"
    exit 2
    error: abide.toml:2: engine.readers is 99999999999999999999, expected a whole number from 1 to 64
    ");
    insta::assert_snapshot!(check("[server]\nlisten = 'localhost'\n"), @r#"
    exit 2
    error: abide.toml:2: server.listen is "localhost", expected an address with a port such as 127.0.0.1:8787
    "#);
    insta::assert_snapshot!(check("[store]\ndata_dir = '~/abide'\n"), @r#"
    exit 2
    error: abide.toml:2: store.data_dir is "~/abide", expected a path that is UTF-8, not empty and does not begin with ~
    "#);
    insta::assert_snapshot!(check("[log]\nlevel = ['info']\n"), @"
    exit 2
    error: abide.toml:2: log.level is an array, expected one of off, error, warn, info, debug, trace
    ");
    insta::assert_snapshot!(check("server = 1\n"), @"
    exit 2
    error: abide.toml:1: server is a section, not a key: write [server] and its keys below it
    ");
    insta::assert_snapshot!(check("[[server]]\nlisten = '127.0.0.1:1'\n"), @"
    exit 2
    error: abide.toml:1: server is a section, not a key: write [server] and its keys below it
    ");
}

#[test]
fn a_syntax_error_names_its_line_and_does_not_quote_it() {
    insta::assert_snapshot!(check("[log]\nlevel = 'hunter2\n"), @"
    exit 2
    error: abide.toml:2: invalid literal string, expected `'`
    ");
    insta::assert_snapshot!(check("[log]\nlevel = 'info'\nlevel = 'warn'\n"), @"
    exit 2
    error: abide.toml:3: duplicate key
    ");
}

#[test]
fn everything_that_is_wrong_is_said_at_once() {
    let place = Place::new()
        .file("work/abide.toml", "[server]\nlisen = 1\ndrain_ms = -1\n\n[logs]\nlevel = 'info'\n")
        .env("ABIDE_ENGINE_READERS", "many")
        .env("ABIDE_LISTEN", "127.0.0.1:1");
    insta::assert_snapshot!(place.run("config show --listen here"), @r#"
    exit 2
    error: --listen is "here", expected an address with a port such as 127.0.0.1:8787
    error: ABIDE_ENGINE_READERS is "many", expected a whole number from 1 to 64
    error: unknown variable ABIDE_LISTEN; the nearest known variable is ABIDE_SERVER_LISTEN
    error: abide.toml:2: unknown key server.lisen; the nearest known key is server.listen
    error: abide.toml:3: server.drain_ms is -1, expected a whole number from 0 to 3600000
    error: abide.toml:5: unknown section [logs]; the nearest known section is [log]
    "#);
}
