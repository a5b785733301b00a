//! Exit codes, help and where messages go.

use std::net::TcpListener;

use crate::place::Place;
use crate::served::Served;

#[test]
fn version_and_help_are_data() {
    insta::assert_snapshot!(Place::new().run("--version"), @"
    exit 0
    abide 0.1.0
    ");
    insta::assert_snapshot!(Place::new().run("--help"), @"
    exit 0
    Runs durable work: objects that remember, jobs that are never lost

    Usage: abide [OPTIONS] <COMMAND>

    Commands:
      ingest       Make an organized, described, versioned collection of a folder of scans, texts and images
      collection   Look into collections, search them, export them and change them by hand
      serve        Run the server until it is told to stop
      queue        Enter things to download, and download them
      preprocess   Make web images and pages of a folder of scans, PDFs and images
      worker       Do one task of preprocessing, as the environment says: what launchers start
      job          Look at jobs and cancel them
      object       Look at objects
      dead         Look at what used up its attempts, and replay it
      limit        Look at limits and set them
      token        Make, list and revoke the tokens that let other machines in
      backup       Copy the store to a new file, while it is in use or not
      restore      Check a backup and put it into a data directory that has no data
      doctor       Check the data directory, disk, clock and port, and say how to mend what is wrong
      completions  Print completions for a shell
      bench        Measure this machine, or serve a durable counter for load from outside
      links        Save and find links, and say who may sync them
      config       Show or check the configuration
      help         Print this message or the help of the given subcommand(s)

    Options:
          --json            Print data and errors as JSON
          --config <FILE>   Read this file instead of ABIDE_CONFIG, ./abide.toml or abide.toml in the data directory
          --data-dir <DIR>  Directory that holds the database and everything else; one process owns it at a time [default: $XDG_DATA_HOME/abide or ~/.local/share/abide]
      -h, --help            Print help
      -V, --version         Print version

    Exit codes:
      0  it worked
      1  it failed
      2  the command line or the configuration is wrong
      3  the data directory cannot be used
      4  part of it did not work: some lines were refused, or some jobs failed
      5  the server that owns the data directory cannot be reached, or denies it
    ");
    insta::assert_snapshot!(Place::new().run("serve --help"), @"
    exit 0
    Run the server until it is told to stop

    Usage: abide serve [OPTIONS]

    Options:
          --json            Print data and errors as JSON
          --listen <ADDR>   Address and port to listen on; other than loopback only once there is a token [default: 127.0.0.1:8787]
          --config <FILE>   Read this file instead of ABIDE_CONFIG, ./abide.toml or abide.toml in the data directory
          --data-dir <DIR>  Directory that holds the database and everything else; one process owns it at a time [default: $XDG_DATA_HOME/abide or ~/.local/share/abide]
      -h, --help            Print help

    Exit codes:
      0  it worked
      1  it failed
      2  the command line or the configuration is wrong
      3  the data directory cannot be used
      4  part of it did not work: some lines were refused, or some jobs failed
      5  the server that owns the data directory cannot be reached, or denies it
    ");
    insta::assert_snapshot!(Place::new().run("config --help"), @"
    exit 0
    Show or check the configuration

    Usage: abide config [OPTIONS] <COMMAND>

    Commands:
      show   Print every option, its value and where the value came from
      check  Say whether the configuration is valid, and if not, everything that is wrong with it
      help   Print this message or the help of the given subcommand(s)

    Options:
          --json            Print data and errors as JSON
          --config <FILE>   Read this file instead of ABIDE_CONFIG, ./abide.toml or abide.toml in the data directory
          --data-dir <DIR>  Directory that holds the database and everything else; one process owns it at a time [default: $XDG_DATA_HOME/abide or ~/.local/share/abide]
      -h, --help            Print help

    Options come from defaults, then abide.toml, then the environment (ABIDE_SECTION_KEY), then flags; the later wins.
    ");
}

#[test]
fn exit_codes_are_as_documented() {
    let place = Place::new().file("work/file", "").file("work/bad.toml", "[sever]\n");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let occupied = format!("serve --listen {}", listener.local_addr().unwrap());
    let cases = [
        (0, "config show"),
        (0, "config check"),
        (2, ""),
        (2, "sreve"),
        (2, "config"),
        (2, "serve --lisen 127.0.0.1:1"),
        (2, "config check --config bad.toml"),
        (2, "serve --config bad.toml"),
        (2, "serve --listen 0.0.0.0:8787"),
        (2, "bench --seconds 0"),
        (2, "bench --serve nowhere"),
        (2, "bench preprocess --images 0"),
        (2, "bench --serve 0.0.0.0:8787"),
        (3, "serve --data-dir file"),
        (3, "bench --serve 127.0.0.1:0 --data-dir file"),
        (1, &occupied),
    ];
    for (code, arguments) in cases {
        let run = place.run(arguments);
        assert_eq!(run.code, Some(code), "abide {arguments}: {run}");
        assert_eq!(run.stdout.is_empty(), code != 0, "data on stdout only: abide {arguments}: {run}");
        assert_eq!(run.stderr.is_empty(), code == 0, "messages on stderr only: abide {arguments}: {run}");
    }
}

#[test]
fn failures_say_what_to_do() {
    let place = Place::new().file("work/file", "").file("work/bad.toml", "[sever]\n");
    insta::assert_snapshot!(place.run("serve --listen 0.0.0.0:80"), @"
    exit 2
    error: server.listen is 0.0.0.0:80, which other machines can reach, and there is no token yet to let anybody in; make one with `abide token create --role admin`, or choose a loopback address such as 127.0.0.1:80
    ");
    insta::assert_snapshot!(place.run("serve --data-dir file"), @"
    exit 3
    error: the data directory cannot be used: file is not a directory. Give another data directory
    ");
    insta::assert_snapshot!(place.run("serve --json --data-dir file"), @r#"
    exit 3
    {"error":{"code":"data_dir_unusable","message":"the data directory cannot be used: file is not a directory. Give another data directory"}}
    "#);
    insta::assert_snapshot!(place.run("config check --json --config bad.toml"), @r#"
    exit 2
    {"error":{"code":"config_invalid","message":"bad.toml:1: unknown section [sever]; the nearest known section is [server]"}}
    "#);
}

#[test]
fn logs_are_json_lines_unless_told_otherwise() {
    let last_line = |place: &Place| {
        let (code, stderr) = Served::start(place, "serve --listen 127.0.0.1:0").terminate();
        assert_eq!(code, Some(0), "{stderr}");
        stderr.lines().last().unwrap().to_owned()
    };
    let place = Place::new();
    let line = last_line(&place);
    assert!(line.starts_with('{') && line.contains(r#""level":"INFO","message":"told to stop""#), "{line}");
    let line = last_line(&place.env("ABIDE_LOG_FORMAT", "human"));
    assert!(!line.starts_with('{') && line.contains("INFO"), "{line}");
    assert!(!line.contains('\u{1b}'), "no colour away from a terminal: {line}");
}
