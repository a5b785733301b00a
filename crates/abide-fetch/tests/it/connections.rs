//! Connections are kept for the next request, and their server may have closed them.

use crate::world::one_address;
use abide_fetch::FetchError;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};

/// What a connection does with each of its requests, until it closes.
type Script = &'static [Option<&'static str>];

/// A server whose connections follow `scripts` in the order in which they are made: an answer, or none before it closes.
/// Says which connection got which path.
fn serve(scripts: &'static [Script]) -> (String, Receiver<(usize, String)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let (tell, told) = channel();
    std::thread::spawn(move || {
        for (number, script) in scripts.iter().enumerate() {
            let (stream, _) = listener.accept().unwrap();
            let tell = tell.clone();
            std::thread::spawn(move || {
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                for answer in *script {
                    let Some(path) = read_path(&mut reader) else { return };
                    tell.send((number, path)).unwrap();
                    let Some(answer) = answer else { return };
                    let length = answer.len();
                    write!(&stream, "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{answer}").unwrap();
                }
            });
        }
    });
    (base, told)
}

fn read_path(reader: &mut BufReader<TcpStream>) -> Option<String> {
    let mut lines = reader.lines().map_while(Result::ok);
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    lines.find(|line| line.is_empty()).map(|_| path)
}

#[tokio::test]
async fn a_kept_connection_that_was_closed_is_replaced_at_once() {
    let (base, told) = serve(&[&[Some("one"), None], &[Some("two")]]);
    let world = one_address();
    for (path, body) in [("/a", "one"), ("/b", "two")] {
        assert_eq!(world.fetcher.page(&format!("{base}{path}")).await.unwrap().body, body);
    }
    let asked: Vec<_> = told.try_iter().collect();
    assert_eq!(asked, [(0, "/a".to_owned()), (0, "/b".to_owned()), (1, "/b".to_owned())]);
}

#[tokio::test]
async fn a_new_connection_that_is_closed_without_an_answer_is_a_failure() {
    let (base, told) = serve(&[&[None], &[Some("never asked for")]]);
    let error = one_address().fetcher.page(&format!("{base}/a")).await.unwrap_err();
    assert!(matches!(error, FetchError::Broken { .. }), "{error:?}");
    assert_eq!(told.try_iter().collect::<Vec<_>>(), [(0, "/a".to_owned())]);
}
